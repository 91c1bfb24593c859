/* fuzz_template.c - templates and their values of any bytes: the values' JSON, a line break of its own kind
 * (a zero byte), the template. Slots of a filled one are ascending, disjoint, inside the text, and hold their
 * values. */
#include "alloc.h"
#include "ascribe/template.h"
#include "ctx.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok) {
    if (!ok) __builtin_trap();
}

static void filled(const asc_template *t) {
    size_t at = 0;
    check(t->text[t->len] == '\0');
    for (size_t i = 0; i < t->n_slots; i++) {
        check(t->slots[i].start >= at && t->slots[i].end > t->slots[i].start && t->slots[i].end <= t->len);
        check(t->slots[i].feature >= 0);
        at = t->slots[i].end;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    asc_ctx_options co = {.struct_size = sizeof co};
    asc_ctx *ctx = NULL;
    check(asc_ctx_create_base(&co, &ctx) == ASC_OK);
    const uint8_t *zero = size > 0 ? memchr(data, 0, size) : NULL;
    size_t n = zero != NULL ? (size_t)(zero - data) : 0;
    asc_view text = {(const char *)data + (zero != NULL ? n + 1 : 0), zero != NULL ? size - n - 1 : size};
    asc_template_values v = {0};
    asc_template t;
    asc_document d;
    bool good = asc_template_values_parse(ctx, (asc_view){(const char *)data, n}, &v) == ASC_OK;
    static const asc_template_value plain[] = {{.text = {"a", 1}, .group = -1},
                                               {.name = {"x", 1}, .text = {"b", 1}, .group = 0}};
    if (asc_template_fill(ctx, text, good ? v.v : plain, good ? v.n : 2, &t) == ASC_OK) filled(&t);
    asc_template_free(ctx, &t);
    asc_template_values_free(ctx, &v);
    if (asc_document_parse(ctx, text, &d) == ASC_OK) check(d.text.len > 0);
    asc_document_free(ctx, &d);
    asc_ctx_destroy(ctx);
    return 0;
}
