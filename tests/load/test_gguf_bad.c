/* test_gguf_bad.c - GGUF files that lie: one field changed at a time, every truncation, every flipped bit,
 * nesting, misplaced data. Each refusal must name the file and say what to do. */
#include "gguf.h"
#include "gguf_make.h"
#include "harness.h"
#include "view.h"

/* One field changed; what must come back, and a word that the message must hold. */
typedef struct lie_case {
    enum mark where;
    int bytes;
    uint64_t value;
    asc_status want;
    const char *says;
} lie_case;

static const lie_case lies[] = {
    {AT_MAGIC, 1, 'X', ASC_INVALID_ARGUMENT, "not a GGUF file"},
    {AT_MAGIC, 4, 0x46474755, ASC_INVALID_ARGUMENT, "not a GGUF file"},
    {AT_MAGIC, 4, 0x47475546, ASC_UNIMPLEMENTED, "big-endian"},
    {AT_MAGIC, 4, 0x67676D6C, ASC_INVALID_ARGUMENT, "older than GGUF"},
    {AT_MAGIC, 4, 0x04034B50, ASC_INVALID_ARGUMENT, "zip"},
    {AT_MAGIC, 1, '<', ASC_INVALID_ARGUMENT, "web page"},
    {AT_MAGIC, 1, '{', ASC_INVALID_ARGUMENT, "JSON"},
    {AT_VERSION, 4, 0, ASC_UNIMPLEMENTED, "version 0"},
    {AT_VERSION, 4, 1, ASC_UNIMPLEMENTED, "version 1"},
    {AT_VERSION, 4, 4, ASC_UNIMPLEMENTED, "version 4"},
    {AT_VERSION, 4, 0x03000000, ASC_UNIMPLEMENTED, "big-endian"},
    {AT_VERSION, 4, UINT32_MAX, ASC_UNIMPLEMENTED, "version"},
    {AT_TENSOR_COUNT, 8, 5, ASC_INVALID_ARGUMENT, "tensor name"},
    {AT_TENSOR_COUNT, 8, 3, ASC_INVALID_ARGUMENT, "follow the data of the last tensor"},
    {AT_TENSOR_COUNT, 8, 0, ASC_INVALID_ARGUMENT, "follow"},
    {AT_TENSOR_COUNT, 8, UINT64_MAX, ASC_DATA_LOSS, "tensor count"},
    {AT_TENSOR_COUNT, 8, 40, ASC_DATA_LOSS, "tensor count"},
    {AT_TENSOR_COUNT, 8, 1u << 20, ASC_DATA_LOSS, "tensor count"},
    {AT_KV_COUNT, 8, 20, ASC_UNIMPLEMENTED, "split.count"},
    {AT_KV_COUNT, 8, 22, ASC_INVALID_ARGUMENT, ""},
    {AT_KV_COUNT, 8, UINT64_MAX, ASC_DATA_LOSS, "metadata count"},
    {AT_KV_COUNT, 8, (uint64_t)1 << 63, ASC_DATA_LOSS, "metadata count"},
    {AT_KEY_LEN, 8, 0, ASC_INVALID_ARGUMENT, "empty"},
    {AT_KEY_LEN, 8, 1, ASC_INVALID_ARGUMENT, "value type"},
    {AT_KEY_LEN, 8, UINT64_MAX, ASC_DATA_LOSS, "metadata key"},
    {AT_KEY_LEN, 8, (uint64_t)1 << 32, ASC_DATA_LOSS, "metadata key"},
    {AT_KEY_LEN, 8, UINT64_MAX - 40, ASC_DATA_LOSS, "metadata key"},
    {AT_KEY, 1, 0xFF, ASC_INVALID_ARGUMENT, "UTF-8"},
    {AT_KEY, 1, 0, ASC_INVALID_ARGUMENT, "UTF-8"},
    {AT_KEY, 1, 0x1B, ASC_INVALID_ARGUMENT, "UTF-8"},
    {AT_KEY_TYPE, 4, 13, ASC_INVALID_ARGUMENT, "unknown value type 13"},
    {AT_KEY_TYPE, 4, UINT32_MAX, ASC_INVALID_ARGUMENT, "general.architecture"},
    {AT_KEY_TYPE, 4, 9, ASC_DATA_LOSS, "general.architecture"},
    {AT_STR_LEN, 8, 6, ASC_DATA_LOSS, "metadata key at byte"},
    {AT_STR_LEN, 8, UINT64_MAX, ASC_DATA_LOSS, "general.architecture"},
    {AT_STR_LEN, 8, UINT64_MAX - 7, ASC_DATA_LOSS, "general.architecture"},
    {AT_STR_LEN, 8, (uint64_t)1 << 40, ASC_DATA_LOSS, "general.architecture"},
    {AT_ALIGNMENT, 4, 0, ASC_INVALID_ARGUMENT, "general.alignment"},
    {AT_ALIGNMENT, 4, 1, ASC_INVALID_ARGUMENT, "general.alignment"},
    {AT_ALIGNMENT, 4, 24, ASC_INVALID_ARGUMENT, "general.alignment"},
    {AT_ALIGNMENT, 4, 1u << 31, ASC_INVALID_ARGUMENT, "general.alignment"},
    {AT_ALIGNMENT, 4, 32, ASC_INVALID_ARGUMENT, "multiple of 32"},
    {AT_ALIGNMENT_TYPE, 4, 6, ASC_INVALID_ARGUMENT, "general.alignment"},
    {AT_ALIGNMENT_TYPE, 4, 5, ASC_OK, ""}, /* i32 is an integer too */
    {AT_BOOL, 1, 2, ASC_INVALID_ARGUMENT, "t.bool"},
    {AT_BOOLS, 1, 255, ASC_INVALID_ARGUMENT, "bools"},
    {AT_LAST_KEY, 4, 0x38752E74, ASC_INVALID_ARGUMENT, "'t.u8' appears twice"},
    {AT_WORDS_TYPE, 4, 99, ASC_INVALID_ARGUMENT, "words"},
    {AT_WORDS_COUNT, 8, UINT64_MAX, ASC_DATA_LOSS, "words"},
    {AT_WORDS_COUNT, 8, (uint64_t)1 << 61, ASC_DATA_LOSS, "words"},
    {AT_WORDS_COUNT, 8, 60, ASC_DATA_LOSS, "words"},
    {AT_WORDS_COUNT, 8, 4, ASC_DATA_LOSS, "metadata key"},
    {AT_WORDS_LEN0, 8, UINT64_MAX, ASC_DATA_LOSS, "words"},
    {AT_WORDS_LEN2, 8, UINT64_MAX - 7, ASC_DATA_LOSS, "words"},
    {AT_WORDS_LEN2, 8, 4000, ASC_DATA_LOSS, "words"},
    {AT_INTS_TYPE, 4, 9, ASC_INVALID_ARGUMENT, "ints"},
    {AT_INTS_TYPE, 4, 8, ASC_DATA_LOSS, "ints"},
    {AT_INTS_COUNT, 8, (uint64_t)1 << 62, ASC_DATA_LOSS, "ints"},
    {AT_INTS_COUNT, 8, 0, ASC_DATA_LOSS, "metadata key"},
    {AT_NEST_COUNT, 8, (uint64_t)1 << 60, ASC_DATA_LOSS, "nest"},
    {AT_NEST_INNER_TYPE, 4, 77, ASC_INVALID_ARGUMENT, "nest"},
    {AT_NEST_INNER_COUNT, 8, UINT64_MAX, ASC_DATA_LOSS, "nest"},
    {AT_SPLIT, 2, 3, ASC_UNIMPLEMENTED, "3 parts"},
    {AT_NAME_LEN, 8, 0, ASC_INVALID_ARGUMENT, "empty"},
    {AT_NAME_LEN, 8, 256, ASC_RESOURCE_EXHAUSTED, "at most 255"},
    {AT_NAME_LEN, 8, (uint64_t)1 << 32, ASC_DATA_LOSS, "tensor name"},
    {AT_NAME, 1, 0x7F, ASC_INVALID_ARGUMENT, "UTF-8"},
    {AT_RANK, 4, 0, ASC_INVALID_ARGUMENT, "rank 0"},
    {AT_RANK, 4, 5, ASC_INVALID_ARGUMENT, "rank 5"},
    {AT_RANK, 4, UINT32_MAX, ASC_INVALID_ARGUMENT, "'aa'"},
    {AT_DIM0, 8, 0, ASC_INVALID_ARGUMENT, "dimension of 0"},
    {AT_DIM0, 8, UINT64_MAX, ASC_INVALID_ARGUMENT, "too large"},
    {AT_DIM0, 8, INT64_MAX, ASC_INVALID_ARGUMENT, "larger than memory"},
    {AT_DIM0, 8, 5, ASC_INVALID_ARGUMENT, "overlap"},
    {AT_DIM0, 8, 400, ASC_DATA_LOSS, "'aa'"},
    {AT_TYPE, 4, 4, ASC_UNIMPLEMENTED, "type number 4"},
    {AT_TYPE, 4, 1000, ASC_UNIMPLEMENTED, "'aa'"},
    {AT_TYPE, 4, UINT32_MAX, ASC_UNIMPLEMENTED, "4294967295"},
    {AT_TYPE, 4, 12, ASC_INVALID_ARGUMENT, "multiple of 256"},
    {AT_OFFSET, 8, 8, ASC_INVALID_ARGUMENT, "multiple of 16"},
    {AT_OFFSET, 8, UINT64_MAX - 15, ASC_DATA_LOSS, "'aa'"},
    {AT_OFFSET, 8, 16, ASC_INVALID_ARGUMENT, "a gap"},
    {AT_OFFSET, 8, 112, ASC_INVALID_ARGUMENT, "'bb'"},
    {AT_NAME1, 1, 'b', ASC_OK, ""},
    {AT_NAME1, 2, 0x6161, ASC_INVALID_ARGUMENT, "'aa' appears twice"},
    {AT_COLS1, 8, 33, ASC_INVALID_ARGUMENT, "multiple of 32"},
    {AT_COLS1, 8, 16, ASC_INVALID_ARGUMENT,
     "multiple of 32"}, /* 2 x 16 elements are a block, but not of one row */
    {AT_ROWS1, 8, 1, ASC_INVALID_ARGUMENT, "a gap behind 'bb'"},
    {AT_ROWS1, 8, 3, ASC_INVALID_ARGUMENT, "overlap"},
    {AT_ROWS1, 8, INT64_MAX, ASC_INVALID_ARGUMENT, "too large"},
    {AT_RANK1, 4, 1, ASC_INVALID_ARGUMENT, "tensor name"},
    {AT_TYPE1, 4, 14, ASC_INVALID_ARGUMENT, "q6_k"},
    {AT_OFFSET1, 8, 32, ASC_INVALID_ARGUMENT, "a gap behind 'aa'"},
    {AT_OFFSET2, 8, 48, ASC_INVALID_ARGUMENT, "overlap"},
    {AT_OFFSET3, 8, 128, ASC_DATA_LOSS, "'dd'"},
};

