/* emulate.c - see emulate.h. A piece is taken off by Veltkamp's splitting (Dekker, A floating-point technique
 * for extending the available precision, 1971): with c = (2^16 + 1) x, c - (c - x) is x rounded to 24 - 16 =
 * 8 bits. */
#include "emulate.h"
#include "rewrite.h"

enum { PIECES = 3, FACTOR = 65537 };

/* Makes pieces of new nodes; what was split before is not split again. */
typedef struct splitter {
    asc_rewrite rw;
    int32_t (*pieces)[PIECES]; /* [n] by new node; 0 = not made, since node 0 is never one */
    size_t n;
    bool only_int8; /* leave all other levels, and what devices have int8 kernels for */
    int32_t origin;
    const char *label;
} splitter;

static int32_t add(splitter *s, asc_opcode op, int32_t a, int32_t b, const asc_attrs *attrs) {
    asc_node n = {
        .op = asc_ops[op], .n_in = b >= 0 ? 2 : 1, .in = {a, b}, .origin = s->origin, .label = s->label};
    if (attrs != NULL) n.attrs = *attrs;
    return asc_rewrite_add(&s->rw, &n);
}

/* x rounded to 8 bits. The factor is a number clipped from both sides: passes may not read run-time scalars.
 */
static int32_t rounded(splitter *s, int32_t x) {
    const asc_attrs factor = {.f = {FACTOR, FACTOR}};
    int32_t k = add(s, ASC_OPCODE_CLIP, x, -1, &factor);
    int32_t c = k < 0 ? k : add(s, ASC_OPCODE_MUL, x, k, NULL);
    int32_t d = c < 0 ? c : add(s, ASC_OPCODE_SUB, c, x, NULL);
    return d < 0 ? d : add(s, ASC_OPCODE_SUB, c, d, NULL);
}

/* Pieces 0 .. count - 1 of x. False on failure. */
static bool split(splitter *s, int32_t x, int count, int32_t out[PIECES]) {
    if ((size_t)x >= s->n) {
        size_t have = s->n;
        if (asc_grow(s->rw.ctx, ASC_MEM_PROGRAM, (void **)&s->pieces, &s->n, (size_t)x + 1,
                     sizeof *s->pieces) != ASC_OK)
            return false;
        for (size_t i = have; i < s->n; i++) s->pieces[i][0] = s->pieces[i][1] = s->pieces[i][2] = 0;
    }
    int32_t made[PIECES], rest = x;
    for (int i = 0; i < PIECES; i++) made[i] = s->pieces[x][i];
    for (int i = 0; i < count; i++) {
        if (i > 0) rest = add(s, ASC_OPCODE_SUB, rest, made[i - 1], NULL);
        if (rest < 0) return false;
        if (made[i] == 0) made[i] = i < PIECES - 1 ? rounded(s, rest) : rest; /* 8 bits are left */
        if (made[i] < 0) return false;
    }
    for (int i = 0; i < PIECES; i++) s->pieces[x][i] = out[i] = made[i];
    return true;
}

static int pieces_of(asc_precision level) {
    return level == ASC_PRECISION_MEDIUM ? 1 : level == ASC_PRECISION_HIGH ? 2 : 3;
}

/* The node's product of piece i and piece j; its bias, if any, joins the first. */
static int32_t term(splitter *s, const asc_node *n, const int32_t *a, const int32_t *b, int i, int j) {
    asc_node t = *n;
    t.in[0] = a[i];
    t.in[1] = b[j];
    t.level = ASC_PRECISION_HIGHEST;
    if ((i > 0 || j > 0) && t.n_in == 3) t.n_in = 2;
    if ((i > 0 || j > 0) && asc_node_is(n, ASC_OPCODE_MATMUL_BIAS)) t.op = asc_ops[ASC_OPCODE_MATMUL];
    return asc_rewrite_add(&s->rw, &t);
}

