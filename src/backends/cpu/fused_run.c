/* fused_run.c - the executor of fused regions: tiles of rows, or parts of a matrix product's result, through
 * all steps. One parallel loop a region, one thread inside a tile; nothing is decided here. */
#include "fused.h"
#include "kutil.h"

typedef struct place {
    void *const *data;
    uint8_t *tile;  /* this thread's storage */
    int64_t row;    /* first row */
    int64_t n0, n1; /* columns of a product's part; n1 = 0: whole rows */
} place;

static inline uint8_t *at(const asc_fused_array *a, const place *p) {
    const size_t skip = a->step != 0 ? (size_t)p->n0 * sizeof(float) : 0;
    if (a->in_tile) return p->tile + a->offset + skip;
    return (uint8_t *)p->data[a->node] + (size_t)p->row * a->row_bytes + skip;
}

/* For kernels without strip: a call on vectors. */
static void call_strip(const asc_fused_step *s, const asc_strip *a) {
    asc_call c = s->call;
    asc_kargs args = {.call = &c, .out = a->y, .n_threads = 1};
    c.shape = ASC_SHAPE(a->n);
    for (int k = 0; k < s->n_in && k < 3; k++) {
        c.in_shape[k] = ASC_SHAPE(a->step[k] == 0 ? 1 : a->n);
        args.in[k] = a->in[k];
    }
    s->run(&args);
}

/* A step over n_rows rows by strips. */
static void strips(const asc_fused_step *s, const place *p, int64_t n_rows) {
    asc_strip a = {.n = p->n1 > 0 ? p->n1 - p->n0 : s->width};
    uint8_t *in[3] = {0}, *y = at(&s->out, p);
    for (int k = 0; k < 2; k++) {
        if (s->slot[k] >= 0) a.s[k] = (float)s->attrs->f[s->slot[k]];
    }
    for (int k = 0; k < s->n_in && k < 3; k++) {
        a.step[k] = s->in[k].step;
        in[k] = at(&s->in[k], p);
    }
    if (s->flat && p->n1 == 0) {
        a.n = n_rows * s->width;
        n_rows = 1;
    }
    for (int64_t r = 0; r < n_rows; r++) {
        for (int k = 0; k < 3; k++) a.in[k] = (const float *)(const void *)in[k];
        a.y = (float *)(void *)y;
        a.y2 = s->half > 0 ? (float *)(void *)(y + s->half) : NULL;
        if (s->strip != NULL)
            s->strip(&a);
        else
            call_strip(s, &a);
        for (int k = 0; k < s->n_in && k < 3; k++) in[k] += s->in[k].row_bytes;
        y += s->out.row_bytes;
    }
}

static void copy(const asc_fused_step *s, const place *p, int64_t n_rows) {
    const uint8_t *from = at(&s->in[0], p);
    uint8_t *to = at(&s->out, p);
    size_t bytes = (size_t)(p->n1 - p->n0) * sizeof(float);
    if (to == from) return;
    if (p->n1 == 0) {
        bytes = (size_t)n_rows * s->out.row_bytes;
        n_rows = 1;
    }
    for (int64_t r = 0; r < n_rows; r++, from += s->in[0].row_bytes, to += s->out.row_bytes)
        memcpy(to, from, bytes);
}

/* All steps over n_rows rows, at most a tile's. */
static void rows(const asc_fused *f, const place *p, int64_t n_rows) {
    for (size_t i = 0; i < f->n_steps; i++) {
        const asc_fused_step *s = &f->steps[i];
        if (s->kind == ASC_FUSED_COPY) {
            copy(s, p, n_rows);
        } else if (s->kind == ASC_FUSED_STRIP || p->n1 > 0) {
            strips(s, p, n_rows);
        } else {
            asc_kargs a = {.call = n_rows == f->tile_rows ? &s->call : &s->rest,
                           .out = at(&s->out, p),
                           .scratch = p->tile + f->scratch_at,
                           .n_threads = 1};
            for (int k = 0; k < s->n_in; k++) a.in[k] = at(&s->in[k], p);
            s->run(&a);
        }
    }
}

typedef struct job {
    const asc_fused *f;
    void *const *data;
    uint8_t *tiles;
    const asc_fused_post *post; /* NULL = no product leads */
} job;

static void tile_unit(void *self, int64_t u, int thread) {
    const job *j = self;
    const place p = {
        .data = j->data, .tile = j->tiles + (size_t)thread * j->f->tile_bytes, .row = u * j->f->tile_rows};
    rows(j->f, &p, asc_kmin(j->f->tile_rows, j->f->rows - p.row));
}

void asc_fused_run(const asc_fused *f, void *const *data, void *tiles) {
    job j = {.f = f, .data = data, .tiles = tiles};
    asc_kpar(f->n_tiles, f->n_threads, false, tile_unit, &j);
}

/* Rows of a part lie far apart, so the processor does not guess which lines come next; it is told so many
 * rows early. */
enum { ROWS_AHEAD = 3 };

static void fetch_row(const asc_fused *f, void *const *data, int64_t row, int64_t n0, int64_t n1) {
    for (size_t i = 0; i < f->n_steps; i++) {
        const asc_fused_step *s = &f->steps[i];
        for (int k = 0; k <= s->n_in; k++) {
            const asc_fused_array *a = k < s->n_in ? &s->in[k] : &s->out;
            if (!a->fetch) continue;
            const char *from =
                (const char *)data[a->node] + (size_t)row * a->row_bytes + (size_t)n0 * sizeof(float);
            const int64_t bytes = (n1 - n0) * (int64_t)sizeof(float);
            for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + b);
            if (k < s->n_in || s->half == 0) continue;
            for (int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(from + s->half + b);
        }
    }
}

static void block(const asc_epilogue *base, int64_t m0, int64_t m1, int64_t n0, int64_t n1, int thread) {
    const asc_fused_post *post = (const asc_fused_post *)(const void *)base;
    const asc_fused *f = post->fused;
    place p = {.data = post->data, .tile = (uint8_t *)post->tiles + (size_t)thread * f->tile_bytes};
    if (n0 == 0 && n1 == f->width && !f->by_columns) {
        for (p.row = m0; p.row < m1; p.row += f->tile_rows) rows(f, &p, asc_kmin(f->tile_rows, m1 - p.row));
        return;
    }
    const int64_t step = asc_kmin(f->tile_rows, ROWS_AHEAD);
    p.n0 = n0;
    p.n1 = n1;
    for (p.row = m0; p.row < m1; p.row += step) {
        for (int64_t r = p.row + step; r < p.row + 2 * step && r < m1; r++)
            fetch_row(f, post->data, r, n0, n1);
        rows(f, &p, asc_kmin(step, m1 - p.row));
    }
}

asc_fused_post asc_fused_post_of(const asc_fused *f, void *const *data, void *tiles) {
    return (asc_fused_post){.base = {.block = block}, .fused = f, .data = data, .tiles = tiles};
}

static void post_unit(void *self, int64_t u, int thread) {
    const job *j = self;
    const int64_t m0 = u * j->f->tile_rows;
    block(&j->post->base, m0, asc_kmin(m0 + j->f->tile_rows, j->f->rows), 0, j->f->width, thread);
}

void asc_fused_post_all(const asc_fused_post *post) {
    job j = {.f = post->fused, .post = post};
    asc_kpar(j.f->n_tiles, j.f->n_threads, false, post_unit, &j);
}
