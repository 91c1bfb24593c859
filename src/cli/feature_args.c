/* feature_args.c - the options that say what of a prompt counts as features: templates, documents, what is
 * frozen or skipped; and the question put behind a document. The library puts them together. */
#include "ascribe/template.h"
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20, MOST_VALUES = 1024, MOST_FROZEN = 256 };

struct cli_features {
    asc_template_values parsed; /* of the JSON file */
    asc_template_value *values;
    size_t n_values;
    asc_passage *passages;
    size_t n_passages, cap_passages;
    asc_text *kept; /* texts and labels of the passages */
    asc_joined_prompt *joined;
    int32_t *skip;
    size_t n_skip;
};

static asc_view view_of(const char *s) { return (asc_view){s, s != NULL ? strlen(s) : 0}; }

static int out_of_memory(cli *c) { return cli_error(c, ASC_RESOURCE_EXHAUSTED); }

static int read_file(cli *c, const char *path, asc_text **out) {
    asc_status st = asc_text_create(c->ctx, out);
    if (st == ASC_OK) st = asc_text_read(*out, path, MOST_BYTES);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

/* ---- templates ---- */

/* NAME=VALUE, or a file of values; *text keeps the file until its values were copied. */
static int read_values(cli *c, cli_features *f) {
    f->values = calloc(MOST_VALUES, sizeof *f->values);
    if (f->values == NULL) return out_of_memory(c);
    for (size_t i = 0; cli_nth(c, OPT_VALUES, i) != NULL; i++) {
        const char *s = cli_nth(c, OPT_VALUES, i), *eq = strchr(s, '=');
        if (eq != NULL && eq > s) {
            if (f->n_values == MOST_VALUES) return cli_usage("more than %d values", MOST_VALUES);
            f->values[f->n_values++] = (asc_template_value){
                .name = (asc_view){s, (size_t)(eq - s)}, .text = view_of(eq + 1), .group = -1};
            continue;
        }
        if (f->parsed.n > 0) return cli_usage("--values names two files; put all values into one");
        asc_text *json = NULL;
        int rc = read_file(c, s, &json);
        asc_status st = ASC_OK;
        if (rc == EXIT_DONE) st = asc_template_values_parse(c->ctx, asc_text_view(json), &f->parsed);
        asc_text_destroy(json);
        if (rc == EXIT_DONE && st != ASC_OK)
            rc = cli_error_in(c, st, s, "write it as {\"name\": \"value\", ...} or [\"value\", ...]");
        if (rc != EXIT_DONE) return rc;
        for (size_t k = 0; k < f->parsed.n; k++) {
            if (f->n_values == MOST_VALUES) return cli_usage("more than %d values", MOST_VALUES);
            f->values[f->n_values++] = f->parsed.v[k];
        }
    }
    return EXIT_DONE;
}

/* ---- documents ---- */

static int add_document(cli *c, cli_features *f, asc_view text, asc_view label) {
    if (f->n_passages == f->cap_passages) {
        f->cap_passages = 2 * f->cap_passages + 8;
        asc_passage *more = realloc(f->passages, f->cap_passages * sizeof *more);
        if (more == NULL) return out_of_memory(c);
        f->passages = more;
    }
    /* lengths now, views when the texts do not move any more */
    f->passages[f->n_passages++] = (asc_passage){{NULL, text.len}, {NULL, label.len}};
    asc_text_add(f->kept, text);
    asc_text_add(f->kept, label);
    return EXIT_DONE;
}

/* The lines of a JSONL file. */
static int add_lines(cli *c, cli_features *f, const char *path, asc_view v) {
    size_t line = 0;
    for (size_t at = 0; at < v.len;) {
        const char *nl = memchr(v.ptr + at, '\n', v.len - at);
        size_t end = nl != NULL ? (size_t)(nl - v.ptr) : v.len, k = at;
        line++;
        while (k < end && (v.ptr[k] == ' ' || v.ptr[k] == '\t' || v.ptr[k] == '\r')) k++;
        if (k < end) {
            asc_document d = {0};
            asc_status st = asc_document_parse(c->ctx, (asc_view){v.ptr + at, end - at}, &d);
            char where[32];
            snprintf(where, sizeof where, "line %zu", line);
            if (st != ASC_OK) {
                char name[512];
                snprintf(name, sizeof name, "%.400s, %s", path, where);
                return cli_error_in(c, st, name,
                                    "write each line as {\"text\": \"...\", \"label\": \"...\"}");
            }
            int rc = add_document(c, f, d.text, d.label.ptr != NULL ? d.label : view_of(where));
            asc_document_free(c->ctx, &d);
            if (rc != EXIT_DONE) return rc;
        }
        at = end + 1;
    }
    return EXIT_DONE;
}

static int read_documents(cli *c, cli_features *f) {
    int rc = asc_text_create(c->ctx, &f->kept) == ASC_OK ? EXIT_DONE : out_of_memory(c);
    for (size_t i = 0; rc == EXIT_DONE && cli_nth(c, OPT_DOCUMENTS, i) != NULL; i++) {
        const char *path = cli_nth(c, OPT_DOCUMENTS, i), *base = strrchr(path, '/');
        size_t n = strlen(path);
        bool lines = n > 6 && strcmp(path + n - 6, ".jsonl") == 0;
        asc_text *file = NULL;
        rc = read_file(c, path, &file);
        if (rc == EXIT_DONE)
            rc = lines ? add_lines(c, f, path, asc_text_view(file))
                       : add_document(c, f, asc_text_view(file), view_of(base != NULL ? base + 1 : path));
        asc_text_destroy(file);
    }
    if (rc != EXIT_DONE) return rc;
    if (f->n_passages == 0) return cli_usage("--documents: no document in '%.200s'", c->value[OPT_DOCUMENTS]);
    if (asc_text_status(f->kept) != ASC_OK) return out_of_memory(c);
    const char *at = asc_text_view(f->kept).ptr;
    for (size_t i = 0; i < f->n_passages; i++) {
        asc_passage *p = &f->passages[i];
        p->text.ptr = at;
        p->label.ptr = at + p->text.len;
        at += p->text.len + p->label.len;
    }
    return EXIT_DONE;
}

/* Template, documents, question and what is frozen, put together by the library. */
static int join(cli *c, cli_features *f, cli_explain_args *j, asc_model *m) {
    asc_prompt_parts p = {.struct_size = sizeof p,
                          .prompt = j->req.prompt,
                          .values = f->values,
                          .n_values = f->n_values,
                          .passages = f->passages,
                          .n_passages = f->n_passages,
                          .plain = cli_has(c, OPT_FEATURES) && j->req.features != ASC_FEATURES_SLOT};
    asc_view *freeze = calloc(MOST_FROZEN, sizeof *freeze);
    if (freeze == NULL) return out_of_memory(c);
    for (size_t i = 0; i < MOST_FROZEN && cli_nth(c, OPT_FREEZE, i) != NULL; i++)
        freeze[p.n_freeze++] = view_of(cli_nth(c, OPT_FREEZE, i));
    p.freeze = freeze;
    if (cli_has(c, OPT_TEMPLATE)) p.template_text = view_of(c->value[OPT_TEMPLATE]);
    if (cli_has(c, OPT_QUESTION)) p.question = view_of(c->value[OPT_QUESTION]);
    if (cli_has(c, OPT_SYSTEM)) p.system = view_of(c->value[OPT_SYSTEM]);
    asc_status st = asc_prompt_join(m, &p, &j->req, &f->joined);
    free(freeze);
    if (st == ASC_NOT_FOUND || st == ASC_FAILED_PRECONDITION) /* a slip in the options, not in a file */
        return cli_usage("--%s", asc_error_message(c->ctx));
    if (st != ASC_OK) return cli_error(c, st);
    if (cli_has(c, OPT_TEMPLATE) && j->req.n_slots == 0)
        return cli_usage("--template has no placeholders; use --prompt");
    return EXIT_DONE;
}

/* ---- skipped ---- */

/* Ids and pieces of tokens, separated by commas; "\," is a comma. */
static int skip(cli *c, cli_features *f, const asc_model *m) {
    const char *list = c->value[OPT_SKIP_TOKENS];
    char word[256];
    if (list == NULL) return EXIT_DONE;
    f->skip = calloc(strlen(list) + 1, sizeof *f->skip);
    if (f->skip == NULL) return out_of_memory(c);
    for (const char *p = list;; p++) {
        size_t n = 0;
        for (; *p != '\0' && *p != ','; p++) {
            if (*p == '\\' && (p[1] == ',' || p[1] == '\\')) p++;
            if (n + 1 >= sizeof word) return cli_usage("--skip-tokens: a token of more than %zu bytes", n);
            word[n++] = *p;
        }
        word[n] = '\0';
        if (n == 0) return cli_usage("--skip-tokens: an empty token in '%.200s'", list);
        char *end;
        long id = strtol(word, &end, 10);
        bool number = *end == '\0' && word[0] >= '0' && word[0] <= '9' && id <= INT32_MAX;
        int32_t found = number ? (int32_t)id : asc_token_find(asc_model_tokenizer(m), (asc_view){word, n});
        if (found < 0) return cli_usage("--skip-tokens: the model has no token '%.200s'", word);
        f->skip[f->n_skip++] = found;
        if (*p == '\0') return EXIT_DONE;
    }
}

/* ---- which options go together ---- */

int cli_features_check(const cli *c) {
    static const cli_option_id sources[] = {OPT_PROMPT, OPT_PROMPT_FILE, OPT_TEMPLATE, OPT_DOCUMENTS};
    bool any = cli_has(c, OPT_TEMPLATE) || cli_has(c, OPT_DOCUMENTS), text = false;
    if (cli_has(c, OPT_TEMPLATE) != cli_has(c, OPT_VALUES))
        return cli_usage(cli_has(c, OPT_TEMPLATE) ? "--template needs --values"
                                                  : "--values goes with --template");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) text = text || cli_has(c, sources[i]);
    if (cli_has(c, OPT_QUESTION) && !text)
        return cli_usage(
            "--question goes with a document: --prompt-file, --prompt, --documents or --template");
    if (cli_has(c, OPT_QUESTION) && c->value[OPT_QUESTION][0] == '\0')
        return cli_usage("--question is empty");
    if (any && cli_has(c, OPT_FEATURES) && cli_has(c, OPT_TEMPLATE) &&
        strcmp(c->value[OPT_FEATURES], "slot") != 0)
        return cli_usage("a template's features are its slots; leave --features out");
    return EXIT_DONE;
}

