/* generate_bytes.c - what a generation needs at most, from sizes alone: a server asks it for every request,
 * so nothing is recorded or planned. The stores of keys and values are counted exactly; the rest by formulas
 * that are a little more than what plans of decoders came to (tests/models/test_generate_bytes.c). */
#include "ctx.h"
#include "kept_keys.h"
#include "model.h"
#include <string.h>

/* Rows of keys and values that are there at once: a store that grows exists twice, and so do the rows of the
 * prompt's run, which are computed before they are appended (or what a prompt before this one left). */
static int64_t most_rows(int64_t n, int64_t last, int64_t *n_rooms) {
    int64_t room = asc_kept_keys_room(n), most = 2 * room;
    for (*n_rooms = 1; room < last; ++*n_rooms) {
        const int64_t next = asc_kept_keys_room(room + 1);
        if (room + next > most) most = room + next;
        room = next;
    }
    return most;
}

size_t asc_generate_bytes(const asc_model *m, size_t n, size_t max_tokens) {
    enum { MOST = INT32_MAX / 2, PROGRAM = 64 << 10, OTHERS = 1 << 20, PROGRAMS = 64 << 20 };
    const asc_decoder_config *c = &m->decoder.cfg;
    if (m->kind != ASC_MODEL_DECODER) return 0;
    if (n > MOST || max_tokens > MOST - n) return SIZE_MAX;
    int64_t n_rooms;
    const double rows = (double)most_rows((int64_t)n, (int64_t)(n + max_tokens), &n_rooms);
    const double width = (double)(c->n_kv * c->head_dim), d = (double)m->info.d_model,
                 ff = (double)m->info.d_ff;
    /* a layer's keys and values; one of zeros, that a new store is made of */
    const double stores = (2.0 * (double)c->n_layers + 1.0) * width * rows * sizeof(float);
    /* op by op, values stay for later ones of their size */
    const double each = strcmp(m->ctx->mode_name, "eager") == 0 ? 2.0 : 1.0;
    const double run = each * (16.0 * d + 4.0 * ff) * (double)n * sizeof(float),
                 logits = 64.0 * (double)c->n_vocab;
    const double scratch = 2048.0 * (d + ff) + 8.0 * d * (double)n;
    double programs = (double)(2 + n_rooms) * (double)c->n_layers * PROGRAM;
    if (programs > PROGRAMS) programs = PROGRAMS; /* what the cache of a context keeps */
    const double all = stores + run + logits + scratch + programs + OTHERS;
    return all < 0x1p60 ? (size_t)all : SIZE_MAX;
}
