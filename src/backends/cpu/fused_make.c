/* fused_make.c - decides everything about a region once: the size of its tiles, where values live that have
 * no storage, how each node treats a tile. */
#include "fused.h"
#include "kutil.h"

enum {
    TILE_ELEMS =
        ASC_K_BLOCK,   /* of the widest value in a tile: 32 KB, so that a few of them stay in the L2 cache */
    TILES_A_THREAD = 4 /* at least, when the region is that large: threads end together */
};

typedef struct maker {
    asc_ctx *ctx;
    const asc_kernel_index *index;
    const asc_program *p;
    const asc_plan *plan;
    const asc_region *r;
    asc_fused *f;
    size_t where[ASC_REGION_MAX_NODES];     /* offset of each value that lives in the tile */
    size_t last_read[ASC_REGION_MAX_NODES]; /* of it or of a view of it, as an index of the region */
    size_t root[ASC_REGION_MAX_NODES];      /* the value whose bytes it shares; itself */
} maker;

static bool in_tile(const maker *m, int32_t node) { return m->plan->slots[node].place == ASC_PLACE_TILE; }

static int64_t width_of(const maker *m, int32_t node) {
    return asc_shape_elems(&m->p->nodes[node].shape) / m->r->rows;
}

/* Elements of the widest value that goes by rows. */
static int64_t widest(const maker *m) {
    int64_t most = 1;
    for (size_t k = m->r->first; k <= m->r->last; k++) {
        const asc_node *n = &m->p->nodes[k];
        const int64_t w =
            n->op->opcode == ASC_OPCODE_SWIGLU_GRAD ? width_of(m, n->in[0]) : width_of(m, (int32_t)k);
        most = asc_kmax(most, w);
        for (int i = 0; i < n->n_in; i++) {
            if (asc_region_reads(m->p, n, i, m->r->rows) == ASC_READS_ROWS)
                most = asc_kmax(most, width_of(m, n->in[i]));
        }
    }
    return most;
}

static void cut_tiles(const maker *m) {
    asc_fused *f = m->f;
    double ns = 0; /* of the steps: a product wakes its threads by itself */
    for (size_t k = m->r->first + (m->r->product ? 1 : 0); k <= m->r->last; k++) {
        asc_call c;
        asc_node_call(m->p, &m->p->nodes[k], &c);
        ns += asc_cpu_call_ns(&c);
    }
    f->rows = m->r->rows;
    f->n_threads = ns < ASC_CPU_SMALL_NS ? 1 : m->ctx->n_threads;
    f->tile_rows = asc_kmax(1, TILE_ELEMS / widest(m));
    if (f->n_threads > 1)
        f->tile_rows = asc_kmin(f->tile_rows, asc_kceil(f->rows, (int64_t)TILES_A_THREAD * f->n_threads));
    f->tile_rows = asc_kmin(f->tile_rows, f->rows);
    f->n_tiles = asc_kceil(f->rows, f->tile_rows);
    f->width = m->r->product ? width_of(m, (int32_t)m->r->first) : 0;
}

/* Which values share bytes, and until when each is read. */
static void find_lives(maker *m) {
    const size_t first = m->r->first, n = m->r->last - first + 1;
    for (size_t k = 0; k < n; k++) {
        const asc_node *node = &m->p->nodes[first + k];
        m->root[k] = m->last_read[k] = k;
        if (node->op->opcode == ASC_OPCODE_RESHAPE && in_tile(m, (int32_t)(first + k)) &&
            in_tile(m, node->in[0]))
            m->root[k] = m->root[(size_t)node->in[0] - first];
        for (int i = 0; i < node->n_in; i++) {
            if (in_tile(m, node->in[i])) m->last_read[m->root[(size_t)node->in[i] - first]] = k;
        }
        m->last_read[m->root[k]] = k;
    }
}

/* Offsets of the values in the tile: each takes the first gap among those that are still to be read. */
static void place_values(maker *m) {
    const size_t first = m->r->first, n = m->r->last - first + 1;
    size_t begin[ASC_REGION_MAX_NODES], end[ASC_REGION_MAX_NODES], live[ASC_REGION_MAX_NODES], n_live = 0,
                                                                                               total = 0;
    for (size_t k = 0; k < n; k++) {
        if (!in_tile(m, (int32_t)(first + k))) continue;
        if (m->root[k] != k) {
            m->where[k] = m->where[m->root[k]];
            continue;
        }
        const size_t bytes = (size_t)(m->f->tile_rows * width_of(m, (int32_t)(first + k))) * sizeof(float);
        size_t kept = 0, from = 0;
        for (size_t i = 0; i < n_live; i++) { /* what this node reads last is still there while it writes */
            if (m->last_read[live[i]] >= k) live[kept++] = live[i];
        }
        n_live = kept;
        for (size_t i = 0; i < n_live; i++) { /* sorted by offset */
            if (begin[live[i]] >= from + bytes + 64) break;
            from = end[live[i]];
        }
        begin[k] = m->where[k] = from;
        end[k] = (from + bytes + 64 + 63) & ~(size_t)63; /* slack for kernels that read vectors */
        total = end[k] > total ? end[k] : total;
        size_t at = n_live++;
        for (; at > 0 && begin[live[at - 1]] > from; at--) live[at] = live[at - 1];
        live[at] = k;
    }
    m->f->scratch_at = m->f->tile_bytes = total;
}

