/* onnx_op_math.c - functions of one or two numbers: elementary functions, comparisons, logic, bits. */
#include "onnx_parts.h"
#include <math.h>

#define UNARY(name, op)                                                                                      \
    asc_status asc_onnx_##name(asc_onnx_call *c) { return asc_onnx_unary(c, op); }
UNARY(Abs, asc_abs)
UNARY(Neg, asc_neg)
UNARY(Sqrt, asc_sqrt)
UNARY(Exp, asc_exp)
UNARY(Log, asc_log)
UNARY(Reciprocal, asc_recip)
UNARY(Floor, asc_floor)
UNARY(Ceil, asc_ceil)
UNARY(Round, asc_round)
UNARY(Sign, asc_sign)
UNARY(Erf, asc_erf)
UNARY(Sin, asc_sin)
UNARY(Cos, asc_cos)
UNARY(Tan, asc_tan)
UNARY(Asin, asc_asin)
UNARY(Acos, asc_acos)
UNARY(Atan, asc_atan)
UNARY(Sinh, asc_sinh)
UNARY(Cosh, asc_cosh)
UNARY(Asinh, asc_asinh)
UNARY(Acosh, asc_acosh)
UNARY(Atanh, asc_atanh)

/* An integer base with an exponent that is none gives an integer. */
asc_status asc_onnx_Pow(asc_onnx_call *c) {
    int base = asc_onnx_elem(c, 0), exponent = asc_onnx_elem(c, 1);
    asc_shape e = asc_onnx_shape(c, 1);
    if (c->opset >= 7 && asc_onnx_known(c, 1) && asc_shape_elems(&e) == 1 &&
        e.rank <= asc_onnx_shape(c, 0).rank && asc_onnx_number(c, 1, 0) == 2)
        return asc_onnx_set_like(c, 0, asc_square(c->ctx, asc_onnx_t(c, 0)));
    if (asc_onnx_type_is_float(base) || !asc_onnx_type_is_float(exponent))
        return asc_onnx_binary(c, asc_pow, 0);
    asc_tensor *y = asc_pow(c->ctx, asc_onnx_t(c, 0), asc_onnx_t(c, 1));
    return asc_onnx_set_like(c, 0, asc_onnx_convert(c, y, ASC_ONNX_FLOAT, base));
}

static asc_tensor *greater(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) { return asc_less(ctx, b, a); }
static asc_tensor *greater_equal(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return asc_less_equal(ctx, b, a);
}

#define COMPARE(name, op)                                                                                    \
    asc_status asc_onnx_##name(asc_onnx_call *c) { return asc_onnx_binary(c, op, ASC_ONNX_BOOL); }
/* Strings are compared on the host, where all of them are known. */
static asc_status equal_strings(asc_onnx_call *c) {
    const asc_onnx_value *a = asc_onnx_in(c, 0), *b = asc_onnx_in(c, 1);
    asc_shape s;
    if (a->kind != ASC_ONNX_STRINGS || b->kind != ASC_ONNX_STRINGS ||
        !asc_shape_broadcast(&a->shape, &b->shape, &s))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "strings and what they cannot be compared with");
    int64_t n = asc_shape_elems(&s);
    double *same = asc_onnx_memory(c, (size_t)n + 1, sizeof *same);
    if (same == NULL) return c->st;
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at[2] = {0, 0}, step[2] = {1, 1};
        for (int d = 1; d <= s.rank; d++) {
            int64_t k = rest % s.dims[s.rank - d];
            rest /= s.dims[s.rank - d];
            for (int w = 0; w < 2; w++) {
                const asc_shape *one = w == 0 ? &a->shape : &b->shape;
                if (d > one->rank) continue;
                int64_t dim = one->dims[one->rank - d];
                at[w] += dim == 1 ? 0 : k * step[w];
                step[w] *= dim;
            }
        }
        same[i] = asc_view_eq(a->strings[at[0]], b->strings[at[1]]);
    }
    return asc_onnx_set_host(c, 0, s, same, ASC_ONNX_BOOL);
}

asc_status asc_onnx_Equal(asc_onnx_call *c) {
    bool strings = asc_onnx_in(c, 0)->kind == ASC_ONNX_STRINGS || asc_onnx_in(c, 1)->kind == ASC_ONNX_STRINGS;
    return strings ? equal_strings(c) : asc_onnx_binary(c, asc_equal, ASC_ONNX_BOOL);
}
COMPARE(Less, asc_less)
COMPARE(LessOrEqual, asc_less_equal)
COMPARE(Greater, greater)
COMPARE(GreaterOrEqual, greater_equal)
COMPARE(And, asc_logical_and)
COMPARE(Or, asc_logical_or)
COMPARE(Xor, asc_logical_xor)

