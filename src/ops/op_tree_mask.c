/* tree_mask: which keys of a tree each of its last R keys sees: itself and its ancestors, with a window W > 0
 * up to the first that stands W or more positions before it. What sdpa_tree is decomposed with. Any numbers
 * are a tree: a parent that is not before its child counts as the key before it. */
#include "attention.h"
#include "move.h"

enum { QUERIES, WINDOW };

static const asc_attr_def attrs[] = {{"queries", ASC_ATTR_INT, QUERIES}, {"window", ASC_ATTR_INT, WINDOW}};

asc_tensor *asc_tree_mask(asc_ctx *ctx, asc_tensor *parent, asc_tensor *pos, int64_t queries,
                          int64_t window) {
    const asc_attrs at = {.i = {queries, window}};
    return asc_apply(ctx, &asc_op_tree_mask, &at, (asc_tensor *[]){parent, pos}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    for (int k = 0; k < 2; k++) {
        asc_status st = asc_infer_need_i32(ctx, c, k);
        if (st != ASC_OK) return st;
        if (c->in_shape[k].rank != 1) return asc_infer_fail(ctx, c, "parents and positions are of rank 1");
    }
    const int64_t keys = c->in_shape[0].dims[0], queries = c->attrs->i[QUERIES];
    if (c->in_shape[1].dims[0] != keys)
        return asc_infer_fail(ctx, c, "parents and positions differ in number");
    if (queries < 0 || queries > keys)
        return asc_infer_fail(ctx, c, "%lld queries of %lld keys", (long long)queries, (long long)keys);
    if (c->attrs->i[WINDOW] < 0) return asc_infer_fail(ctx, c, "the window is negative");
    c->dtype = ASC_DTYPE_F32;
    c->shape = ASC_SHAPE(queries, keys);
    return ASC_OK;
}

static void ref(const asc_ref_args *a) {
    const asc_nd *parent = &a->in[0], *pos = &a->in[1];
    const int64_t keys = parent->dims[0], queries = a->out.dims[0];
    asc_nd_fill(&a->out, 0);
    for (int64_t r = 0; r < queries; r++) {
        const double at = pos->data[(keys - queries + r) * pos->strides[0]];
        double *y = a->out.data + r * a->out.strides[0];
        for (int64_t i = keys - queries + r; i >= 0;
             i = asc_tree_up(parent->data[i * parent->strides[0]], i)) {
            if (i != keys - queries + r &&
                !asc_tree_near(at, pos->data[i * pos->strides[0]], a->attrs->i[WINDOW]))
                break;
            y[i * a->out.strides[1]] = 1;
        }
    }
}

static void cost(const asc_call *c, asc_cost *out) { asc_cost_move(c, out); }

static bool sample(int i, asc_sample *out) {
    static const int64_t keys[] = {5, 1, 9, 4}, queries[] = {5, 1, 4, 0}, windows[] = {0, 1, 3, 0};
    if (i < 0 || i >= (int)(sizeof keys / sizeof keys[0])) return false;
    asc_shape s = ASC_SHAPE(keys[i]);
    *out = (asc_sample){.attrs = {.i = {queries[i], windows[i]}},
                        .n_in = 2,
                        .in_dtype = {ASC_DTYPE_I32, ASC_DTYPE_I32},
                        .in_shape = {s, s},
                        .lo = {-1, 0},
                        .hi = {(double)keys[i], 9},
                        .no_grad = {true, true}};
    return true;
}

const asc_op asc_op_tree_mask = {
    ASC_OP_FIELDS(TREE_MASK, tree_mask, 2, 2),
    .attrs = attrs,
    .n_attrs = 2,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Which keys of a tree, given by each key's parent, its last keys see: themselves and their "
           "ancestors.",
    .formula = "y[r,j] = j is query r or an ancestor of it, nearer than the window",
};
