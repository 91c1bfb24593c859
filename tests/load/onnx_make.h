/* onnx_make.h - writes small ONNX files, right or wrong: protobuf fields appended to a buffer. */
#ifndef ASC_TEST_ONNX_MAKE_H
#define ASC_TEST_ONNX_MAKE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct pb {
    uint8_t data[8192];
    size_t n;
} pb;

static inline void pb_byte(pb *b, unsigned v) {
    if (b->n == sizeof b->data) abort();
    b->data[b->n++] = (uint8_t)v;
}
static inline void pb_varint(pb *b, uint64_t v) {
    while (v >= 128) {
        pb_byte(b, (unsigned)(v & 127) | 128);
        v >>= 7;
    }
    pb_byte(b, (unsigned)v);
}
static inline void pb_int(pb *b, unsigned field, int64_t v) {
    pb_varint(b, field << 3);
    pb_varint(b, (uint64_t)v);
}
static inline void pb_bytes(pb *b, unsigned field, const void *p, size_t n) {
    pb_varint(b, field << 3 | 2);
    pb_varint(b, n);
    for (size_t i = 0; i < n; i++) pb_byte(b, ((const uint8_t *)p)[i]);
}
static inline void pb_str(pb *b, unsigned field, const char *s) { pb_bytes(b, field, s, strlen(s)); }
static inline void pb_sub(pb *b, unsigned field, const pb *m) { pb_bytes(b, field, m->data, m->n); }

/* A node: names are separated by commas, "" is no name at all. */
static inline void pb_names(pb *b, unsigned field, const char *names) {
    while (*names != '\0') {
        size_t n = strcspn(names, ",");
        pb_bytes(b, field, names, n);
        names += n + (names[n] == ',');
    }
}
static inline pb pb_node(const char *op, const char *in, const char *out) {
    pb b = {.n = 0};
    pb_names(&b, 1, in);
    pb_names(&b, 2, out);
    pb_str(&b, 4, op);
    return b;
}
static inline pb pb_attr_int(const char *name, int64_t v) {
    pb b = {.n = 0};
    pb_str(&b, 1, name);
    pb_int(&b, 3, v);
    pb_int(&b, 20, 2);
    return b;
}
/* A float tensor with raw data; n_floats of them whatever dims says. */
static inline pb pb_tensor(const char *name, int rank, const int64_t *dims, int n_floats, float value) {
    pb b = {.n = 0};
    float raw[64];
    for (int i = 0; i < n_floats; i++) raw[i] = value;
    for (int i = 0; i < rank; i++) pb_int(&b, 1, dims[i]);
    pb_int(&b, 2, 1);
    pb_str(&b, 8, name);
    pb_bytes(&b, 9, raw, (size_t)n_floats * sizeof raw[0]);
    return b;
}
static inline pb pb_ints(const char *name, int n, const int64_t *v) {
    pb b = {.n = 0};
    pb_int(&b, 1, n);
    pb_int(&b, 2, 7);
    pb_str(&b, 8, name);
    for (int i = 0; i < n; i++) pb_int(&b, 7, v[i]);
    return b;
}
/* An input or output; elem 1 = float, dims -1 = symbolic. */
static inline pb pb_port(const char *name, int elem, int rank, const int64_t *dims) {
    pb b = {.n = 0}, type = {.n = 0}, tensor = {.n = 0}, shape = {.n = 0};
    for (int i = 0; i < rank; i++) {
        pb dim = {.n = 0};
        if (dims[i] >= 0)
            pb_int(&dim, 1, dims[i]);
        else
            pb_str(&dim, 2, "n");
        pb_sub(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, elem);
    pb_sub(&tensor, 2, &shape);
    pb_sub(&type, 1, &tensor);
    pb_str(&b, 1, name);
    pb_sub(&b, 2, &type);
    return b;
}
static inline pb pb_model(const pb *graph, int opset) {
    pb b = {.n = 0}, set = {.n = 0};
    pb_int(&set, 2, opset);
    pb_int(&b, 1, 8);
    pb_sub(&b, 7, graph);
    pb_sub(&b, 8, &set);
    return b;
}

#endif
