/* onnx_one_node.h - writes ONNX files of one node for tests, from short texts.
 *
 * Inputs, one word each: a kind, dimensions, values. Kinds: f float input drawn from -2..2, p float input
 * drawn from 0.3..2, both with a distance between any two; c float constant; k int64 constant;
 * b uint8 constant; i int64 input;
 * - left out. "f2,3" "k2=0,-1" "f=0.5" (a scalar). Attributes: name, type (i f s I F S t) and value:
 * "axis:i=1" "pads:I=0,1" "mode:s=edge" (t: a tensor of one int64; S: words with commas between them).
 */
#ifndef ASC_ONNX_ONE_NODE_H
#define ASC_ONNX_ONE_NODE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAKE_BYTES = 1 << 16, MAKE_INPUTS = 8, MAKE_ELEMS = 1024 };

typedef struct make {
    uint8_t b[MAKE_BYTES];
    size_t n;
} make;

typedef struct make_input {
    char kind;
    int rank;
    int64_t dims[6], n;
    double v[MAKE_ELEMS];
} make_input;

static inline void make_varint(make *m, uint64_t v) {
    for (; v > 127; v >>= 7) m->b[m->n++] = (uint8_t)(v | 128);
    m->b[m->n++] = (uint8_t)v;
}
static inline void make_int(make *m, int field, int64_t v) {
    make_varint(m, (uint64_t)field << 3);
    make_varint(m, (uint64_t)v);
}
static inline void make_data(make *m, int field, const void *data, size_t n) {
    make_varint(m, (uint64_t)field << 3 | 2);
    make_varint(m, n);
    memcpy(m->b + m->n, data, n);
    m->n += n;
}
static inline void make_text(make *m, int field, const char *s) { make_data(m, field, s, strlen(s)); }
static inline void make_float(make *m, int field, float f) {
    make_varint(m, (uint64_t)field << 3 | 5);
    memcpy(m->b + m->n, &f, 4);
    m->n += 4;
}

/* Any number as a whole one. */
static inline int64_t make_whole(double v) {
    return v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 ? INT64_MIN : v == v ? (int64_t)v : 0;
}

/* A number of the list at *s, which moves behind it and a comma. */
static inline double make_number(const char **s) {
    char *end;
    double v = strtod(*s, &end);
    *s = *end == ',' ? end + 1 : end;
    return v;
}

static inline void make_read_input(const char *word, unsigned *random, make_input *in) {
    const char *s = word + 1;
    *in = (make_input){.kind = word[0], .n = 1};
    while (*s >= '0' && *s <= '9') {
        in->dims[in->rank] = make_whole(make_number(&s));
        in->n *= in->dims[in->rank++];
    }
    for (int64_t i = 0; i < in->n && *s == '\0'; i++) in->v[i] = (double)i;
    for (int64_t i = in->n - 1; i > 0 && *s == '\0'; i--) { /* a grid of values in random order */
        *random = *random * 1664525u + 1013904223u;
        int64_t k = (int64_t)(*random >> 8) % (i + 1);
        double t = in->v[i];
        in->v[i] = in->v[k];
        in->v[k] = t;
    }
    double lo = in->kind == 'p' ? 0.3 : -1.97, hi = 2;
    for (int64_t i = 0; i < in->n && *s == '\0'; i++)
        in->v[i] = lo + (hi - lo) * (in->v[i] + 0.37) / (double)in->n;
    if (*s == '=') s++;
    for (int64_t i = 0; i < in->n && *s != '\0'; i++) in->v[i] = make_number(&s);
}

static inline void make_tensor(make *m, int field, const char *name, const make_input *in, int elem) {
    make t = {.n = 0};
    uint8_t raw[MAKE_ELEMS * 8];
    size_t size = elem == 1 ? 4 : elem == 2 ? 1 : 8;
    for (int i = 0; i < in->rank; i++) make_int(&t, 1, in->dims[i]);
    make_int(&t, 2, elem);
    if (name != NULL) make_text(&t, 8, name);
    for (int64_t i = 0; i < in->n; i++) {
        float f = (float)in->v[i];
        int64_t k = make_whole(in->v[i]);
        memcpy(raw + (size_t)i * size, elem == 1 ? (void *)&f : (void *)&k, size);
    }
    make_data(&t, 9, raw, (size_t)in->n * size);
    make_data(m, field, t.b, t.n);
}

