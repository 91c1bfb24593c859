/* cmd_tokenize.c - ascribe tokenize: text to ids with their bytes, and back. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void table(asc_text *t, const asc_tokenizer *tk, const asc_token *tokens, size_t n) {
    asc_text_addf(t, "%8s  %-13s  %s\n", "id", "bytes", "piece");
    for (size_t i = 0; i < n; i++) {
        char range[48];
        size_t w = (size_t)snprintf(range, sizeof range, "%zu-%zu", tokens[i].start, tokens[i].end);
        asc_text_addf(t, "%8d  %s", tokens[i].id, range);
        asc_text_blanks(t, w < 13 ? 15 - w : 2);
        asc_text_adds(t, "\"");
        asc_text_shown(t, asc_token_piece(tk, tokens[i].id), 60);
        asc_text_adds(t, "\"\n");
    }
    asc_text_addf(t, "%zu tokens\n", n);
}

static void json(asc_text *t, const asc_tokenizer *tk, const asc_token *tokens, size_t n) {
    asc_text_object(t, NULL);
    asc_text_array(t, "tokens");
    for (size_t i = 0; i < n; i++) {
        asc_text_object(t, NULL);
        asc_text_int(t, "id", tokens[i].id);
        asc_text_int(t, "start", (int64_t)tokens[i].start);
        asc_text_int(t, "end", (int64_t)tokens[i].end);
        asc_text_bytes(t, "text", asc_token_piece(tk, tokens[i].id));
        asc_text_end(t);
    }
    asc_text_end(t);
    asc_text_end(t);
}

static int show(cli *c, const asc_tokenizer *tk, const asc_token *tokens, size_t n) {
    if (cli_wants_json(c)) {
        json(c->out, tk, tokens, n);
        return cli_write_json(c, c->out);
    }
    if (cli_has(c, OPT_IDS_ONLY)) {
        for (size_t i = 0; i < n; i++) asc_text_addf(c->out, i > 0 ? ",%d" : "%d", tokens[i].id);
        asc_text_adds(c->out, "\n");
    } else {
        table(c->out, tk, tokens, n);
    }
    return cli_flush(c);
}

static int decode(cli *c, const asc_tokenizer *tk, const cli_prompt *p) {
    char *text = NULL;
    size_t len = 0;
    if (p->ids == NULL) return cli_usage("--decode needs --ids LIST");
    asc_status st = asc_detokenize(c->ctx, tk, p->ids, p->n_ids, true, &text, &len);
    if (st != ASC_OK) return cli_error(c, st);
    if (cli_wants_json(c)) {
        asc_text_object(c->out, NULL);
        asc_text_bytes(c->out, "text", (asc_view){text, len});
        asc_text_end(c->out);
    } else {
        asc_text_add(c->out, (asc_view){text, len}); /* the bytes themselves: what was asked for */
        asc_text_adds(c->out, "\n");
    }
    asc_tokens_free(c->ctx, text);
    return cli_wants_json(c) ? cli_write_json(c, c->out) : cli_flush(c);
}

/* Ids as tokens: their bytes follow each other. */
static int from_ids(cli *c, const asc_tokenizer *tk, const cli_prompt *p) {
    size_t pos = 0;
    asc_token *tokens = malloc((p->n_ids + 1) * sizeof *tokens);
    if (tokens == NULL) return cli_error(c, ASC_RESOURCE_EXHAUSTED);
    int rc = EXIT_DONE;
    for (size_t i = 0; i < p->n_ids && rc == EXIT_DONE; i++) {
        asc_view v = asc_token_piece(tk, p->ids[i]);
        if (v.ptr == NULL) {
            cli_usage("--ids: there is no token %d; ids are 0 to %zu", p->ids[i],
                      asc_tokenizer_get_info(tk).n_vocab - 1);
            rc = EXIT_INPUT;
        }
        tokens[i] = (asc_token){p->ids[i], pos, pos + v.len};
        pos += v.len;
    }
    if (rc == EXIT_DONE) rc = show(c, tk, tokens, p->n_ids);
    free(tokens);
    return rc;
}

/* Whether the operand is a tokenizer.json or a folder with one: then no model need be opened. */
static bool has_tokenizer_json(const char *path) {
    char file[4096];
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".json") == 0) return true;
    int k = snprintf(file, sizeof file, "%s/tokenizer.json", path);
    return k > 0 && (size_t)k < sizeof file && access(file, R_OK) == 0;
}

int cmd_tokenize(cli *c) {
    cli_prompt p = {0};
    asc_model *m = NULL;
    asc_tokenizer *own = NULL;
    asc_chat_prompt chat = {0};
    asc_token *tokens = NULL;
    size_t n = 0;
    asc_status st = ASC_OK;
    int rc = cli_open_context(c);
    if (rc != EXIT_DONE) return rc;
    if (cli_wants_json(c)) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_prompt_read(c, &p);
    if (rc != EXIT_DONE) goto done;
    if (p.messages == NULL && has_tokenizer_json(c->operand[0])) {
        st = asc_tokenizer_open(c->ctx, c->operand[0], &own);
        if (st != ASC_OK) rc = cli_error(c, st);
    } else {
        rc = cli_open_model(c, &m);
    }
    if (rc != EXIT_DONE) goto done;
    const asc_tokenizer *tk = own != NULL ? own : asc_model_tokenizer(m);
    if (cli_has(c, OPT_DECODE)) {
        rc = decode(c, tk, &p);
    } else if (p.ids != NULL) {
        rc = from_ids(c, tk, &p);
    } else if (p.messages != NULL) {
        const asc_request q = cli_prompt_request(&p);
        st = asc_chat_prompt_of(c->ctx, m, &q, &chat);
        rc = st == ASC_OK ? show(c, tk, chat.tokens, chat.n_tokens) : cli_error(c, st);
    } else {
        asc_tokenize_options o = {
            .struct_size = sizeof o, .add_bos_eos = true, .parse_special = cli_has(c, OPT_SPECIAL)};
        st = asc_tokenize(c->ctx, tk, p.text, &o, &tokens, &n);
        rc = st == ASC_OK ? show(c, tk, tokens, n) : cli_error(c, st);
    }
done:
    asc_tokens_free(c->ctx, tokens);
    asc_chat_prompt_free(c->ctx, &chat);
    asc_model_close(m);
    asc_tokenizer_destroy(own);
    cli_prompt_free(c, &p);
    return rc;
}
