/* decoder_ropes.c - what tells positions apart. Frequencies of the rotary embeddings: from the config, and
 * from the tensors that GGUF files keep divisors in: rope_freqs (llama3 scaling), rope_factors_short and
 * rope_factors_long (longrope). Slopes of ALiBi. */
#include "decoder_bind.h"
#include "exec.h"
#include <math.h>
#include <string.h>

/* Divisors of rope 0 by name; they must be above 0. NULL when absent, or after an error; out: room for
 * n_rot/2. */
static const double *divisors(asc_binder *b, const char *name, int64_t half, double *out) {
    const asc_weight *t = asc_bind_find(b, name, false);
    if (t == NULL || asc_bind_vector(b, name, true, half, 0.0) == NULL) return NULL;
    if (t->dtype != ASC_DTYPE_F32) {
        b->st = ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "'%s': %s is stored as %s, which is not supported here",
                         b->g->path, name, asc_dtype_of(t->dtype)->name);
        return NULL;
    }
    for (int64_t i = 0; i < half && b->st == ASC_OK; i++) {
        out[i] = (double)((const float *)t->data)[i];
        if (out[i] > 0.0) continue;
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT, "'%s': %s[%lld] is %g; expected more than 0",
                         b->g->path, name, (long long)i, out[i]);
    }
    return out;
}

/* f: room for n_rot/2. */
static asc_tensor *frequencies(asc_binder *b, const asc_rope_config *rope, const double *divide, double *f,
                               double *mscale) {
    int64_t half = rope->n_rot / 2;
    asc_rope_frequencies(rope, divide, f, mscale);
    for (int64_t i = 0; i < half && b->st == ASC_OK; i++) { /* an angle must stay a number at any position */
        if (isfinite((float)(f[i] * (double)b->d->cfg.context))) continue;
        b->st = ASC_FAIL(b->ctx, ASC_INVALID_ARGUMENT,
                         "'%s': the rotary frequency %lld is %g, too large for %lld positions "
                         "(rope_freqs.weight, rope.freq_base, rope.scaling.factor)",
                         b->g->path, (long long)i, f[i], (long long)b->d->cfg.context);
    }
    return b->st == ASC_OK ? asc_bind_own(b, asc_from_f64(b->ctx, ASC_SHAPE(half), f)) : NULL;
}

static void bind_rope(asc_binder *b, int r) {
    asc_decoder *d = b->d;
    const asc_rope_config *rope = &d->cfg.rope[r];
    int64_t half = rope->n_rot / 2;
    if (b->st != ASC_OK) return;
    double *f = asc_calloc(b->ctx, ASC_MEM_GENERAL, 3 * (size_t)half, sizeof *f);
    if (f == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return;
    }
    const double *divide = rope->divide, *divide_long = rope->divide_long;
    if (r == 0 && b->g->gguf != NULL) { /* readers of other files have filled them in */
        divide = divisors(b, "rope_freqs.weight", half, f + half);
        if (divide == NULL) divide = divisors(b, "rope_factors_short.weight", half, f + half);
        divide_long = divisors(b, "rope_factors_long.weight", half, f + 2 * half);
    }
    if (b->st == ASC_OK) d->inv_freq[r] = frequencies(b, rope, divide, f, &d->mscale[r]);
    if (b->st == ASC_OK && divide_long != NULL)
        d->inv_freq_long[r] = frequencies(b, rope, divide_long, f, &d->mscale[r]);
    if (rope->long_mscale > 0.0) d->mscale[r] *= rope->long_mscale;
    asc_free(b->ctx, f);
}

void asc_bind_ropes(asc_binder *b) {
    for (int r = 0; r < b->d->cfg.n_ropes; r++) bind_rope(b, r);
}

/* To the nearest bf16, ties to even. */
static double to_bf16(double x) {
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* [context,H]: the rounded product of rounded slope and position, as Falcon's own program has it. */
static asc_tensor *rounded_table(asc_binder *b, const double *slope) {
    const asc_decoder_config *c = &b->d->cfg;
    size_t n;
    double *v = asc_mul_size((size_t)c->context, (size_t)c->n_heads, &n)
                    ? asc_calloc(b->ctx, ASC_MEM_GENERAL, n, sizeof *v)
                    : NULL;
    if (v == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const double at = to_bf16((double)(i / (size_t)c->n_heads));
        v[i] = c->alibi_scale * to_bf16(to_bf16(slope[i % (size_t)c->n_heads]) * at);
    }
    asc_tensor *t = asc_bind_own(b, asc_from_f64(b->ctx, ASC_SHAPE(c->context, c->n_heads), v));
    asc_free(b->ctx, v);
    return t;
}

void asc_bind_slopes(asc_binder *b) {
    const asc_decoder_config *c = &b->d->cfg;
    if (b->st != ASC_OK) return;
    double *slope = asc_calloc(b->ctx, ASC_MEM_GENERAL, (size_t)c->n_heads, sizeof *slope);
    if (slope == NULL) {
        b->st = ASC_RESOURCE_EXHAUSTED;
        return;
    }
    asc_alibi_slopes(c->n_heads, c->alibi, slope);
    if (c->alibi_rounded) {
        b->d->slopes = rounded_table(b, slope);
    } else {
        for (int64_t i = 0; i < c->n_heads; i++) slope[i] *= c->alibi_scale;
        b->d->slopes = asc_bind_own(b, asc_from_f64(b->ctx, ASC_SHAPE(c->n_heads, 1, 1), slope));
    }
    asc_free(b->ctx, slope);
}

bool asc_decoder_same_lengths(const asc_decoder *d, int64_t a, int64_t b) {
    for (int r = 0; r < d->cfg.n_ropes; r++) {
        double most = d->cfg.rope[r].original_context;
        if (d->inv_freq_long[r] != NULL && ((double)a > most) != ((double)b > most)) return false;
    }
    return true;
}
