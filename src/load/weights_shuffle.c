/* weights_shuffle.c - a model that has learnt nothing, with numbers of the same size: the rows of every
 * matrix of every block change places. What a method says of it should not be what it says of the real one
 * (Adebayo et al., Sanity Checks for Saliency Maps, NeurIPS 2018). */
#include "hash.h"
#include "weights.h"
#include <string.h>

static bool in_block(asc_view name) {
    static const char *const marks[] = {"blk.", "layer.", "layers.", "h."};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        size_t n = strlen(marks[k]);
        for (size_t i = 0; i + n < name.len; i++) {
            bool begins = i == 0 || name.ptr[i - 1] == '.';
            bool number = name.ptr[i + n] >= '0' && name.ptr[i + n] <= '9';
            if (begins && number && memcmp(name.ptr + i, marks[k], n) == 0) return true;
        }
    }
    return false;
}

/* Fisher and Yates, with a stream of draws for each tensor. */
static void permute(uint32_t *order, size_t n, uint64_t seed, uint64_t stream) {
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    for (size_t i = n; i > 1; i--) {
        size_t j = (size_t)(asc_uniform(seed, stream, i) * (double)i);
        uint32_t t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

static asc_status shuffle_one(asc_weights *w, asc_weight *t, uint64_t seed, uint64_t stream) {
    size_t rows = 1, row_bytes, bytes;
    for (int d = 0; d + 1 < t->rank; d++) rows *= (size_t)t->dims[d];
    if (!asc_dtype_bytes(t->dtype, t->dims[t->rank - 1], &row_bytes) ||
        !asc_mul_size(rows, row_bytes, &bytes) || rows > UINT32_MAX)
        return ASC_OK; /* not stored row by row */
    char *copy = asc_alloc(w->ctx, ASC_MEM_WEIGHTS, bytes);
    uint32_t *order = asc_calloc(w->ctx, ASC_MEM_SCRATCH, rows, sizeof *order);
    asc_status st = copy == NULL || order == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
    if (st == ASC_OK)
        st = asc_grow(w->ctx, ASC_MEM_WEIGHTS, (void **)&w->copies, &w->cap_copies, w->n_copies + 1,
                      sizeof *w->copies);
    if (st == ASC_OK) {
        permute(order, rows, seed, stream);
        for (size_t i = 0; i < rows; i++)
            memcpy(copy + i * row_bytes, (const char *)t->data + order[i] * row_bytes, row_bytes);
        w->copies[w->n_copies++] = copy;
        t->data = copy;
    } else {
        asc_free(w->ctx, copy);
    }
    asc_free(w->ctx, order);
    return st;
}

asc_status asc_weights_shuffle(asc_weights *w, uint64_t seed) {
    asc_status st = asc_weights_check(w);
    for (size_t i = 0; st == ASC_OK && i < w->n; i++) {
        asc_weight *t = &w->v[i];
        if (t->rank >= 2 && in_block(t->name)) st = shuffle_one(w, t, seed, i);
    }
    return st;
}
