/* op_bitwise.c - and, or, xor and shifts of whole numbers held in floats, with broadcasting. Exact while
 * operands and result are at most 2^24 in size on an f32 device (2^53 in f64). Negative numbers are in two's
 * complement; what is not whole is cut towards 0 first, NaN is 0, and what does not fit 64 bits becomes the
 * nearest that does. Shifts are of the value, not of a word of some width: bits shifted out on the left are
 * kept, so the caller takes the remainder of 2^bits. A count below 0 is 0, above 63 it is 63. Piecewise
 * constant: no gradient. */
#include "pointwise.h"

static const asc_attr_def attr_defs[] = {{"kind", ASC_ATTR_INT, 0}};

asc_tensor *asc_bitwise(asc_ctx *ctx, asc_tensor *a, asc_tensor *b, int kind) {
    return asc_apply(ctx, &asc_op_bitwise, &(asc_attrs){.i = {kind}}, (asc_tensor *[]){a, b}, 2);
}

static asc_status infer(asc_ctx *ctx, asc_call *c) {
    if (c->attrs->i[0] < 0 || c->attrs->i[0] >= ASC_N_BITWISE)
        return asc_infer_fail(ctx, c, "no operation of kind %lld", (long long)c->attrs->i[0]);
    return asc_infer_float(ctx, c);
}

static int64_t whole(double x) {
    if (isnan(x)) return 0;
    return x <= -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}
static int count(double x) { return x > 0 ? (int)fmin(x, 63) : 0; }

static double both(double a, double b) { return (double)(whole(a) & whole(b)); }
static double either(double a, double b) { return (double)(whole(a) | whole(b)); }
static double differ(double a, double b) { return (double)(whole(a) ^ whole(b)); }
static double left(double a, double b) { return ldexp((double)whole(a), count(b)); }
static double right(double a, double b) { return floor(ldexp((double)whole(a), -count(b))); }

static void ref(const asc_ref_args *a) {
    static double (*const functions[ASC_N_BITWISE])(double, double) = {
        [ASC_BITWISE_AND] = both,  [ASC_BITWISE_OR] = either,   [ASC_BITWISE_XOR] = differ,
        [ASC_BITWISE_LEFT] = left, [ASC_BITWISE_RIGHT] = right,
    };
    asc_ref_binary(a, functions[a->attrs->i[0]]);
}

static bool sample(int i, asc_sample *out) {
    if (!asc_sample_binary(i, out, -99, 99, 1e-3)) return false;
    out->attrs.i[0] = i % ASC_N_BITWISE;
    return true;
}

const asc_op asc_op_bitwise = {
    ASC_OP_FIELDS(BITWISE, bitwise, 2, 2),
    ASC_OP_ATTRS,
    .fuse = ASC_FUSE_NONE,
    .cost = asc_cost_pointwise,
    .flags = ASC_OP_NO_GRAD,
    .doc = "And, or, xor, left and right shift of whole numbers held in floats, with broadcasting.",
    .formula = "y = a & b, a | b, a ^ b, a << b, a >> b",
};
