/* hf_copies.h - copies of fixtures that are Hugging Face folders, with a key of config.json changed,
 * and what opening them must say. */
#ifndef ASC_TEST_HF_COPIES_H
#define ASC_TEST_HF_COPIES_H

#include "file.h"
#include "harness.h"
#include "json.h"
#include "model.h"
#include "view.h"
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* A copy of a fixture in a folder of its own. */
typedef struct copy {
    asc_ctx *ctx;
    char dir[TEST_TMP];
} copy;

static inline void put(const copy *c, const char *file, const void *data, size_t n) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", c->dir, file);
    assert_ok(c->ctx, asc_file_write(c->ctx, path, data, n));
}

/* Free the text with free(). */
static inline char *get(const copy *c, const char *file, size_t *n) {
    char path[512], *text = NULL;
    snprintf(path, sizeof path, "%s/%s", c->dir, file);
    assert_ok(c->ctx, asc_file_read(c->ctx, path, 1 << 24, &text, n));
    char *out = calloc(*n + 1, 1);
    assert_non_null(out);
    memcpy(out, text, *n);
    asc_free(c->ctx, text);
    return out;
}

static inline void drop(const copy *c, const char *file) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", c->dir, file);
    assert_int_equal(unlink(path), 0);
}

static inline copy begin(const char *name) {
    copy c = {.ctx = test_ctx("cpu", "deferred")};
    char from[4096], rel[128];
    assert_non_null(mkdtemp(test_tmp_name(c.dir, "asc_hf_XXXXXX")));
    snprintf(rel, sizeof rel, "hf/%s", name);
    snprintf(from, sizeof from, "%s", test_data(rel));
    DIR *d = opendir(from);
    struct dirent *e;
    assert_non_null(d);
    while ((e = readdir(d)) != NULL) {
        char path[4600], *text;
        size_t n;
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", from, e->d_name);
        assert_ok(c.ctx, asc_file_read(c.ctx, path, 1 << 24, &text, &n));
        put(&c, e->d_name, text, n);
        asc_free(c.ctx, text);
    }
    closedir(d);
    return c;
}

static inline void end(copy *c) {
    DIR *d = opendir(c->dir);
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        if (e->d_name[0] != '.') drop(c, e->d_name);
    }
    closedir(d);
    rmdir(c->dir);
    test_ctx_end(c->ctx);
}

/* Opens path (NULL: the folder) and demands a refusal that holds `says` and comes with a hint; says NULL: it
 * opens.
 */
static inline void expect(const copy *c, const char *file, const char *says, const char *what) {
    asc_model *m;
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", c->dir, file != NULL ? "/" : "", file != NULL ? file : "");
    asc_status st = asc_model_open(c->ctx, path, NULL, &m);
    if (says == NULL) {
        if (st != ASC_OK) fail_msg("%s: %s", what, asc_error_message(c->ctx));
        asc_model_close(m);
        return;
    }
    if (st == ASC_OK) fail_msg("%s: opens", what);
    assert_null(m);
    if (strstr(asc_error_message(c->ctx), says) == NULL)
        fail_msg("%s: says '%s', not '%s'", what, asc_error_message(c->ctx), says);
    if (asc_error_hint(c->ctx)[0] == '\0') fail_msg("%s: no hint with '%s'", what, asc_error_message(c->ctx));
}

/* Sets a key of config.json, which has one key a line, to a JSON text; NULL takes it out. */
static inline void set(const copy *c, const char *key, const char *value) {
    size_t n;
    char *text = get(c, "config.json", &n), start[128];
    snprintf(start, sizeof start, "\n \"%s\":", key);
    char *at = strstr(text, start), *out = calloc(n + 4096, 1);
    assert_non_null(out);
    if (at != NULL) {
        char *line = strchr(at + 1, '\n'), *stop = line; /* of a nested value: the line that closes it */
        if (line[-1] == '{' || line[-1] == '[') {
            for (stop = line; stop[1] != ' ' || (stop[2] != '}' && stop[2] != ']');)
                stop = strchr(stop + 1, '\n');
            stop = strchr(stop + 1, '\n');
        }
        if (strcmp(stop, "\n}") == 0 && at[-1] == ',') at--;
        memmove(at, stop, strlen(stop) + 1);
    }
    if (value != NULL) {
        snprintf(out, n + 4096, "{\n \"%s\": %s,%s", key, value, text + 1);
    } else {
        snprintf(out, n + 4096, "%s", text);
    }
    put(c, "config.json", out, strlen(out));
    free(out);
    free(text);
}

typedef struct edit {
    const char *key, *value, *says;
} edit;

static inline void run_edits(const char *fixture, const edit *edits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char what[256];
        copy c = begin(fixture);
        set(&c, edits[i].key, edits[i].value);
        snprintf(what, sizeof what, "%s = %s", edits[i].key,
                 edits[i].value != NULL ? edits[i].value : "(absent)");
        expect(&c, NULL, edits[i].says, what);
        end(&c);
    }
}
#define RUN(fixture, edits) run_edits(fixture, edits, sizeof(edits) / sizeof(edits)[0])

#endif
