/* onnx_op_text.c - operators of text, on the host: StringNormalizer, TfIdfVectorizer. */
#include "onnx_parts.h"
#include <string.h>

static asc_view lower_or_upper(asc_onnx_call *c, asc_view v, bool upper) {
    char *out = asc_onnx_memory(c, v.len, 1);
    for (size_t i = 0; i < v.len && out != NULL; i++) {
        char ch = v.ptr[i];
        if ((unsigned char)ch >= 0x80)
            asc_onnx_fail(c, ASC_UNIMPLEMENTED, "a change of case of letters beyond ASCII");
        if (upper && ch >= 'a' && ch <= 'z') ch = (char)(ch - 32);
        if (!upper && ch >= 'A' && ch <= 'Z') ch = (char)(ch + 32);
        out[i] = ch;
    }
    return out == NULL ? v : (asc_view){out, v.len};
}

/* Stop words taken out, then the case changed; if nothing is left one empty string is. */
asc_status asc_onnx_StringNormalizer(asc_onnx_call *c) {
    asc_onnx_value *in = asc_onnx_in(c, 0), *out = asc_onnx_new_value(c);
    bool sensitive = asc_onnx_attr_int(c, "is_case_sensitive", 0) != 0;
    bool lower = asc_onnx_attr_is(c, "case_change_action", "NONE", "LOWER");
    bool upper = asc_onnx_attr_is(c, "case_change_action", "NONE", "UPPER");
    const asc_onnx_attr *stop = asc_onnx_attr_find(c, "stopwords");
    if (c->st != ASC_OK) return c->st;
    if (in->kind != ASC_ONNX_STRINGS || in->shape.rank < 1 || in->shape.rank > 2 ||
        (in->shape.rank == 2 && in->shape.dims[0] != 1))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input that is not a row of strings");
    if (!lower && !upper && !asc_onnx_attr_is(c, "case_change_action", "NONE", "NONE"))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an unknown case_change_action");
    int64_t n = asc_shape_elems(&in->shape), kept = 0;
    asc_view *text = asc_onnx_memory(c, (size_t)n + 1, sizeof *text);
    for (int64_t i = 0; i < n && text != NULL && c->st == ASC_OK; i++) {
        asc_view word = in->strings[i],
                 folded = sensitive || stop == NULL ? word : lower_or_upper(c, word, false);
        bool drop = false;
        for (size_t k = 0; stop != NULL && k < stop->n && !drop; k++) {
            asc_view other = sensitive ? stop->strings[k] : lower_or_upper(c, stop->strings[k], false);
            drop = asc_view_eq(other, folded);
        }
        if (!drop) text[kept++] = lower || upper ? lower_or_upper(c, word, upper) : word;
    }
    if (c->st != ASC_OK) return c->st;
    if (kept == 0) text[kept++] = asc_view_of("");
    *out = (asc_onnx_value){.kind = ASC_ONNX_STRINGS, .elem = ASC_ONNX_STRING, .strings = text};
    out->shape = in->shape.rank == 2 ? ASC_SHAPE(1, kept) : ASC_SHAPE(kept);
    return asc_onnx_set_value(c, 0, out);
}

/* The words of one row, or of the pool: numbers or strings. */
typedef struct words {
    const double *numbers;
    const int64_t *ints;
    const asc_view *strings;
} words;

static bool same_word(const words *a, int64_t i, const words *b, int64_t j) {
    if (a->strings != NULL || b->strings != NULL)
        return a->strings != NULL && b->strings != NULL && asc_view_eq(a->strings[i], b->strings[j]);
    double x = a->numbers != NULL ? a->numbers[i] : (double)a->ints[i];
    double y = b->numbers != NULL ? b->numbers[j] : (double)b->ints[j];
    return x == y;
}

typedef struct vectorizer {
    words pool;
    int64_t pool_size, shortest, longest, skips, n_columns;
    const asc_onnx_attr *starts, *columns, *weights; /* ngram_counts, ngram_indexes, weights */
    char mode;                                       /* 'T'F, 'I'DF, 'B'oth */
} vectorizer;

