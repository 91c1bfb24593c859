/* pass_text.h - runs one pass (and dead code behind it) over a program's text and compares the text that
 * comes out.
 */
#ifndef ASC_TEST_PASS_TEXT_H
#define ASC_TEST_PASS_TEXT_H

#include "harness.h"
#include "passes.h"
#include "view.h"

typedef struct pass_row {
    const char *what, *in, *out; /* out NULL = nothing changes */
} pass_row;

static inline size_t pass_bytes(asc_dtype t, int64_t n) {
    (void)t;
    return (size_t)n * 4;
}

/* Bits that turn everything off but `names` (comma separated). */
static inline uint64_t pass_only(asc_ctx *ctx, const char *names) {
    char text[200];
    uint64_t off = 0;
    snprintf(text, sizeof text, "none,%s", names);
    assert_ok(ctx, asc_passes_parse(ctx, text, &off));
    return off;
}

static inline void pass_expect(asc_ctx *ctx, const char *names, const pass_row *row) {
    asc_program p;
    asc_strbuf out;
    asc_pass_env env = {.storage_bytes = pass_bytes, .alias = true, .off = pass_only(ctx, names)};
    asc_strbuf_init(&out, ctx);
    assert_ok(ctx, asc_program_parse(ctx, asc_view_of(row->in), &p));
    assert_ok(ctx, asc_passes_run(ctx, &p, &env));
    assert_ok(ctx, asc_program_verify(ctx, &p));
    asc_program_print(&p, &out);
    const char *want = row->out != NULL ? row->out : row->in;
    if (strcmp(out.ptr, want) != 0) fail_msg("%s: expected\n%sbut got\n%s", row->what, want, out.ptr);
    asc_strbuf_deinit(&out);
    asc_program_deinit(&p);
}

static inline void pass_expect_all(const char *names, const pass_row *rows, size_t n) {
    asc_ctx *ctx = test_ctx("null", NULL);
    for (size_t i = 0; i < n; i++) pass_expect(ctx, names, &rows[i]);
    test_ctx_end(ctx);
}

#endif