static inline void make_port(make *m, int field, const char *name, const make_input *in, int elem) {
    make port = {.n = 0}, type = {.n = 0}, tensor = {.n = 0}, shape = {.n = 0};
    for (int i = 0; in != NULL && i < in->rank; i++) {
        make dim = {.n = 0};
        make_int(&dim, 1, in->dims[i]);
        make_data(&shape, 1, dim.b, dim.n);
    }
    make_int(&tensor, 1, elem);
    if (in != NULL) make_data(&tensor, 2, shape.b, shape.n);
    make_data(&type, 1, tensor.b, tensor.n);
    make_text(&port, 1, name);
    make_data(&port, 2, type.b, type.n);
    make_data(m, field, port.b, port.n);
}

static inline void make_attr(make *node, const char *word) {
    make a = {.n = 0};
    char name[64];
    const char *colon = strchr(word, ':'), *s = colon + 3;
    snprintf(name, sizeof name, "%.*s", (int)(colon - word), word);
    make_text(&a, 1, name);
    make_input one = {.n = 1, .rank = 1, .dims = {1}};
    switch (colon[1]) {
    case 'f':
        make_float(&a, 2, (float)strtod(s, NULL)), make_int(&a, 20, 1);
        break;
    case 'i':
        make_int(&a, 3, strtoll(s, NULL, 10)), make_int(&a, 20, 2);
        break;
    case 's':
        make_text(&a, 4, s), make_int(&a, 20, 3);
        break;
    case 't':
        one.v[0] = strtod(s, NULL), make_tensor(&a, 5, NULL, &one, 7), make_int(&a, 20, 4);
        break;
    case 'S':
        for (char *save = NULL, *w = strtok_r((char *)(uintptr_t)s, ",", &save); w != NULL;
             w = strtok_r(NULL, ",", &save))
            make_text(&a, 9, w);
        make_int(&a, 20, 8);
        break;
    case 'F':
        while (*s != '\0') make_float(&a, 7, (float)make_number(&s));
        make_int(&a, 20, 6);
        break;
    default:
        while (*s != '\0') make_int(&a, 8, make_whole(make_number(&s)));
        make_int(&a, 20, 7);
    }
    make_data(node, 5, a.b, a.n);
}

/* A model of one node into m; in[] receives its inputs, *n_in their number. */
static inline void make_model(make *m, int opset, const char *op, const char *attrs, const char *inputs,
                              int n_out, int out_elem, unsigned random, make_input *in, int *n_in) {
    make graph = {.n = 0}, node = {.n = 0}, set = {.n = 0};
    char text[2048], name[16], *save = NULL;
    snprintf(text, sizeof text, "%s", inputs);
    *n_in = 0;
    for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        snprintf(name, sizeof name, "x%d", *n_in);
        make_read_input(w, &random, &in[(*n_in)++]);
        make_text(&node, 1, w[0] == '-' ? "" : name);
    }
    for (int i = 0; i < n_out; i++) {
        snprintf(name, sizeof name, "y%d", i);
        make_text(&node, 2, name);
    }
    make_text(&node, 3, "n");
    make_text(&node, 4, op);
    snprintf(text, sizeof text, "%s", attrs);
    for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) make_attr(&node, w);
    make_data(&graph, 1, node.b, node.n);
    make_text(&graph, 2, "g");
    for (int i = 0; i < *n_in; i++) {
        snprintf(name, sizeof name, "x%d", i);
        bool number = in[i].kind == 'k' || in[i].kind == 'i';
        if (strchr("kcb", in[i].kind) != NULL)
            make_tensor(&graph, 5, name, &in[i], in[i].kind == 'b' ? 2 : number ? 7 : 1);
        if (strchr("fpi", in[i].kind) != NULL) make_port(&graph, 11, name, &in[i], number ? 7 : 1);
    }
    for (int i = 0; i < n_out; i++) {
        snprintf(name, sizeof name, "y%d", i);
        make_port(&graph, 12, name, NULL, i == 0 ? out_elem : 7);
    }
    make_int(m, 1, 8);
    make_data(m, 7, graph.b, graph.n);
    make_int(&set, 2, opset);
    make_data(m, 8, set.b, set.n);
}

#endif
