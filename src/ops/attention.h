/* attention.h - what sdpa and its gradient share: which keys a query sees, attributes, layouts, recorded
 * probabilities. B batch, T queries, S keys, H query heads, G key heads, R = H/G query heads a key head, D
 * head width. Query head h reads key head h / R. */
#ifndef ASC_ATTENTION_H
#define ASC_ATTENTION_H

#include "descriptor.h"

enum { ASC_ATTN_CAUSAL, ASC_ATTN_WINDOW, ASC_ATTN_SINK }; /* i slots; sink: sdpa_tree's only */
enum { ASC_ATTN_SCALE, ASC_ATTN_CAP };                    /* f slots */
enum { ASC_ATTN_N_ATTRS = 4 };
extern const asc_attr_def asc_attn_attr_defs[ASC_ATTN_N_ATTRS];

/* Keys [*first, *end) that query t sees; empty when *first >= *end. The query stands at key position t + S -
 * T, which is negative for leading queries when S < T. */
static inline void asc_attn_visible(const asc_attrs *attrs, int64_t t, int64_t n_queries, int64_t n_keys,
                                    int64_t *first, int64_t *end) {
    const int64_t pos = t + n_keys - n_queries, window = attrs->i[ASC_ATTN_WINDOW];
    *end = attrs->i[ASC_ATTN_CAUSAL] != 0 && pos + 1 < n_keys ? pos + 1 : n_keys;
    *first = window > 0 && pos >= window ? pos - window + 1 : 0;
}

/* A sample of q, k and v. */
typedef struct asc_attn_case {
    asc_shape q, kv;
    bool causal;
    int64_t window;
    double scale, cap;
} asc_attn_case;
asc_sample asc_attn_sample(const asc_attn_case *c);
/* Checks q, k, v (inputs 0 to 2) and the attributes. */
asc_status asc_attn_infer(asc_ctx *ctx, const asc_call *c);
/* Pairs (query, visible key) over all batches and query heads: what the work is proportional to. */
double asc_attn_pairs(const asc_call *c);

/* ---- sdpa_tree: keys that are a tree ---- */

/* asc_sdpa_tree where the last column of q, times scale, is a score of each row that has no value. */
asc_tensor *asc_sdpa_tree_sink(asc_ctx *ctx, asc_tensor *const *in, double scale, int64_t window, double cap);

/* The key before key i of a tree: at most i - 1, below 0 = none. */
static inline int64_t asc_tree_up(double parent, int64_t i) {
    return !(parent >= 0) ? -1 : parent < (double)i ? (int64_t)parent : i - 1;
}
/* Whether a query at position q sees a key at position k, one of its ancestors. */
static inline bool asc_tree_near(double q, double k, int64_t window) {
    return window <= 0 || k > q - (double)window;
}

/* sum_d a[d] b[d] with strides; a fixed order of additions. */
double asc_attn_dot(const double *a, int64_t a_step, const double *b, int64_t b_step, int64_t n);
/* The score of a raw dot product: scaled, then capped. */
double asc_attn_score(const asc_attrs *attrs, double dot);

/* Recorded attention up to the probabilities, query heads of a group folded into rows: q [B,G,R*T,D], k and v
 * [B,G,S,D], p [B,G,R*T,S] (0 where hidden), tanh: of the scaled scores by cap, NULL without a cap. */
typedef struct asc_attn_parts {
    int64_t B, T, S, H, G, D;
    asc_tensor *q, *k, *v, *p, *tanh;
} asc_attn_parts;

void asc_attn_record(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                     asc_attn_parts *out);
/* The same where mask [T,S] says which keys a query sees; NULL = all. */
void asc_attn_record_masked(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                            asc_tensor *mask, asc_attn_parts *out);
/* What the op has no place for. */
typedef struct asc_attn_more {
    asc_tensor *mask; /* [T,S]; NULL = all keys are seen */
    asc_tensor *sink; /* [H]: a score that takes its part of the softmax and has no value; NULL = none */
    bool sink_in_q;   /* the same is the last column of q, where keys have 0, times the scale */
} asc_attn_more;
void asc_attn_record_more(asc_ctx *ctx, const asc_attrs *attrs, asc_tensor *q, asc_tensor *k, asc_tensor *v,
                          const asc_attn_more *more, asc_attn_parts *out);
/* The scores of sink_in_q: of q or of its tangent, folded [B,G,R*T,D] -> [B,G,R*T,1]. */
asc_tensor *asc_attn_sink_column(asc_ctx *ctx, const asc_attrs *attrs, const asc_attn_parts *s,
                                 asc_tensor *q);
/* 1 where a query sees a key by the attributes: [T,S]; NULL when all see all. */
asc_tensor *asc_attn_mask(asc_ctx *ctx, const asc_attrs *attrs, int64_t n_queries, int64_t n_keys);
/* [B,T,H,D] -> [B,G,R*T,D] and back; [B,S,G,D] -> [B,G,S,D] and back. NULL gives NULL. */
asc_tensor *asc_attn_fold_q(asc_ctx *ctx, const asc_attn_parts *s, asc_tensor *q);
asc_tensor *asc_attn_unfold_q(asc_ctx *ctx, const asc_attn_parts *s, asc_tensor *q);
asc_tensor *asc_attn_swap_k(asc_ctx *ctx, asc_tensor *k);
/* Tangent of the scores before the cap, scale (tq k^T + q tk^T); tangents may be NULL, so may the result. */
asc_tensor *asc_attn_score_tangent(asc_ctx *ctx, const asc_attrs *attrs, const asc_attn_parts *s,
                                   asc_tensor *tq, asc_tensor *tk);
/* Derivative of the cap at the recorded scores, 1 - tanh^2; NULL without a cap. */
asc_tensor *asc_attn_cap_slope(asc_ctx *ctx, const asc_attn_parts *s);

#endif
