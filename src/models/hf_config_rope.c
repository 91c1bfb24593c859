/* hf_config_rope.c - rotary embeddings of config.json. transformers 4 has rope_theta and rope_scaling beside
 * the other keys, transformers 5 one object rope_parameters, which may hold one object for each kind of
 * layer. Formulas: modeling_rope_utils of that library, as docs/formats/huggingface.md tells them. */
#include "hf_family.h"
#include "view.h"
#include <math.h>
#include <string.h>

/* Where the numbers of one rope are: an object of scaling keys (obj may be NULL), and the rest. */
typedef struct place {
    asc_hf_reading *r;
    asc_hf_keys k;
    asc_rope_config *rope;
    const char *theta_key; /* outside of the object */
    double theta;
} place;

/* The original context: Phi-3's key outside wins; llama3 and yarn fall back to the whole one. */
static asc_status original_context(place *p) {
    int64_t n = p->r->f.phi3_ropes ? 4096 : p->r->c->context;
    const char *key = "original_max_position_embeddings";
    bool outside = p->r->f.phi3_ropes || asc_hf_key(&p->r->k, key) != NULL;
    asc_status st = asc_hf_count(outside ? &p->r->k : &p->k, key, n, (int64_t)1 << 40, &n);
    p->rope->original_context = (double)n;
    return st;
}