int cli_features_read(cli *c, cli_explain_args *j, asc_model *m) {
    cli_features *f = calloc(1, sizeof *f);
    if (f == NULL) return out_of_memory(c);
    j->features = f;
    bool text = j->req.prompt.ptr != NULL || cli_has(c, OPT_TEMPLATE) || cli_has(c, OPT_DOCUMENTS);
    if (cli_has(c, OPT_FREEZE) && !text)
        return cli_usage("--freeze goes with a prompt that is one text, a template or documents");
    int rc = EXIT_DONE;
    if (cli_has(c, OPT_TEMPLATE)) rc = read_values(c, f);
    if (rc == EXIT_DONE && cli_has(c, OPT_DOCUMENTS)) rc = read_documents(c, f);
    if (rc == EXIT_DONE && text) rc = join(c, f, j, m);
    if (rc == EXIT_DONE) rc = skip(c, f, m);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_TRIALS, 0, &j->req.trials);
    j->req.skip_tokens = f->skip;
    j->req.n_skip_tokens = f->n_skip;
    return rc;
}

void cli_features_free(cli *c, cli_features *f) {
    if (f == NULL) return;
    asc_joined_prompt_free(f->joined);
    asc_template_values_free(c->ctx, &f->parsed);
    asc_text_destroy(f->kept);
    free(f->values);
    free(f->passages);
    free(f->skip);
    free(f);
}