static void check_refused(asc_ctx *ctx, asc_status want, const char *says, const char *what) {
    const char *msg = asc_error_message(ctx);
    if (asc_error_code(ctx) != want) {
        fail_msg("%s: %s (%s), expected %s", what, asc_status_name(asc_error_code(ctx)), msg,
                 asc_status_name(want));
    }
    if (strstr(msg, says) == NULL) fail_msg("%s: '%s' does not say '%s'", what, msg, says);
    if (strstr(msg, "(memory)") == NULL) fail_msg("%s: '%s' does not name the file", what, msg);
    if (asc_error_hint(ctx)[0] == '\0') fail_msg("%s: '%s' has no hint", what, msg);
}

static void test_lies(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        const lie_case *c = &lies[i];
        made m;
        uint8_t *copy;
        asc_gguf *g = NULL;
        char what[64];
        make_gguf(&m, 3);
        lie(&m, c->where, c->value, c->bytes);
        snprintf(what, sizeof what, "lie %zu (field %d = %#llx)", i, (int)c->where,
                 (unsigned long long)c->value);
        asc_error_clear(ctx);
        asc_status st = parse_copy(ctx, m.buf, m.len, &copy, &g);
        if (st != c->want) fail_msg("%s: %s: %s", what, asc_status_name(st), asc_error_message(ctx));
        if (st == ASC_OK) {
            walk(ctx, g);
        } else {
            assert_null(g);
            check_refused(ctx, c->want, c->says, what);
        }
        asc_gguf_close(ctx, g);
        free(copy);
    }
    test_ctx_end(ctx);
}

