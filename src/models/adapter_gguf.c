/* adapter_gguf.c - adapters as GGUF files: tensors NAME.lora_a [rank,in] and NAME.lora_b [out,rank], where
 * NAME is that of the weight, and adapter.lora.alpha. The factor is alpha / rank, or 1 if alpha is 0. */
#include "adapter.h"
#include "gguf.h"
#include "view.h"
#include <string.h>

static asc_status check_head(asc_ctx *ctx, const asc_gguf *g, const asc_lora_base *base) {
    asc_view type, kind, arch;
    asc_status st = ASC_OK;
    ASC_TRY(asc_gguf_get_str_or(ctx, g, "general.type", asc_view_of("model"), &type));
    if (!asc_view_eqs(type, "adapter")) {
        type = asc_view_cut(type, 40);
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "'%s' is no adapter: its general.type is '" ASC_VIEW_FMT "'",
                 asc_gguf_name(g), ASC_VIEW_ARG(type));
        return asc_hint(ctx, "give the model as the model, and what was trained on it as the adapter");
    }
    ASC_TRY(asc_gguf_get_str(ctx, g, "adapter.type", &kind));
    kind = asc_view_cut(kind, 40);
    if (!asc_view_eqs(kind, "lora"))
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                        "'%s': adapter.type '" ASC_VIEW_FMT "' is not supported; only lora is",
                        asc_gguf_name(g), ASC_VIEW_ARG(kind));
    if (asc_gguf_kv_find(g, "adapter.alora.invocation_tokens") != NULL)
        return ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "'%s': adapter.alora.invocation_tokens is not supported",
                        asc_gguf_name(g));
    ASC_TRY(asc_gguf_get_str(ctx, g, "general.architecture", &arch));
    if (!base->gguf) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s' adapts a GGUF file, and '%s' is none: rows are in another order", asc_gguf_name(g),
                 base->path);
        return asc_hint(ctx, "give the PEFT folder that it was converted from, or the model as a GGUF file");
    }
    if (asc_view_eqs(arch, base->cfg->architecture)) return ASC_OK;
    arch = asc_view_cut(arch, 40);
    return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                    "'%s' adapts a model of architecture '" ASC_VIEW_FMT
                    "', and '%s' is of architecture '%s'",
                    asc_gguf_name(g), ASC_VIEW_ARG(arch), base->path, base->cfg->architecture);
done:
    return st;
}

static asc_status add(asc_lora_set *s, size_t i, const asc_gguf *g, const asc_gguf_tensor *t) {
    static const char a_end[] = ".lora_a", b_end[] = ".lora_b";
    const size_t end = sizeof a_end - 1;
    asc_view name = t->name, shown = asc_view_cut(t->name, 100), tail = name;
    asc_lora_part *p;
    if (name.len > end) tail = asc_view_make(name.ptr + name.len - end, end);
    const bool is_a = asc_view_eqs(tail, a_end), is_b = asc_view_eqs(tail, b_end);
    if (!is_a && !is_b)
        return ASC_FAIL(s->ctx, ASC_UNIMPLEMENTED,
                        "'%s': tensor " ASC_VIEW_FMT " is no part of a plain adapter", asc_gguf_name(g),
                        ASC_VIEW_ARG(shown));
    if (t->rank != 2)
        return ASC_FAIL(s->ctx, ASC_UNIMPLEMENTED, "'%s': tensor " ASC_VIEW_FMT " is no matrix",
                        asc_gguf_name(g), ASC_VIEW_ARG(shown));
    name.len -= end;
    asc_status st = asc_lora_part_of(s, i, name, name, &p);
    if (st == ASC_OK)
        st = asc_lora_copy(s, t->name, t->dtype, t->data, t->dims[0], t->dims[1], is_a ? &p->a : &p->b);
    if (st != ASC_OK) return st;
    const int64_t rank = is_a ? t->dims[0] : t->dims[1];
    if (p->rank != 0 && p->rank != rank)
        return ASC_FAIL(s->ctx, ASC_INVALID_ARGUMENT,
                        "'%s': the matrices of " ASC_VIEW_FMT " are of ranks %lld and %lld", asc_gguf_name(g),
                        ASC_VIEW_ARG(shown), (long long)p->rank, (long long)rank);
    p->rank = rank;
    if (is_a) p->in = t->dims[1];
    if (is_b) p->out = t->dims[0];
    return ASC_OK;
}

asc_status asc_lora_parse_gguf(asc_lora_set *s, size_t i, const asc_lora_base *base, const asc_gguf *g) {
    double alpha;
    const asc_adapter *ad = &s->list[i];
    asc_status st = ASC_OK;
    ASC_TRY(check_head(s->ctx, g, base));
    ASC_TRY(asc_gguf_get_f64(s->ctx, g, "adapter.lora.alpha", &alpha));
    for (size_t k = 0; k < asc_gguf_tensor_count(g); k++) ASC_TRY(add(s, i, g, asc_gguf_tensor_at(g, k)));
    for (size_t k = 0; k < s->n; k++) {
        asc_lora_part *p = &s->v[k];
        bool own = alpha > 0.0 || alpha < 0.0;
        if (p->adapter == i) p->scale = ad->scale * (own && p->rank > 0 ? alpha / (double)p->rank : 1.0);
    }
done:
    return st;
}

asc_status asc_lora_read_gguf(asc_lora_set *s, size_t i, const asc_lora_base *base) {
    asc_gguf *g = NULL;
    asc_status st = asc_gguf_open(s->ctx, s->list[i].path, &g);
    if (st == ASC_OK) st = asc_lora_parse_gguf(s, i, base, g);
    asc_gguf_close(s->ctx, g);
    return st;
}
