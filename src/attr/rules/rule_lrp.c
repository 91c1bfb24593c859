/* rule_lrp.c - the table of layer-wise relevance propagation, and the sums of relevance at sites. */
#include "lrp_parts.h"

static const asc_rule_row rows[] = {
    /* layers */
    {ASC_OPCODE_MATMUL, asc_lrp_layer, "layer"},
    {ASC_OPCODE_MATMUL_BIAS, asc_lrp_layer, "layer"},
    {ASC_OPCODE_CONV, asc_lrp_layer, "layer"},
    {ASC_OPCODE_CONV_GRAD_INPUT, asc_lrp_layer, "layer"},
    {ASC_OPCODE_EXPERT_MATMUL, asc_lrp_layer, "layer; the choice is held fixed"},
    {ASC_OPCODE_MUL, asc_lrp_mul, "scale, or halves"},
    {ASC_OPCODE_DIV, asc_lrp_div, "scale, or the numerator"},
    /* values that only change place: their transpose keeps relevance */
    {ASC_OPCODE_PAD, NULL, "moved"},
    {ASC_OPCODE_CONCAT, NULL, "moved"},
    {ASC_OPCODE_CAST, asc_rule_indexed, "moved"},
    {ASC_OPCODE_GATHER, asc_lrp_gather, "moved; the choice is held fixed"},
    {ASC_OPCODE_TAKE_LAST, asc_rule_indexed, "moved"},
    {ASC_OPCODE_PUT_LAST, asc_rule_indexed, "moved"},
    {ASC_OPCODE_TAKE_ALONG, asc_rule_indexed, "moved"},
    {ASC_OPCODE_POOL_TAKE, asc_rule_indexed, "moved"},
    {ASC_OPCODE_WHERE, NULL, "moved"},
    {ASC_OPCODE_STRAIGHT_THROUGH, NULL, "moved"},
    /* sums */
    {ASC_OPCODE_ADD, asc_lrp_sum, "epsilon, or a bias"},
    {ASC_OPCODE_SUB, asc_lrp_sum, "epsilon, or a bias"},
    {ASC_OPCODE_SHIFT, asc_lrp_sum, "epsilon, or a bias"},
    {ASC_OPCODE_SUM, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_MEAN, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_CUMSUM, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_AVG_POOL, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_SCATTER_ADD, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_PUT_ALONG, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_POOL_PUT, asc_lrp_generic, "epsilon"},
    {ASC_OPCODE_ROPE, asc_lrp_generic, "epsilon"},
    /* choices */
    {ASC_OPCODE_MAX, NULL, "the largest takes all"},
    {ASC_OPCODE_MIN, NULL, "the smallest takes all"},
    {ASC_OPCODE_MAX_POOL, NULL, "the largest takes all"},
    {ASC_OPCODE_LOG_SUM_EXP, NULL, "shared by softmax"},
    {ASC_OPCODE_MAXIMUM, asc_lrp_pick, "the larger takes all"},
    {ASC_OPCODE_MINIMUM, asc_lrp_pick, "the smaller takes all"},
    /* rows */
    {ASC_OPCODE_SOFTMAX, asc_lrp_softmax, "softmax"},
    {ASC_OPCODE_LOG_SOFTMAX, asc_lrp_pass, "unchanged"},
    {ASC_OPCODE_LAYER_NORM, asc_lrp_norm, "fixed deviation"},
    {ASC_OPCODE_RMS_NORM, asc_lrp_norm, "fixed deviation"},
    {ASC_OPCODE_SDPA, asc_vjp_decomposed_rules, "decomposed"},
    {ASC_OPCODE_SDPA_TREE, asc_vjp_decomposed_rules, "decomposed"},
    {ASC_OPCODE_SWIGLU, asc_vjp_decomposed_rules, "decomposed"},
    {ASC_OPCODE_PRELU, asc_lrp_pass, "unchanged"},
    {ASC_OPCODE_POW, asc_lrp_pass, "unchanged"},
};