static void test_truncation(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    made m;
    make_gguf(&m, 3);
    for (size_t len = 0; len < m.len; len++) {
        uint8_t *copy;
        asc_gguf *g = NULL;
        asc_error_clear(ctx);
        asc_status st = parse_copy(ctx, m.buf, len, &copy, &g);
        if (st == ASC_OK) fail_msg("%zu of %zu bytes were accepted", len, m.len);
        check_refused(ctx, len < 4 ? ASC_INVALID_ARGUMENT : ASC_DATA_LOSS, "", "truncation");
        free(copy);
    }
    test_ctx_end(ctx);
}

static void test_bit_flips(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    made m;
    make_gguf(&m, 3);
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * m.len; bit++) {
        uint8_t *copy;
        asc_gguf *g = NULL;
        m.buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
        asc_error_clear(ctx);
        if (parse_copy(ctx, m.buf, m.len, &copy, &g) == ASC_OK) {
            walk(ctx, g);
        } else {
            refused++;
            check_refused(ctx, asc_error_code(ctx), "", "bit flip");
        }
        asc_gguf_close(ctx, g);
        free(copy);
        m.buf[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 2000); /* lengths, counts, types and offsets are most of the header */
    test_ctx_end(ctx);
}

static void test_nesting(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (int depth = 1; depth <= 60; depth++) { /* arrays of one array each, the innermost of one u8 */
        made m;
        asc_gguf *g = NULL;
        put_head(&m, 0, 1);
        put_key(&m, "deep", 9);
        for (int i = 1; i < depth; i++) {
            put_int(&m, 9, 4);
            put_int(&m, 1, 8);
        }
        put_int(&m, 0, 4);
        put_int(&m, 1, 8);
        put_int(&m, 5, 1);
        asc_status st = asc_gguf_parse(ctx, m.buf, m.len, &g);
        assert_int_equal(st, depth <= ASC_GGUF_MAX_DEPTH ? ASC_OK : ASC_INVALID_ARGUMENT);
        if (st != ASC_OK) assert_non_null(strstr(asc_error_message(ctx), "deep"));
        asc_gguf_close(ctx, g);
    }
    test_ctx_end(ctx);
}

