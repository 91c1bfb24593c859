/* op_random.c - draws of the Philox generator (hash.h), the same on every device: element i in row-major
 * order depends on the seed, the stream and i only. Kind 0 is uniform on [0, 1) with 24 bits, kind 1 standard
 * normal by Box and Muller 1958, rounded to binary32 so that f64 devices hold the same numbers. Seed and
 * stream are run-time parameters: other draws make no other program. The seed comes in two halves of 32 bits,
 * since a double does not hold 64; a parameter that is no whole number in its range counts as 0. No inputs,
 * no gradient. */
#include "hash.h"
#include "move.h"
#include <math.h>

enum { KIND = ASC_MAX_RANK + 1 };
static const asc_attr_def attr_defs[] = {{"shape", ASC_ATTR_INTS, 0},
                                         {"kind", ASC_ATTR_INT, KIND},
                                         {"seed_low", ASC_ATTR_SCALAR, 0},
                                         {"seed_high", ASC_ATTR_SCALAR, 1},
                                         {"stream", ASC_ATTR_SCALAR, 2}};

asc_tensor *asc_random(asc_ctx *ctx, asc_shape shape, int kind, uint64_t seed, uint32_t stream) {
    asc_attrs attrs = asc_attrs_of_shape(&shape);
    attrs.i[KIND] = kind;
    attrs.f[0] = (double)(seed & 0xffffffffu);
    attrs.f[1] = (double)(seed >> 32);
    attrs.f[2] = (double)stream;
    return asc_apply(ctx, &asc_op_random, &attrs, NULL, 0);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (!asc_shape_of_attrs(c->attrs, &c->shape))
        return asc_infer_fail(ctx, c, "the attribute is not a shape");
    if (c->attrs->i[KIND] < 0 || c->attrs->i[KIND] >= ASC_N_RANDOM)
        return asc_infer_fail(ctx, c, "no distribution of kind %lld", (long long)c->attrs->i[KIND]);
    c->dtype = ASC_DTYPE_F32;
    return ASC_OK;
}

static uint64_t part(double x) { return x >= 0 && x <= 4294967295.0 ? (uint64_t)x : 0; }

/* u in [0, 1) as whole multiples of 2^-24; normal from two of 2^-32 steps, the first in (0, 1]. */
static double draw(int64_t kind, uint64_t seed, uint64_t stream, uint64_t i) {
    uint32_t w[4];
    asc_philox(seed, stream, i, w);
    if (kind == ASC_RANDOM_UNIFORM) return (double)(w[0] >> 8) * 0x1p-24;
    double radius = sqrt(-2 * log(((double)w[0] + 1) * 0x1p-32));
    return (double)(float)(radius * cos(6.2831853071795865 * 0x1p-32 * (double)w[1]));
}

static void ref(const asc_ref_args *a) {
    const uint64_t seed = part(a->attrs->f[1]) << 32 | part(a->attrs->f[0]), stream = part(a->attrs->f[2]);
    int64_t idx[ASC_MAX_RANK] = {0}, off = 0;
    uint64_t i = 0;
    if (asc_nd_elems(&a->out) == 0) return;
    do a->out.data[off] = draw(a->attrs->i[KIND], seed, stream, i++);
    while (asc_nd_next(a->out.rank, a->out.dims, idx, 1, &a->out.strides, &off));
}

static void cost(const asc_call *c, asc_cost *out) {
    asc_cost_move(c, out);
    out->flops = 100 * (double)asc_shape_elems(&c->shape);
}

static bool sample(int i, asc_sample *out) {
    static const asc_shape shapes[] = {
        {.rank = 0}, {.rank = 1, .dims = {7}}, {.rank = 3, .dims = {2, 1, 3}}, {.rank = 2, .dims = {0, 3}}};
    if (i < 0 || i >= (int)(sizeof shapes / sizeof shapes[0])) return false;
    out->attrs = asc_attrs_of_shape(&shapes[i]);
    out->attrs.i[KIND] = i % ASC_N_RANDOM;
    out->attrs.f[0] = 11 + i;
    out->attrs.f[1] = 4294967295.0;
    out->attrs.f[2] = i;
    return true;
}

const asc_op asc_op_random = {
    ASC_OP_FIELDS(RANDOM, random, 0, 0),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_NONE,
    .cost = cost,
    .flags = ASC_OP_NO_GRAD,
    .doc = "Uniform or standard normal draws by seed and stream, the same on every device.",
    .formula = "y[i] = draw i of (seed, stream)",
};
