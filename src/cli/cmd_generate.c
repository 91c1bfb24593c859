/* cmd_generate.c - ascribe generate: continues a prompt, each token as soon as it is known. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct stream {
    cli *c;
    const asc_tokenizer *tk;
    asc_text *pending; /* bytes not yet written: perhaps the start of a character */
    asc_text *shown;
    double *logprobs;
    size_t n;
    bool silent, terminal;
    asc_status failed;
} stream;

/* Bytes at the end of v that may be the beginning of a character whose rest comes with the next token. */
static size_t unfinished(asc_view v) {
    for (size_t k = 1; k <= 3 && k <= v.len; k++) {
        unsigned char b = (unsigned char)v.ptr[v.len - k];
        if (b < 0x80) return 0;
        if (b >= 0xC0) return (b >= 0xF0 ? 4u : b >= 0xE0 ? 3u : 2u) > k ? k : 0;
    }
    return 0;
}

/* On a terminal control characters are shown, not obeyed; line breaks stay. Elsewhere the bytes go out as
 * they are. */
static void put(stream *s, asc_view v) {
    asc_text_clear(s->shown);
    if (!s->terminal) asc_text_add(s->shown, v);
    for (size_t from = 0; s->terminal && from <= v.len;) {
        const char *nl = from < v.len ? memchr(v.ptr + from, '\n', v.len - from) : NULL;
        size_t end = nl != NULL ? (size_t)(nl - v.ptr) : v.len;
        asc_text_shown(s->shown, (asc_view){v.ptr + from, end - from}, 0);
        if (nl != NULL) asc_text_adds(s->shown, "\n");
        from = end + 1;
    }
    cli_clear_progress();
    s->failed = asc_text_write(s->shown, "-");
}

static bool on_token(void *self, int32_t id, double logprob) {
    stream *s = self;
    char rest[4];
    s->logprobs[s->n++] = logprob;
    if (s->silent) return true;
    if (asc_token_get_type(s->tk, id) == ASC_TOKEN_CONTROL) return true;
    asc_text_add(s->pending, asc_token_piece(s->tk, id));
    asc_view v = asc_text_view(s->pending);
    size_t keep = unfinished(v);
    memcpy(rest, v.ptr + v.len - keep, keep);
    put(s, (asc_view){v.ptr, v.len - keep});
    asc_text_clear(s->pending);
    asc_text_add(s->pending, (asc_view){rest, keep});
    return s->failed == ASC_OK;
}

static void json(cli *c, const asc_tokenizer *tk, const int32_t *prompt, size_t n_prompt, const int32_t *ids,
                 const stream *s, double seconds) {
    asc_text *t = c->out, *joined = NULL;
    if (asc_text_create(c->ctx, &joined) != ASC_OK) return;
    for (size_t i = 0; i < s->n; i++) asc_text_add(joined, asc_token_piece(tk, ids[i]));
    asc_text_object(t, NULL);
    asc_text_str(t, "model", (asc_view){c->operand[0], strlen(c->operand[0])});
    asc_text_bytes(t, "text", asc_text_view(joined));
    asc_text_array(t, "prompt_ids");
    for (size_t i = 0; i < n_prompt; i++) asc_text_int(t, NULL, prompt[i]);
    asc_text_end(t);
    asc_text_array(t, "ids");
    for (size_t i = 0; i < s->n; i++) asc_text_int(t, NULL, ids[i]);
    asc_text_end(t);
    asc_text_array(t, "logprobs");
    for (size_t i = 0; i < s->n; i++) asc_text_num(t, NULL, s->logprobs[i]);
    asc_text_end(t);
    asc_text_num(t, "seconds", seconds);
    asc_text_strz(t, "version", asc_version());
    asc_text_end(t);
    asc_text_destroy(joined);
}

static int read_options(cli *c, asc_generate_options *o) {
    size_t top_k, seed;
    int rc = cli_size(c, OPT_GENERATE, 64, &o->max_tokens);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_TEMPERATURE, 0, &o->temperature);
    if (rc == EXIT_DONE) rc = cli_number(c, OPT_TOP_P, 0, &o->top_p);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_TOP_K, 0, &top_k);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_SEED, 0, &seed);
    if (rc != EXIT_DONE) return rc;
    if (o->max_tokens == 0 || o->max_tokens > 1000000) return cli_usage("--generate is from 1 to 1000000");
    if (top_k > INT32_MAX) return cli_usage("--top-k is too large");
    o->top_k = (int)top_k;
    o->seed = seed;
    o->ignore_eos = cli_has(c, OPT_IGNORE_EOS);
    return EXIT_DONE;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int run(cli *c, asc_model *m, const cli_prompt *p, asc_generate_options *o) {
    bool json_out = cli_wants_json(c);
    stream s = {.c = c,
                .tk = asc_model_tokenizer(m),
                .terminal = isatty(STDOUT_FILENO),
                .silent = cli_has(c, OPT_QUIET) || (json_out && strcmp(c->value[OPT_JSON], "-") == 0)};
    int32_t *ids = NULL, *out = malloc(o->max_tokens * sizeof *out);
    size_t n = 0, n_out = 0;
    double t0 = now();
    asc_status st = ASC_OK;
    s.logprobs = malloc(o->max_tokens * sizeof *s.logprobs);
    int rc = out == NULL || s.logprobs == NULL ? cli_error(c, ASC_RESOURCE_EXHAUSTED)
                                               : cli_prompt_ids(c, m, p, &ids, &n);
    if (rc != EXIT_DONE) goto done;
    st = asc_text_create(c->ctx, &s.pending);
    if (st == ASC_OK) st = asc_text_create(c->ctx, &s.shown);
    o->on_token = on_token;
    o->self = &s;
    if (st == ASC_OK) st = asc_generate(m, ids, n, o, out, &n_out);
    if (s.failed != ASC_OK) st = s.failed;
    if (st == ASC_OK && !s.silent) {
        asc_view v = asc_text_view(s.pending);
        put(&s, v);
        asc_text_clear(s.shown);
        asc_text_adds(s.shown, "\n");
        if (s.failed == ASC_OK) s.failed = asc_text_write(s.shown, "-");
        st = s.failed;
    }
    if (st != ASC_OK) {
        rc = cli_error(c, st);
    } else if (json_out) {
        json(c, s.tk, ids, n, out, &s, now() - t0);
        rc = cli_write_json(c, c->out);
    }
done:
    asc_text_destroy(s.pending);
    asc_text_destroy(s.shown);
    free(s.logprobs);
    free(ids);
    free(out);
    return rc;
}

int cmd_generate(cli *c) {
    cli_prompt p = {0};
    asc_model *m = NULL;
    asc_generate_options o = {.struct_size = sizeof o};
    int rc = read_options(c, &o);
    if (rc == EXIT_DONE) rc = cli_check_output(c, OPT_JSON);
    if (rc == EXIT_DONE) rc = cli_open_context(c);
    if (rc == EXIT_DONE) rc = cli_prompt_read(c, &p);
    if (rc == EXIT_DONE) rc = cli_open_model(c, &m);
    if (rc == EXIT_DONE) rc = run(c, m, &p, &o);
    if (c->ctx != NULL) cli_prompt_free(c, &p);
    asc_model_close(m);
    return rc;
}
