/* form.c - fields of a form, read by the HTTP library's own parser from a body that is there whole. */
#include "server.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 200, PARSER_BYTES = 4096 };

void exchange_free_fields(exchange *x) {
    while (x->fields != NULL) {
        field *f = x->fields;
        x->fields = f->next;
        free(f->name);
        free(f->value);
        free(f);
    }
}

static field *add_field(exchange *x, const char *name) {
    size_t n = 0;
    for (const field *f = x->fields; f != NULL; f = f->next) n++;
    field *f = n < MAX_FIELDS ? calloc(1, sizeof *f) : NULL;
    if (f == NULL) return NULL;
    f->name = strdup(name);
    if (f->name == NULL) {
        free(f);
        return NULL;
    }
    f->next = x->fields;
    return x->fields = f;
}

/* A value comes in pieces; `at` says where this one belongs. */
static enum MHD_Result on_piece(void *cls, enum MHD_ValueKind kind, const char *key, const char *filename,
                                const char *type, const char *coding, const char *data, uint64_t at,
                                size_t n) {
    exchange *x = cls;
    field *f = x->fields;
    (void)kind;
    (void)filename;
    (void)type;
    (void)coding;
    if (key == NULL) return MHD_YES;
    if (at == 0 || f == NULL || strcmp(f->name, key) != 0) f = add_field(x, key);
    if (f == NULL || at != f->len) return MHD_NO;
    char *grown = realloc(f->value, f->len + n + 1);
    if (grown == NULL) return MHD_NO;
    if (n > 0) memcpy(grown + f->len, data, n);
    f->value = grown;
    f->len += n;
    grown[f->len] = '\0';
    return MHD_YES;
}

static void read_fields(exchange *x) {
    struct MHD_PostProcessor *p = MHD_create_post_processor(x->mhd, PARSER_BYTES, on_piece, x);
    x->fields_read = true;
    if (p == NULL) return; /* no form */
    if (x->body_len > 0) MHD_post_process(p, x->body, x->body_len);
    MHD_destroy_post_processor(p);
}

asc_view exchange_field(exchange *x, const char *name) {
    asc_view found = {NULL, 0};
    if (!x->fields_read) read_fields(x);
    for (const field *f = x->fields; f != NULL; f = f->next) { /* the first of several is the last here */
        if (strcmp(f->name, name) == 0) found = (asc_view){f->value != NULL ? f->value : "", f->len};
    }
    return found;
}
