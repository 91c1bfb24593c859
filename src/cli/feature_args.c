/* feature_args.c - the options that say what of a prompt counts as features: templates, documents, what is
 * frozen or skipped; and the question put behind a document. Offsets are those of the text made here; in a
 * conversation, of all messages' contents one behind the other. */
#include "ascribe/template.h"
#include "cli.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20, MOST_VALUES = 1024 };

struct cli_features {
    asc_template filled;
    asc_template_values parsed; /* of the JSON file */
    asc_template_value *values;
    size_t n_values;
    asc_prompt_slot *slots; /* of documents */
    size_t n_slots, cap_slots;
    asc_text *labels; /* NUL-separated, of documents */
    asc_text *text;   /* documents, joined; a user message with the question */
    asc_span *frozen;
    size_t n_frozen;
    int32_t *skip;
    size_t n_skip;
    asc_message messages[2];
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

static int fill_template(cli *c, cli_features *f, cli_explain_args *j) {
    int rc = read_values(c, f);
    if (rc != EXIT_DONE) return rc;
    asc_status st =
        asc_template_fill(c->ctx, view_of(c->value[OPT_TEMPLATE]), f->values, f->n_values, &f->filled);
    if (st != ASC_OK) return cli_error(c, st);
    if (f->filled.n_slots == 0) return cli_usage("--template has no placeholders; use --prompt");
    j->req.prompt = (asc_view){f->filled.text, f->filled.len};
    j->req.slots = f->filled.slots;
    j->req.n_slots = f->filled.n_slots;
    return EXIT_DONE;
}

/* ---- documents ---- */

static int add_document(cli *c, cli_features *f, asc_view text, asc_view label) {
    while (text.len > 0 && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) text.len--;
    if (f->n_slots == f->cap_slots) {
        f->cap_slots = 2 * f->cap_slots + 8;
        asc_prompt_slot *more = realloc(f->slots, f->cap_slots * sizeof *more);
        if (more == NULL) return out_of_memory(c);
        f->slots = more;
    }
    if (f->n_slots > 0) asc_text_adds(f->text, "\n\n");
    size_t start = asc_text_view(f->text).len, at = asc_text_view(f->labels).len;
    asc_text_add(f->text, text);
    asc_text_add(f->labels, label);
    /* offsets now, views when the texts do not move any more */
    f->slots[f->n_slots++] =
        (asc_prompt_slot){.start = start,
                          .end = asc_text_view(f->text).len,
                          .feature = -1,
                          .label = (asc_view){(const char *)(uintptr_t)(at + 1), label.len}};
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

static int read_documents(cli *c, cli_features *f, cli_explain_args *j) {
    int rc = asc_text_create(c->ctx, &f->labels) == ASC_OK ? EXIT_DONE : out_of_memory(c);
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
    if (f->n_slots == 0) return cli_usage("--documents: no document in '%.200s'", c->value[OPT_DOCUMENTS]);
    if (asc_text_status(f->text) != ASC_OK || asc_text_status(f->labels) != ASC_OK) return out_of_memory(c);
    for (size_t i = 0; i < f->n_slots; i++)
        f->slots[i].label.ptr = asc_text_view(f->labels).ptr + (uintptr_t)f->slots[i].label.ptr - 1;
    j->req.prompt = asc_text_view(f->text);
    if (cli_has(c, OPT_FEATURES) && j->req.features != ASC_FEATURES_SLOT) return EXIT_DONE;
    j->req.slots = f->slots;
    j->req.n_slots = f->n_slots;
    return EXIT_DONE;
}

/* ---- the question ---- */

/* Room for one more frozen part. */
static asc_span *new_frozen(cli_features *f) {
    asc_span *more = realloc(f->frozen, (f->n_frozen + 1) * sizeof *more);
    if (more == NULL) return NULL;
    f->frozen = more;
    return &f->frozen[f->n_frozen++];
}

/* Behind the document stands an empty line and the question; a model without a chat template gets the two
 * marked as question and answer. System message and question are no features. */
static int ask(cli *c, cli_features *f, cli_explain_args *j, const asc_model *m) {
    bool chat = asc_model_chat_template(m).ptr != NULL, system = cli_has(c, OPT_SYSTEM);
    asc_view document = j->req.prompt;
    asc_text *both = NULL;
    if (system && !chat)
        return cli_usage("--system needs a model with a chat template; '%.200s' has none", c->operand[0]);
    if (asc_text_create(c->ctx, &both) != ASC_OK) return out_of_memory(c);
    asc_text_add(both, document);
    if (cli_has(c, OPT_QUESTION)) asc_text_adds(both, chat ? "\n\n" : "\n\nQuestion: ");
    if (cli_has(c, OPT_QUESTION)) asc_text_adds(both, c->value[OPT_QUESTION]);
    if (cli_has(c, OPT_QUESTION) && !chat) asc_text_adds(both, "\nAnswer:");
    if (asc_text_status(both) != ASC_OK) {
        asc_text_destroy(both);
        return out_of_memory(c);
    }
    size_t before = system ? strlen(c->value[OPT_SYSTEM]) : 0, n = 0;
    asc_view all = asc_text_view(both);
    if (system) f->messages[n++] = (asc_message){view_of("system"), view_of(c->value[OPT_SYSTEM])};
    f->messages[n++] = (asc_message){view_of("user"), all};
    for (size_t i = 0; i < j->req.n_slots; i++) { /* ours, whether of the template or of documents */
        asc_prompt_slot *s = f->filled.n_slots > 0 ? &f->filled.slots[i] : &f->slots[i];
        s->start += before;
        s->end += before;
    }
    for (size_t i = 0; i < f->n_frozen; i++) {
        f->frozen[i].start += before;
        f->frozen[i].end += before;
    }
    asc_span *question = all.len > document.len ? new_frozen(f) : NULL;
    if (question != NULL) *question = (asc_span){before + document.len, before + all.len};
    asc_span *message = system ? new_frozen(f) : NULL;
    if (message != NULL) *message = (asc_span){0, before};
    asc_text_destroy(f->text);
    f->text = both;
    j->req.prompt = chat ? (asc_view){NULL, 0} : all;
    j->req.messages = chat ? f->messages : NULL;
    j->req.n_messages = chat ? n : 0;
    return EXIT_DONE;
}

/* ---- frozen and skipped ---- */

/* Every place in the text that reads so. */
static int freeze(cli *c, cli_features *f, const cli_explain_args *j) {
    asc_view v = j->req.prompt;
    if (cli_has(c, OPT_FREEZE) && v.ptr == NULL)
        return cli_usage("--freeze goes with a prompt that is one text, a template or documents");
    for (size_t i = 0; cli_nth(c, OPT_FREEZE, i) != NULL; i++) {
        asc_view s = view_of(cli_nth(c, OPT_FREEZE, i));
        bool any = false;
        for (size_t at = 0; s.len > 0 && at + s.len <= v.len; at++) {
            if (memcmp(v.ptr + at, s.ptr, s.len) != 0) continue;
            asc_span *span = new_frozen(f);
            if (span == NULL) return out_of_memory(c);
            *span = (asc_span){at, at + s.len};
            at += s.len - 1;
            any = true;
        }
        if (!any) return cli_usage("--freeze: the prompt has no part that reads '%.200s'", s.ptr);
    }
    return EXIT_DONE;
}

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

/* ---- all of it ---- */

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

int cli_features_read(cli *c, cli_explain_args *j, const asc_model *m) {
    cli_features *f = calloc(1, sizeof *f);
    if (f == NULL) return out_of_memory(c);
    j->features = f;
    int rc = asc_text_create(c->ctx, &f->text) == ASC_OK ? EXIT_DONE : out_of_memory(c);
    if (rc == EXIT_DONE && cli_has(c, OPT_TEMPLATE)) rc = fill_template(c, f, j);
    if (rc == EXIT_DONE && cli_has(c, OPT_DOCUMENTS)) rc = read_documents(c, f, j);
    if (rc == EXIT_DONE && j->req.n_slots > 0) j->req.features = ASC_FEATURES_SLOT;
    if (rc == EXIT_DONE) rc = freeze(c, f, j);
    if (rc == EXIT_DONE && j->req.prompt.ptr != NULL && (cli_has(c, OPT_QUESTION) || cli_has(c, OPT_SYSTEM)))
        rc = ask(c, f, j, m);
    if (rc == EXIT_DONE) rc = skip(c, f, m);
    if (rc == EXIT_DONE) rc = cli_size(c, OPT_TRIALS, 0, &j->req.trials);
    j->req.frozen = f->frozen;
    j->req.n_frozen = f->n_frozen;
    j->req.skip_tokens = f->skip;
    j->req.n_skip_tokens = f->n_skip;
    return rc;
}

void cli_features_free(cli *c, cli_features *f) {
    if (f == NULL) return;
    asc_template_free(c->ctx, &f->filled);
    asc_template_values_free(c->ctx, &f->parsed);
    asc_text_destroy(f->labels);
    asc_text_destroy(f->text);
    free(f->values);
    free(f->slots);
    free(f->frozen);
    free(f->skip);
    free(f);
}