static asc_fused_array array_of(const maker *m, int32_t node, asc_reads how, int64_t width) {
    const int64_t elems = asc_shape_elems(&m->p->nodes[node].shape);
    const int64_t w = how == ASC_READS_ROWS ? elems / m->r->rows : elems;
    asc_fused_array a = {.node = node, .in_tile = in_tile(m, node), .step = w == width ? 1 : w == 1 ? 0 : -1};
    if (how == ASC_READS_ROWS) a.row_bytes = (size_t)w * sizeof(float);
    if (a.in_tile) a.offset = m->where[(size_t)node - m->r->first];
    /* the product's own result is in a cache, and so is what lies over it or over an operand */
    a.fetch = !a.in_tile && how == ASC_READS_ROWS && a.step != 0 && (size_t)node != m->r->first &&
              m->plan->slots[node].place != ASC_PLACE_INPLACE;
    return a;
}

/* The call with its rows replaced by those of a tile: the other leading axes become 1, so that axes keep
 * their numbers. */
static void cut_shape(asc_shape *s, int64_t rows, int64_t tile_rows) {
    const int q = asc_region_axes(s, rows);
    for (int axis = 0; axis < q; axis++) s->dims[axis] = axis == q - 1 ? tile_rows : 1;
}

static asc_call tile_call(const maker *m, const asc_node *n, int64_t tile_rows) {
    asc_call c;
    asc_node_call(m->p, n, &c);
    for (int i = 0; i < n->n_in; i++) {
        if (asc_region_reads(m->p, n, i, m->r->rows) == ASC_READS_ROWS)
            cut_shape(&c.in_shape[i], m->r->rows, tile_rows);
    }
    cut_shape(&c.shape, m->r->rows, tile_rows);
    return c;
}

static void find_strip(const asc_kernel *k, const asc_op *op, asc_fused_step *s) {
    s->strip = k != NULL ? k->strip : NULL;
    for (int i = 0; i < 2; i++) {
        s->slot[i] = -1;
        if (s->strip == NULL || k->strip_attr[i] == NULL) continue;
        for (int j = 0; j < op->n_attrs; j++) {
            if (strcmp(op->attrs[j].name, k->strip_attr[i]) == 0) s->slot[i] = op->attrs[j].slot;
        }
    }
}

static void need_scratch(const maker *m, const asc_kernel *k, const asc_call *c) {
    size_t bytes = k == NULL ? asc_cpu_fallback_scratch(c) : k->scratch != NULL ? k->scratch(c, 1) : 0;
    if (bytes > m->f->tile_bytes - m->f->scratch_at) m->f->tile_bytes = m->f->scratch_at + bytes;
}

static void make_step(const maker *m, size_t node) {
    const asc_node *n = &m->p->nodes[node];
    const asc_place place = m->plan->slots[node].place;
    const bool pair = n->op->opcode == ASC_OPCODE_SWIGLU_GRAD;
    if (n->op->opcode == ASC_OPCODE_RESHAPE && (place == ASC_PLACE_ALIAS || place == ASC_PLACE_TILE)) return;
    asc_fused_step *s = &m->f->steps[m->f->n_steps++];
    asc_call c;
    asc_node_call(m->p, n, &c);
    const asc_kernel *k = asc_kernel_index_pick(m->index, &c, (asc_isa)m->ctx->isa);
    *s = (asc_fused_step){.n_in = n->n_in, .attrs = &n->attrs, .flat = true};
    s->run = k != NULL ? k->run : asc_cpu_fallback_run;
    s->width = width_of(m, (int32_t)node);
    if (pair) {
        s->width /= 2;
        s->half =
            (size_t)(s->width * (place == ASC_PLACE_TILE ? m->f->tile_rows : m->r->rows)) * sizeof(float);
    }
    find_strip(k, n->op, s);
    s->kind = s->strip != NULL ? ASC_FUSED_STRIP : ASC_FUSED_CALL;
    for (int i = 0; i < n->n_in; i++) {
        const asc_reads how = asc_region_reads(m->p, n, i, m->r->rows);
        s->in[i] = array_of(m, n->in[i], how, s->width);
        if (s->in[i].step < 0) s->kind = ASC_FUSED_CALL;
        const bool along = how == ASC_READS_ROWS && s->in[i].step == 1,
                   one = s->in[i].row_bytes == 0 && s->in[i].step == 0;
        if (!along && !one) s->flat = false;
    }
    s->out = array_of(m, (int32_t)node, ASC_READS_ROWS, s->width);
    if (pair) s->out.row_bytes /= 2;
    if (n->op->opcode == ASC_OPCODE_RESHAPE) s->kind = ASC_FUSED_COPY;
    if (s->kind != ASC_FUSED_CALL) return;
    m->f->by_columns = true;
    s->call = tile_call(m, n, m->f->tile_rows);
    s->rest = tile_call(m, n, m->f->rows - (m->f->n_tiles - 1) * m->f->tile_rows);
    need_scratch(m, k, &s->call);
}

asc_status asc_fused_make(asc_ctx *ctx, const asc_kernel_index *index, const asc_program *p,
                          const asc_plan *plan, const asc_region *region, asc_fused **out) {
    const size_t n = region->last - region->first + 1;
    maker m = {.ctx = ctx, .index = index, .p = p, .plan = plan, .r = region};
    *out = m.f = asc_calloc(ctx, ASC_MEM_PROGRAM, 1, sizeof *m.f + n * sizeof m.f->steps[0]);
    if (m.f == NULL)
        return ASC_FAIL(ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: a fused region of %zu nodes", n);
    cut_tiles(&m);
    find_lives(&m);
    place_values(&m);
    for (size_t k = region->first + (region->product ? 1 : 0); k <= region->last; k++) make_step(&m, k);
    m.f->tile_bytes =
        (m.f->tile_bytes + 4096 + 63) & ~(size_t)63; /* apart, so that threads do not share pages */
    return ASC_OK;
}