asc_rule_row asc_lrp_row(const asc_op *op) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].opcode == op->opcode) return rows[i];
    }
    if ((op->flags & ASC_OP_NO_GRAD) != 0) return (asc_rule_row){op->opcode, NULL, "none"};
    if (op->fuse == ASC_FUSE_POINTWISE && op->max_in == 1)
        return (asc_rule_row){op->opcode, asc_lrp_pass, "unchanged"};
    if (op->fuse == ASC_FUSE_VIEW) return (asc_rule_row){op->opcode, NULL, "moved"};
    return (asc_rule_row){op->opcode, asc_rule_general,
                          op->decompose != NULL ? "linear or decomposed" : "linear or a fall-back"};
}

/* ---- relevance at sites ---- */

static asc_status sum_index(asc_rules *r, const char *site, size_t *out) {
    for (*out = 0; *out < r->n_sums; (*out)++) {
        if (r->sums[*out].site == site) return ASC_OK;
    }
    asc_status st =
        asc_grow(r->ctx, ASC_MEM_GENERAL, (void **)&r->sums, &r->cap_sums, r->n_sums + 1, sizeof *r->sums);
    if (st == ASC_OK) r->sums[r->n_sums++] = (asc_rule_sum){.site = site};
    return st;
}

static asc_tensor *total(asc_ctx *ctx, asc_tensor *t) {
    int axes[ASC_MAX_RANK];
    for (int k = 0; k < t->shape.rank; k++) axes[k] = k;
    return t->shape.rank == 0 ? t : asc_sum(ctx, t, t->shape.rank, axes, false);
}

/* The walk goes backwards: the first value met with a site's label is what the site hands on. */
static asc_status on_value(asc_ctx *ctx, void *self, asc_tensor *value, asc_tensor *relevance) {
    asc_rules *r = self;
    asc_lrp_frame *f = r->frame;
    size_t k;
    if (!f->counting || value->label == NULL) return ASC_OK;
    for (size_t i = 0; i < f->n_seen; i++) {
        if (f->seen[i] == value->label) return ASC_OK;
    }
    f->seen[f->n_seen++] = value->label;
    asc_status st = sum_index(r, value->label, &k);
    if (st == ASC_OK)
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&r->watched, &r->cap_watched, r->n_watched + 1,
                      sizeof(asc_tensor *));
    if (st == ASC_OK)
        st = asc_grow(ctx, ASC_MEM_GENERAL, (void **)&r->sum_of, &r->cap_sum_of, r->n_watched + 1,
                      sizeof *r->sum_of);
    if (st != ASC_OK) return st;
    r->sum_of[r->n_watched] = k;
    r->watched[r->n_watched++] = total(ctx, relevance);
    return ASC_OK;
}

static size_t watched(void *self, asc_tensor *const **out) {
    asc_rules *r = self;
    *out = r->watched;
    return r->n_watched;
}

static asc_status after(asc_ctx *ctx, void *self, bool ran) {
    asc_rules *r = self;
    asc_status st = ASC_OK;
    for (size_t i = 0; ran && st == ASC_OK && i < r->n_watched; i++) {
        double v = 0;
        st = asc_read_f64(ctx, r->watched[i], &v, 1);
        r->sums[r->sum_of[i]].relevance += v;
    }
    r->n_watched = 0;
    return st;
}

asc_status asc_rules_init_lrp(asc_ctx *ctx, const asc_rule_options *o, asc_rules *out) {
    asc_status st = asc_rules_init(ctx, o, "lrp", out);
    if (st == ASC_OK) st = asc_lrp_check_choices(ctx, o);
    if (out->o.epsilon == 0) out->o.epsilon = 1e-9;
    for (size_t i = 0; i < ASC_N_OPS; i++) out->grad.vjp[i] = asc_lrp_row(asc_ops[i]).fn;
    if (o->compat_captum) out->grad.vjp[ASC_OPCODE_SCALE] = NULL;
    out->grad.seed_is_value = true;
    out->grad.begin = asc_lrp_begin;
    out->grad.end = asc_lrp_end;
    out->grad.on_value = on_value;
    out->grad.watched = watched;
    out->grad.after = after;
    return st;
}

const char *asc_rule_name_of(const char *kind, const asc_op *op) {
    return kind[0] == 'd' ? asc_dl_row(op).name : asc_lrp_row(op).name;
}
