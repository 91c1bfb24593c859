/* gguf_make.h - writes a small GGUF file into memory for tests, remembering where each field lies so that
 * tests can lie about it, and reads everything that a reader offers. The file has one value of every metadata
 * type, arrays of every kind, and tensors of rank 1 to 4. */
#ifndef ASC_TEST_GGUF_MAKE_H
#define ASC_TEST_GGUF_MAKE_H

#include "gguf.h"
#include "harness.h"
#include "view.h"

enum mark {
    AT_MAGIC,
    AT_VERSION,
    AT_TENSOR_COUNT,
    AT_KV_COUNT,
    AT_KEY_LEN, /* of the first key */
    AT_KEY,
    AT_KEY_TYPE,
    AT_STR_LEN, /* of the first value */
    AT_ALIGNMENT,
    AT_ALIGNMENT_TYPE,
    AT_BOOL,
    AT_LAST_KEY,   /* of the key "t.u9" */
    AT_WORDS_TYPE, /* element type of an array of three strings */
    AT_WORDS_COUNT,
    AT_WORDS_LEN0, /* length of its first string */
    AT_WORDS_LEN2,
    AT_INTS_TYPE, /* an array of four i32 */
    AT_INTS_COUNT,
    AT_BOOLS,     /* values of an array of bools */
    AT_NEST_TYPE, /* an array of two arrays of u8 */
    AT_NEST_COUNT,
    AT_NEST_INNER_TYPE,
    AT_NEST_INNER_COUNT,
    AT_SPLIT,    /* split.count, u16 */
    AT_NAME_LEN, /* of tensor 0 */
    AT_NAME,
    AT_RANK,
    AT_DIM0,
    AT_TYPE,
    AT_OFFSET,
    AT_NAME1, /* of tensor 1, "bb", q4_1 [2, 32] */
    AT_RANK1,
    AT_COLS1,
    AT_ROWS1,
    AT_TYPE1,
    AT_OFFSET1,
    AT_OFFSET2, /* of tensor 2, "cc", f16 [2, 3, 4] */
    AT_OFFSET3, /* of tensor 3, "dd", f32 [1, 2, 1, 2] */
    AT_DATA,
    N_MARKS
};

typedef struct made {
    uint8_t buf[2048];
    size_t len;
    size_t at[N_MARKS];
} made;

static inline void put(made *m, const void *p, size_t n) {
    memcpy(m->buf + m->len, p, n);
    m->len += n;
}
static inline void put_int(made *m, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) m->buf[m->len++] = (uint8_t)(v >> 8 * i);
}
static inline void put_str(made *m, const char *s) {
    put_int(m, strlen(s), 8);
    put(m, s, strlen(s));
}
static inline void mark_here(made *m, enum mark k) { m->at[k] = m->len; }
static inline void put_key(made *m, const char *key, uint32_t type) {
    put_str(m, key);
    put_int(m, type, 4);
}
static inline void put_f32(made *m, float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    put_int(m, u, 4);
}
static inline void put_f64(made *m, double f) {
    uint64_t u;
    memcpy(&u, &f, 8);
    put_int(m, u, 8);
}

/* The first 24 bytes, for files made by hand. */
static inline void put_head(made *m, uint64_t tensors, uint64_t kvs) {
    memset(m, 0, sizeof *m);
    put(m, "GGUF", 4);
    put_int(m, 3, 4);
    put_int(m, tensors, 8);
    put_int(m, kvs, 8);
}

static inline void make_metadata(made *m) {
    mark_here(m, AT_KEY_LEN);
    m->at[AT_KEY] = m->len + 8;
    m->at[AT_KEY_TYPE] = m->len + 8 + strlen("general.architecture");
    put_key(m, "general.architecture", 8);
    mark_here(m, AT_STR_LEN);
    put_str(m, "llama");
    m->at[AT_ALIGNMENT_TYPE] = m->len + 8 + strlen("general.alignment");
    put_key(m, "general.alignment", 4);
    mark_here(m, AT_ALIGNMENT);
    put_int(m, 16, 4);
    put_key(m, "t.u8", 0);
    put_int(m, 200, 1);
    put_key(m, "t.i8", 1);
    put_int(m, (uint64_t)-5, 1);
    put_key(m, "t.u16", 2);
    put_int(m, 60000, 2);
    put_key(m, "t.i16", 3);
    put_int(m, (uint64_t)-300, 2);
    put_key(m, "t.u32", 4);
    put_int(m, 4000000000u, 4);
    put_key(m, "t.i32", 5);
    put_int(m, (uint64_t)-70000, 4);
    put_key(m, "t.f32", 6);
    put_f32(m, 1.5f);
    put_key(m, "t.bool", 7);
    mark_here(m, AT_BOOL);
    put_int(m, 1, 1);
    put_key(m, "t.u64", 10);
    put_int(m, UINT64_MAX, 8);
    put_key(m, "t.i64", 11);
    put_int(m, (uint64_t)-1, 8);
    put_key(m, "t.f64", 12);
    put_f64(m, -0.1);
    m->at[AT_LAST_KEY] = m->len + 8;
    put_key(m, "t.u9", 0);
    put_int(m, 9, 1);
    put_key(m, "words", 9);
    mark_here(m, AT_WORDS_TYPE);
    put_int(m, 8, 4);
    mark_here(m, AT_WORDS_COUNT);
    put_int(m, 3, 8);
    mark_here(m, AT_WORDS_LEN0);
    put_str(m, "one");
    put_str(m, "");
    mark_here(m, AT_WORDS_LEN2);
    put_str(m, "three\n");
    put_key(m, "ints", 9);
    mark_here(m, AT_INTS_TYPE);
    put_int(m, 5, 4);
    mark_here(m, AT_INTS_COUNT);
    put_int(m, 4, 8);
    for (int i = 0; i < 4; i++) put_int(m, (uint64_t)(int64_t)(i - 2), 4);
    put_key(m, "floats", 9);
    put_int(m, 6, 4);
    put_int(m, 2, 8);
    put_f32(m, 0.25f);
    put_f32(m, -8.0f);
    put_key(m, "bools", 9);
    put_int(m, 7, 4);
    put_int(m, 2, 8);
    mark_here(m, AT_BOOLS);
    put_int(m, 0x0100, 2);
    put_key(m, "nest", 9);
    mark_here(m, AT_NEST_TYPE);
    put_int(m, 9, 4);
    mark_here(m, AT_NEST_COUNT);
    put_int(m, 2, 8);
    for (int i = 0; i < 2; i++) {
        m->at[AT_NEST_INNER_TYPE] = m->len;
        put_int(m, 0, 4);
        mark_here(m, AT_NEST_INNER_COUNT);
        put_int(m, 2, 8);
        put_int(m, 0x0201, 2);
    }
    put_key(m, "empty", 9);
    put_int(m, 8, 4);
    put_int(m, 0, 8);
    put_key(m, "split.count", 2);
    mark_here(m, AT_SPLIT);
    put_int(m, 1, 2);
}