/* Tensors whose list is in another order than their data: accepted, sorted only to look for overlaps. */
static void test_order(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    for (int overlap = 0; overlap < 2; overlap++) {
        static const int order[9] = {4, 8, 0, 3, 7, 1, 6, 2, 5};
        made m;
        asc_gguf *g = NULL;
        put_head(&m, 9, 0);
        for (int i = 0; i < 9; i++) {
            char name[8];
            snprintf(name, sizeof name, "t%d", order[i]);
            put_str(&m, name);
            put_int(&m, 1, 4);
            put_int(&m, 8, 8); /* 32 bytes */
            put_int(&m, 0, 4);
            put_int(&m, (uint64_t)(overlap && order[i] == 6 ? 5 : order[i]) * 32, 8);
        }
        while (m.len % 32 != 0) m.len++;
        m.len += 9 * 32;
        asc_status st = asc_gguf_parse(ctx, m.buf, m.len, &g);
        assert_int_equal(st, overlap ? ASC_INVALID_ARGUMENT : ASC_OK);
        if (overlap) assert_non_null(strstr(asc_error_message(ctx), "'t6'"));
        asc_gguf_close(ctx, g);
    }
    test_ctx_end(ctx);
}

/* Files that are large enough for what they claim, but over a limit. */
static void test_limits(void **state) {
    (void)state;
    asc_ctx *ctx = test_ctx(NULL, NULL);
    size_t size = (size_t)4 << 20;
    uint8_t *data = calloc(1, size);
    assert_non_null(data);
    static const struct {
        uint64_t tensors, kvs, key_len;
        const char *says;
    } cases[] = {{0, ASC_GGUF_MAX_KEYS + 1, 1, "at most 65536"},
                 {ASC_GGUF_MAX_TENSORS + 1, 0, 1, "at most 65536"},
                 {0, 1, ASC_GGUF_MAX_KEY_BYTES + 1, "at most 65535"}};
    for (size_t i = 0; i < 3; i++) {
        made m;
        asc_gguf *g = NULL;
        put_head(&m, cases[i].tensors, cases[i].kvs);
        put_int(&m, cases[i].key_len, 8);
        memcpy(data, m.buf, m.len);
        asc_error_clear(ctx);
        assert_int_equal(asc_gguf_parse(ctx, data, size, &g), ASC_RESOURCE_EXHAUSTED);
        check_refused(ctx, ASC_RESOURCE_EXHAUSTED, cases[i].says, "limit");
    }
    free(data);
    test_ctx_end(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lies),    cmocka_unit_test(test_truncation), cmocka_unit_test(test_bit_flips),
        cmocka_unit_test(test_nesting), cmocka_unit_test(test_order),      cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