/* Small terms first. -1 on failure. */
static int32_t product(splitter *s, const asc_node *n, asc_precision level) {
    static const int order[][2] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}}; /* lh hl mm mh hm hh */
    int32_t a[PIECES], b[PIECES], sum = -1;
    int count = pieces_of(level), first = count == 1 ? 5 : count == 2 ? 3 : 0;
    if (!split(s, n->in[0], count, a) || !split(s, n->in[1], count, b)) return -1;
    for (int i = first; i < 6; i++) {
        int32_t t = term(s, n, a, b, order[i][0], order[i][1]);
        if (t < 0) return -1;
        sum = sum < 0 ? t : add(s, ASC_OPCODE_ADD, sum, t, NULL);
        if (sum < 0) return -1;
    }
    return sum;
}

/* x on a grid of 127 steps to the largest number along the axes of `mask`. -1 on failure. */
static int32_t on_grid(splitter *s, int32_t x, unsigned mask) {
    const asc_attrs steps = {.f = {127, 127}}, least = {.f = {1e-30, 1e-30}}; /* rows of zeros stay zeros */
    int32_t m = add(s, ASC_OPCODE_ABS, x, -1, NULL);
    for (int axis = 0; m >= 0 && axis < s->rw.p->nodes[x].shape.rank; axis++) {
        const asc_attrs along = {.i = {axis, true}};
        if ((mask >> axis & 1) != 0) m = add(s, ASC_OPCODE_MAX, m, -1, &along);
    }
    int32_t k = m < 0 ? m : add(s, ASC_OPCODE_CLIP, m, -1, &steps);
    int32_t step = k < 0 ? k : add(s, ASC_OPCODE_DIV, m, k, NULL);
    int32_t floor = step < 0 ? step : add(s, ASC_OPCODE_CLIP, m, -1, &least);
    step = floor < 0 ? floor : add(s, ASC_OPCODE_MAXIMUM, step, floor, NULL);
    int32_t q = step < 0 ? step : add(s, ASC_OPCODE_DIV, x, step, NULL);
    q = q < 0 ? q : add(s, ASC_OPCODE_ROUND, q, -1, NULL);
    return q < 0 ? q : add(s, ASC_OPCODE_MUL, q, step, NULL);
}

/* A scale for each row of a matrix product's left factor and each column of its right one; of a convolution
 * for each example and each output channel; of its gradients for each factor. */
static int32_t product_int8(splitter *s, asc_node n) {
    const asc_node *x = &s->rw.p->nodes[n.in[0]], *w = &s->rw.p->nodes[n.in[1]];
    unsigned a = ~0u, b = ~0u;
    if (asc_node_is(&n, ASC_OPCODE_CONV)) {
        a = b = ~1u;
    } else if (n.op->fuse == ASC_FUSE_GEMM) {
        a = 1u << (x->shape.rank - (n.attrs.i[0] != 0 ? 2 : 1));
        b = 1u << (w->shape.rank - (n.attrs.i[1] != 0 ? 1 : 2));
    }
    n.in[0] = on_grid(s, n.in[0], a);
    n.in[1] = n.in[0] < 0 ? -1 : on_grid(s, n.in[1], b);
    n.level = ASC_PRECISION_HIGHEST;
    return n.in[1] < 0 ? -1 : asc_rewrite_add(&s->rw, &n);
}

/* Attention: q, k, v and (the gradient's) g; y only says how large the weights' sum is. */
static int32_t attention(splitter *s, asc_node n, asc_precision level) {
    for (int i = 0; i < n.n_in; i++) {
        int32_t p[PIECES], sum;
        if (s->rw.p->nodes[n.in[i]].dtype != ASC_DTYPE_F32) continue; /* a tree's parents and positions */
        if (asc_node_is(&n, ASC_OPCODE_SDPA_GRAD) && i == 3) continue;
        int count = pieces_of(level);
        if (count == PIECES) break; /* all of f32 */
        if (!split(s, n.in[i], count, p)) return -1;
        sum = count == 1 ? p[0] : add(s, ASC_OPCODE_ADD, p[0], p[1], NULL);
        if (sum < 0) return -1;
        n.in[i] = sum;
    }
    return asc_rewrite_add(&s->rw, &n);
}