/* The valid file; every test changes a copy. 21 keys, 4 tensors, data of 16 + 48 (40 used) + 48 + 16 bytes.
 */
static inline void make_gguf(made *m, uint32_t version) {
    memset(m, 0, sizeof *m);
    mark_here(m, AT_MAGIC);
    put(m, "GGUF", 4);
    mark_here(m, AT_VERSION);
    put_int(m, version, 4);
    mark_here(m, AT_TENSOR_COUNT);
    put_int(m, 4, 8);
    mark_here(m, AT_KV_COUNT);
    put_int(m, 21, 8);
    make_metadata(m);
    mark_here(m, AT_NAME_LEN);
    m->at[AT_NAME] = m->len + 8;
    put_str(m, "aa");
    mark_here(m, AT_RANK);
    put_int(m, 1, 4);
    mark_here(m, AT_DIM0);
    put_int(m, 4, 8);
    mark_here(m, AT_TYPE);
    put_int(m, 0, 4);
    mark_here(m, AT_OFFSET);
    put_int(m, 0, 8);
    m->at[AT_NAME1] = m->len + 8;
    put_str(m, "bb");
    mark_here(m, AT_RANK1);
    put_int(m, 2, 4);
    mark_here(m, AT_COLS1);
    put_int(m, 32, 8);
    mark_here(m, AT_ROWS1);
    put_int(m, 2, 8);
    mark_here(m, AT_TYPE1);
    put_int(m, 3, 4);
    mark_here(m, AT_OFFSET1);
    put_int(m, 16, 8);
    put_str(m, "cc");
    put_int(m, 3, 4);
    put_int(m, 4, 8);
    put_int(m, 3, 8);
    put_int(m, 2, 8);
    put_int(m, 1, 4);
    mark_here(m, AT_OFFSET2);
    put_int(m, 64, 8);
    put_str(m, "dd");
    put_int(m, 4, 4);
    put_int(m, 2, 8);
    put_int(m, 1, 8);
    put_int(m, 2, 8);
    put_int(m, 1, 8);
    put_int(m, 0, 4);
    mark_here(m, AT_OFFSET3);
    put_int(m, 112, 8);
    while (m->len % 16 != 0) m->len++;
    mark_here(m, AT_DATA);
    for (int i = 0; i < 128; i++) put_int(m, (uint64_t)i, 1);
}

/* Overwrites a field. */
static inline void lie(made *m, enum mark where, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) m->buf[m->at[where] + (size_t)i] = (uint8_t)(value >> 8 * i);
}

/* Parses a copy of exactly the right size, so that a sanitizer sees any read beyond the end. */
static inline asc_status parse_copy(asc_ctx *ctx, const uint8_t *data, size_t len, uint8_t **copy,
                                    asc_gguf **g) {
    *copy = malloc(len > 0 ? len : 1);
    assert_non_null(*copy);
    memcpy(*copy, data, len);
    return asc_gguf_parse(ctx, *copy, len, g);
}

/* Touches everything a reader offers; the views must lie inside the file. */
static inline uint64_t walk(asc_ctx *ctx, const asc_gguf *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < asc_gguf_kv_count(g); i++) {
        const asc_gguf_kv *kv = asc_gguf_kv_at(g, i);
        char key[256];
        snprintf(key, sizeof key, ASC_VIEW_FMT, ASC_VIEW_ARG(asc_view_cut(kv->key, 255)));
        if (strlen(key) < 255) assert_ptr_equal(asc_gguf_kv_find(g, key), kv);
        for (size_t e = 0; e <= kv->values.count; e++) {
            asc_view v = asc_gguf_str_at(kv->values, e);
            for (size_t b = 0; b < v.len; b++) sum += (unsigned char)v.ptr[b];
            sum += (uint64_t)asc_gguf_int_at(kv->values, e);
            sum += asc_gguf_num_at(kv->values, e) > 0;
        }
        uint64_t u;
        double d;
        if (asc_gguf_get_u64(ctx, g, key, &u) == ASC_OK) sum += u;
        if (asc_gguf_get_f64(ctx, g, key, &d) == ASC_OK) sum += d > 0;
    }
    for (size_t i = 0; i < asc_gguf_tensor_count(g); i++) {
        const asc_gguf_tensor *t = asc_gguf_tensor_at(g, i);
        assert_true(t->file_offset + t->bytes <= asc_gguf_size(g));
        for (size_t b = 0; b < t->bytes; b++) sum += ((const uint8_t *)t->data)[b];
    }
    return sum;
}

#endif