/* Frequencies below low are divided by the factor, above high left, in between mixed. */
static asc_status llama3(place *p) {
    asc_status st = ASC_OK;
    asc_rope_config *rope = p->rope;
    double low, high;
    int64_t half = rope->n_rot / 2;
    ASC_TRY(asc_hf_number(&p->k, "factor", (double)NAN, 1e-3, 1e6, &rope->factor));
    ASC_TRY(asc_hf_number(&p->k, "low_freq_factor", (double)NAN, 1e-6, 1e6, &low));
    ASC_TRY(asc_hf_number(&p->k, "high_freq_factor", (double)NAN, 1e-6, 1e6, &high));
    ASC_TRY(original_context(p));
    if (!(high > low)) {
        st = asc_hf_invalid(&p->k, "high_freq_factor", "more than low_freq_factor");
        goto done;
    }
    double *divide = asc_arena_alloc(p->r->arena, (size_t)half * sizeof *divide);
    if (divide == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    for (int64_t i = 0; i < half; i++) {
        double f = pow(rope->base, -2.0 * (double)i / (double)rope->n_rot);
        double turns = rope->original_context * f / 6.283185307179586;
        double keep = (turns - low) / (high - low);
        keep = keep < 0.0 ? 0.0 : keep > 1.0 ? 1.0 : keep;
        divide[i] = 1.0 / ((1.0 - keep) / rope->factor + keep);
    }
    rope->divide = divide;
done:
    return st;
}

static double yarn_mscale(double factor, double mscale) {
    return factor <= 1.0 ? 1.0 : 0.1 * mscale * log(factor) + 1.0;
}

static asc_status yarn(place *p) {
    asc_status st = ASC_OK;
    asc_rope_config *rope = p->rope;
    double mscale, all, attention;
    bool truncate;
    rope->scaling = ASC_ROPE_YARN;
    ASC_TRY(original_context(p));
    ASC_TRY(asc_hf_number(&p->k, "factor", (double)p->r->c->context / rope->original_context, 1e-3, 1e6,
                          &rope->factor));
    ASC_TRY(asc_hf_number(&p->k, "beta_fast", 32.0, 0.0, 1e6, &rope->beta_fast));
    ASC_TRY(asc_hf_number(&p->k, "beta_slow", 1.0, 0.0, 1e6, &rope->beta_slow));
    if (!(rope->beta_fast > 0.0)) rope->beta_fast = 32.0; /* 0 stands for the default there */
    if (!(rope->beta_slow > 0.0)) rope->beta_slow = 1.0;
    ASC_TRY(asc_hf_number(&p->k, "mscale", 0.0, 0.0, 1e6, &mscale));
    ASC_TRY(asc_hf_number(&p->k, "mscale_all_dim", 0.0, 0.0, 1e6, &all));
    ASC_TRY(asc_hf_flag(&p->k, "truncate", true, &truncate));
    rope->unrounded = !truncate;
    attention = mscale > 0.0 && all > 0.0 ? yarn_mscale(rope->factor, mscale) / yarn_mscale(rope->factor, all)
                                          : yarn_mscale(rope->factor, 1.0);
    ASC_TRY(asc_hf_number(&p->k, "attention_factor", attention, 1e-9, 1e6, &attention));
    rope->attn_factor = attention / (1.0 + 0.1 * log(rope->factor)); /* that one is multiplied in anyway */
    if (!(rope->attn_factor > 0.0)) st = asc_hf_invalid(&p->k, "factor", "at least 1");
done:
    return st;
}

static asc_status longrope(place *p) {
    asc_status st = ASC_OK;
    asc_rope_config *rope = p->rope;
    size_t half = (size_t)rope->n_rot / 2;
    double factor, attention;
    ASC_TRY(original_context(p));
    ASC_TRY(asc_hf_numbers(&p->k, "short_factor", half, p->r->arena, &rope->divide));
    ASC_TRY(asc_hf_numbers(&p->k, "long_factor", half, p->r->arena, &rope->divide_long));
    ASC_TRY(asc_hf_number(&p->k, "factor", (double)p->r->c->context / rope->original_context, 1e-6, 1e9,
                          &factor));
    attention = factor <= 1.0 || rope->original_context < 2.0
                    ? 1.0
                    : sqrt(1.0 + log(factor) / log(rope->original_context));
    ASC_TRY(asc_hf_number(&p->k, "attention_factor", attention, 1e-9, 1e6, &rope->long_mscale));
done:
    return st;
}

static asc_status scaling(place *p) {
    asc_view type;
    asc_status st = asc_hf_word(&p->k, "rope_type", NULL, &type);
    const char *key = type.ptr != NULL ? "rope_type" : "type";
    if (st == ASC_OK && type.ptr == NULL) st = asc_hf_word(&p->k, "type", "default", &type);
    if (st != ASC_OK) return st;
    p->rope->attn_factor = 1.0;
    p->rope->original_context = (double)p->r->c->context;
    bool phi3 = p->r->f.phi3_ropes;
    if (asc_view_eqs(type, "default")) return ASC_OK;
    if (asc_view_eqs(type, "longrope") || (phi3 && (asc_view_eqs(type, "su") || asc_view_eqs(type, "yarn"))))
        return longrope(p);
    if (phi3) return asc_hf_refuse(&p->k, key, "supported for phi3: default, longrope");
    if (asc_view_eqs(type, "llama3")) return llama3(p);
    if (asc_view_eqs(type, "yarn")) return yarn(p);
    if (asc_view_eqs(type, "dynamic")) { /* differs only beyond the context, which no prompt passes */
        double alpha = 0.0;
        if (p->r->f.alpha_ropes) st = asc_hf_number(&p->k, "alpha", 0.0, 0.0, 1e9, &alpha);
        const double n = (double)p->rope->n_rot;
        if (alpha > 0.0 && n > 2.0) p->rope->base *= pow(alpha, n / (n - 2.0));
        return st;
    }
    if (asc_view_eqs(type, "linear")) {
        p->rope->scaling = ASC_ROPE_LINEAR;
        return asc_hf_number(&p->k, "factor", (double)NAN, 1e-3, 1e6, &p->rope->factor);
    }
    return asc_hf_refuse(&p->k, key, "supported: default, linear, dynamic, yarn, llama3, longrope");
}

/* How many columns of a head turn: the share that key tells. */
static asc_status turning(place *p, double share, const char *key) {
    const int64_t d = p->r->c->head_dim;
    p->rope->n_rot = (int64_t)((double)d * share);
    if (p->rope->n_rot >= 2 && p->rope->n_rot % 2 == 0) return ASC_OK;
    ASC_FAIL(p->k.ctx, ASC_INVALID_ARGUMENT,
             "'%s': %lld columns of each head would turn (head_dim %lld, %s %g); they turn in pairs",
             p->k.file, (long long)p->rope->n_rot, (long long)d, key, share);
    return asc_hint(p->k.ctx, "the file is damaged, or of a variant that is not supported");
}

static asc_status read_one(place *p) {
    asc_status st = ASC_OK;
    const asc_hf_family *f = &p->r->f;
    asc_decoder_config *c = p->r->c;
    double theta, share;
    *p->rope = (asc_rope_config){.factor = 1.0, .beta_fast = 32.0, .beta_slow = 1.0};
    if (f->ropes_fixed) {
        p->rope->base = f->theta;
        p->rope->attn_factor = 1.0;
        p->rope->original_context = (double)c->context;
        return turning(p, f->partial_default, f->partial_key);
    }
    ASC_TRY(asc_hf_number(&p->r->k, p->theta_key, p->theta, 1.000001, 1e15, &theta));
    ASC_TRY(asc_hf_number(&p->k, "rope_theta", theta, 1.000001, 1e15, &p->rope->base));
    bool inside = asc_hf_key(&p->k, "partial_rotary_factor") != NULL;
    const asc_hf_keys *where = inside ? &p->k : &p->r->k;
    const char *key = inside ? "partial_rotary_factor" : f->partial_key;
    ASC_TRY(asc_hf_number(where, key, f->partial_default, 0.0, 1.0, &share));
    if (!f->partial && share < 1.0) {
        st = asc_hf_refuse(where, key, "in this family all columns of a head turn");
        goto done;
    }
    ASC_TRY(turning(p, share, key));
    ASC_TRY(scaling(p));
done:
    return st;
}

asc_status asc_hf_read_ropes(asc_hf_reading *r) {
    asc_status st = ASC_OK;
    asc_decoder_config *c = r->c;
    bool two = r->f.rope_layers == ASC_HF_ROPE_TWO;
    const char *name = asc_hf_key(&r->k, "rope_scaling") != NULL ? "rope_scaling" : "rope_parameters";
    const asc_json *obj = asc_hf_key(&r->k, name);
    if (obj != NULL && asc_json_typeof(obj) != ASC_JSON_OBJECT)
        return asc_hf_invalid(&r->k, name, "an object");
    if (obj == NULL && r->f.ropes_needed)
        return asc_hf_invalid(&r->k, name, "an object: what this family has without it is not a default");
    const asc_json *full = asc_json_get(obj, "full_attention"),
                   *local = asc_json_get(obj, "sliding_attention");
    bool nested = full != NULL || local != NULL;
    asc_hf_keys k = {r->k.ctx, obj, r->k.file, name[5] == 's' ? "rope_scaling." : "rope_parameters."};
    if (nested && !two)
        return asc_hf_refuse(&k, full != NULL ? "full_attention" : "sliding_attention",
                             "in this family all layers have one rotary embedding");
    place p = {.r = r, .k = k, .rope = &c->rope[0], .theta_key = r->f.theta_key, .theta = r->f.theta};
    c->n_ropes = two ? 2 : 1;
    if (nested) {
        p.k.obj = full;
        p.k.prefix = "rope_parameters.full_attention.";
    }
    ASC_TRY(read_one(&p));
    if (!two) goto done;
    p.k.obj = nested ? local : NULL; /* the scaling of the old layout is not for layers with a window */
    p.k.prefix = "rope_parameters.sliding_attention.";
    p.rope = &c->rope[1];
    p.theta_key = r->f.theta_local_key;
    p.theta = r->f.theta_local;
    ASC_TRY(read_one(&p));
done:
    return st;
}