/* Counts the n-grams of length `len` of one row of `n` words; skip s reads every (s + 1)th word. */
static void count_grams(const vectorizer *v, const words *row, int64_t n, int64_t len, double *out) {
    int64_t from = v->starts->ints[len - 1], gram = 0;
    int64_t to = len < (int64_t)v->starts->n ? v->starts->ints[len] : v->pool_size;
    for (int64_t l = 1; l < len; l++) gram += (v->starts->ints[l] - v->starts->ints[l - 1]) / l;
    for (int64_t at = from; at + len <= to; at += len, gram++) {
        double count = 0;
        for (int64_t skip = 0; skip <= (len == 1 ? 0 : v->skips); skip++) {
            for (int64_t i = 0; i + (len - 1) * (skip + 1) < n; i++) {
                int64_t k = 0;
                while (k < len && same_word(row, i + k * (skip + 1), &v->pool, at + k)) k++;
                count += k == len;
            }
        }
        double w = v->weights != NULL ? v->weights->floats[gram] : 1;
        out[v->columns->ints[gram]] = v->mode == 'T'   ? count
                                      : v->mode == 'I' ? (count > 0 ? w : 0)
                                                       : count * w;
    }
}

static bool read_vectorizer(asc_onnx_call *c, vectorizer *v) {
    const asc_onnx_attr *ints = asc_onnx_attr_find(c, "pool_int64s"),
                        *text = asc_onnx_attr_find(c, "pool_strings");
    v->starts = asc_onnx_attr_find(c, "ngram_counts");
    v->columns = asc_onnx_attr_find(c, "ngram_indexes");
    v->weights = asc_onnx_attr_find(c, "weights");
    v->shortest = asc_onnx_attr_int(c, "min_gram_length", 1);
    v->longest = asc_onnx_attr_int(c, "max_gram_length", 1);
    v->skips = asc_onnx_attr_int(c, "max_skip_count", 0);
    v->mode = asc_onnx_attr_is(c, "mode", "TF", "TF")    ? 'T'
              : asc_onnx_attr_is(c, "mode", "TF", "IDF") ? 'I'
                                                         : 'B';
    const asc_onnx_attr *pool = ints != NULL ? ints : text;
    bool ok = pool != NULL && v->starts != NULL && v->columns != NULL && v->starts->ints != NULL &&
              v->columns->ints != NULL && v->shortest >= 1 && v->longest >= v->shortest &&
              v->longest <= (int64_t)v->starts->n && v->skips >= 0 && v->skips <= 1 << 16;
    if (ok) {
        v->pool = (words){.ints = pool->ints, .strings = ints == NULL ? pool->strings : NULL};
        v->pool_size = (int64_t)pool->n;
    }
    int64_t grams = 0;
    for (size_t l = 0; ok && l < v->starts->n; l++) {
        int64_t from = v->starts->ints[l], to = l + 1 < v->starts->n ? v->starts->ints[l + 1] : v->pool_size;
        ok = from >= 0 && from <= to && to <= v->pool_size;
        if (ok) grams += (to - from) / (int64_t)(l + 1);
    }
    ok = ok && grams <= (int64_t)v->columns->n && (v->weights == NULL || (int64_t)v->weights->n >= grams);
    for (size_t i = 0; ok && i < v->columns->n; i++) {
        ok = v->columns->ints[i] >= 0 && v->columns->ints[i] < 1 << 24;
        if (ok && v->columns->ints[i] >= v->n_columns) v->n_columns = v->columns->ints[i] + 1;
    }
    if (!ok) asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "attributes that do not fit each other");
    return ok;
}

asc_status asc_onnx_TfIdfVectorizer(asc_onnx_call *c) {
    vectorizer v = {.n_columns = 0};
    asc_onnx_value *in = asc_onnx_in(c, 0);
    asc_shape s = in->shape;
    if (c->st != ASC_OK || !read_vectorizer(c, &v)) return c->st;
    if (s.rank < 1 || s.rank > 2)
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "an input of %d dimensions", s.rank);
    int64_t rows = s.rank == 2 ? s.dims[0] : 1, n = s.dims[s.rank - 1];
    bool text = in->kind == ASC_ONNX_STRINGS;
    const double *numbers = text ? NULL : asc_onnx_doubles(c, 0);
    if (rows > ASC_ONNX_MAX_ELEMS / (v.n_columns + 1))
        return asc_onnx_fail(c, ASC_RESOURCE_EXHAUSTED, "%lld rows", (long long)rows);
    double *out = asc_onnx_memory(c, (size_t)(rows * v.n_columns), sizeof *out);
    if (out == NULL || (!text && numbers == NULL)) return c->st;
    for (int64_t r = 0; r < rows; r++) {
        words row = {.numbers = text ? NULL : numbers + r * n, .strings = text ? in->strings + r * n : NULL};
        for (int64_t len = v.shortest; len <= v.longest; len++)
            count_grams(&v, &row, n, len, out + r * v.n_columns);
    }
    return asc_onnx_set_host(c, 0, s.rank == 2 ? ASC_SHAPE(rows, v.n_columns) : ASC_SHAPE(v.n_columns), out,
                             ASC_ONNX_FLOAT);
}