asc_status asc_onnx_Not(asc_onnx_call *c) {
    return asc_onnx_set(c, 0, asc_logical_not(c->ctx, asc_onnx_t(c, 0)), ASC_ONNX_BOOL);
}
asc_status asc_onnx_IsNaN(asc_onnx_call *c) {
    return asc_onnx_set(c, 0, asc_is_nan(c->ctx, asc_onnx_t(c, 0)), ASC_ONNX_BOOL);
}
asc_status asc_onnx_IsInf(asc_onnx_call *c) {
    bool up = asc_onnx_attr_int(c, "detect_positive", 1) != 0;
    bool down = asc_onnx_attr_int(c, "detect_negative", 1) != 0;
    return asc_onnx_set(c, 0, asc_is_inf(c->ctx, asc_onnx_t(c, 0), up, down), ASC_ONNX_BOOL);
}

static asc_tensor *mod_of_divisor(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return asc_mod(ctx, a, b, false);
}
static asc_tensor *mod_of_dividend(asc_ctx *ctx, asc_tensor *a, asc_tensor *b) {
    return asc_mod(ctx, a, b, true);
}

asc_status asc_onnx_Mod(asc_onnx_call *c) {
    bool fmod = asc_onnx_attr_int(c, "fmod", 0) != 0;
    if (!fmod && asc_onnx_type_is_float(asc_onnx_elem(c, 0)))
        return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "fmod must be 1 for floats");
    return asc_onnx_binary(c, fmod ? mod_of_dividend : mod_of_divisor, 0);
}

static asc_status bits(asc_onnx_call *c, int kind) {
    int elem = asc_onnx_elem(c, 0);
    asc_tensor *y = asc_bitwise(c->ctx, asc_onnx_t(c, 0), asc_onnx_t(c, 1), kind);
    /* Bits that a left shift moves out of the type's width are lost. */
    if (kind == ASC_BITWISE_LEFT)
        y = asc_mod(c->ctx, y, asc_onnx_const(c, ldexp(1, 8 * (int)asc_onnx_type_bytes(elem))), false);
    if (kind == ASC_BITWISE_LEFT) y = asc_onnx_convert(c, y, ASC_ONNX_INT64, elem);
    return asc_onnx_set(c, 0, y, elem);
}
asc_status asc_onnx_BitwiseAnd(asc_onnx_call *c) { return bits(c, ASC_BITWISE_AND); }
asc_status asc_onnx_BitwiseOr(asc_onnx_call *c) { return bits(c, ASC_BITWISE_OR); }
asc_status asc_onnx_BitwiseXor(asc_onnx_call *c) { return bits(c, ASC_BITWISE_XOR); }

/* -1 - x for signed types, 2^bits - 1 - x for unsigned ones. */
asc_status asc_onnx_BitwiseNot(asc_onnx_call *c) {
    int elem = asc_onnx_elem(c, 0);
    bool is_unsigned = elem == ASC_ONNX_UINT8 || elem == ASC_ONNX_UINT16 || elem == ASC_ONNX_UINT32 ||
                       elem == ASC_ONNX_UINT64;
    double top = is_unsigned ? ldexp(1, 8 * (int)asc_onnx_type_bytes(elem)) - 1 : -1;
    return asc_onnx_set(c, 0, asc_sub(c->ctx, asc_onnx_const(c, top), asc_onnx_t(c, 0)), elem);
}

asc_status asc_onnx_BitShift(asc_onnx_call *c) {
    if (asc_onnx_attr_is(c, "direction", "", "LEFT")) return bits(c, ASC_BITWISE_LEFT);
    if (asc_onnx_attr_is(c, "direction", "", "RIGHT")) return bits(c, ASC_BITWISE_RIGHT);
    return asc_onnx_fail(c, ASC_INVALID_ARGUMENT, "direction is neither LEFT nor RIGHT");
}

/* Operators of any number of inputs. */
static asc_tensor *all_inputs(asc_onnx_call *c, asc_tensor *(*op)(asc_ctx *, asc_tensor *, asc_tensor *)) {
    asc_tensor *y = asc_onnx_t(c, 0);
    for (size_t i = 1; i < c->n_in; i++) y = op(c->ctx, y, asc_onnx_t(c, i));
    return y;
}
asc_status asc_onnx_Max(asc_onnx_call *c) { return asc_onnx_set_like(c, 0, all_inputs(c, asc_maximum)); }
asc_status asc_onnx_Min(asc_onnx_call *c) { return asc_onnx_set_like(c, 0, all_inputs(c, asc_minimum)); }
asc_status asc_onnx_Sum(asc_onnx_call *c) { return asc_onnx_set_like(c, 0, all_inputs(c, asc_add)); }
asc_status asc_onnx_Mean(asc_onnx_call *c) {
    double n = (double)(c->n_in > 0 ? c->n_in : 1);
    return asc_onnx_set_like(c, 0, asc_scale(c->ctx, all_inputs(c, asc_add), 1.0 / n));
}

asc_status asc_onnx_Where(asc_onnx_call *c) {
    asc_tensor *y = asc_where(c->ctx, asc_onnx_t(c, 0), asc_onnx_t(c, 1), asc_onnx_t(c, 2));
    return asc_onnx_set(c, 0, y, asc_onnx_elem(c, 1));
}