static bool is_product(const asc_node *n) {
    return n->op != NULL && (n->op->fuse == ASC_FUSE_GEMM || asc_node_is(n, ASC_OPCODE_CONV_GRAD_INPUT) ||
                             asc_node_is(n, ASC_OPCODE_CONV_GRAD_WEIGHT));
}

static bool is_attention(const asc_node *n) {
    return asc_node_is(n, ASC_OPCODE_SDPA) || asc_node_is(n, ASC_OPCODE_SDPA_GRAD) ||
           asc_node_is(n, ASC_OPCODE_SDPA_TREE);
}

/* Devices have int8 kernels for a product with one matrix. */
static bool has_kernel(const asc_program *p, const asc_node *n) {
    const asc_shape *x = &p->nodes[n->in[0]].shape, *w = &p->nodes[n->in[1]].shape;
    return (asc_node_is(n, ASC_OPCODE_MATMUL) || asc_node_is(n, ASC_OPCODE_MATMUL_BIAS)) &&
           n->attrs.i[0] == 0 && x->rank >= 2 && w->rank == 2;
}

static asc_status visit(splitter *s, size_t k, asc_precision level) {
    asc_node n = asc_rewrite_node(&s->rw, k);
    asc_precision own = n.op != NULL && n.op->fuse == ASC_FUSE_GEMM ? n.level : level;
    bool any =
        own != ASC_PRECISION_HIGHEST && (is_product(&n) || (is_attention(&n) && own != ASC_PRECISION_INT8));
    if (s->only_int8 && own != ASC_PRECISION_INT8) any = false;
    int32_t to;
    s->origin = n.origin;
    s->label = n.label;
    if (!any) {
        to = asc_program_add(s->rw.p, &n);
    } else if (is_attention(&n)) {
        to = attention(s, n, own);
    } else if (s->rw.p->nodes[n.in[1]].dtype != ASC_DTYPE_F32 || (s->only_int8 && has_kernel(s->rw.p, &n))) {
        n.many_rows = true;
        n.pieces = own != ASC_PRECISION_INT8; /* which devices never make finer */
        to = asc_program_add(s->rw.p, &n);
    } else if (own == ASC_PRECISION_INT8) {
        to = product_int8(s, n);
    } else {
        to = product(s, &n, own);
    }
    s->rw.n_done += any;
    if (to >= 0 && asc_rewrite_map(&s->rw, k, to)) return ASC_OK;
    return s->rw.ctx->error.code != ASC_OK ? s->rw.ctx->error.code : ASC_RESOURCE_EXHAUSTED;
}

static asc_status rewrite(asc_ctx *ctx, asc_program *p, asc_precision level, bool only_int8) {
    splitter s = {.only_int8 = only_int8};
    asc_status st = asc_rewrite_begin(ctx, p, &s.rw);
    for (size_t k = 0; st == ASC_OK && k < s.rw.n_old; k++) st = visit(&s, k, level);
    st = asc_rewrite_end(&s.rw, st);
    asc_free(ctx, s.pieces);
    return st == ASC_OK ? asc_program_verify(ctx, p) : st;
}

asc_status asc_program_emulate(asc_ctx *ctx, asc_program *p, asc_precision level) {
    return rewrite(ctx, p, level, false);
}

asc_status asc_program_keep_int8(asc_ctx *ctx, asc_program *p) {
    for (size_t i = 0; i < p->n_nodes; i++) {
        const asc_node *n = &p->nodes[i];
        if (n->op != NULL && n->op->fuse == ASC_FUSE_GEMM && n->level == ASC_PRECISION_INT8)
            return rewrite(ctx, p, ASC_PRECISION_HIGHEST, true);
    }
    return ASC_OK;
}
