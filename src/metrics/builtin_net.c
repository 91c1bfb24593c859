/* builtin_net.c - the sample nets for users: see ascribe/builtin.h. */
#include "alloc.h"
#include "ascribe/builtin.h"
#include "sample_nets.h"
#include <string.h>

struct asc_builtin {
    asc_ctx *ctx;
    asc_sample_net sample;
    asc_sample_parts parts;
};

static const char *const names[ASC_N_SAMPLE_NETS] = {"mlp", "cnn", "transformer"};

const char *asc_builtin_name(size_t i) { return i < ASC_N_SAMPLE_NETS ? names[i] : NULL; }

asc_net *asc_builtin_net(const asc_builtin *b) { return b->sample.net; }

asc_status asc_builtin_open(asc_ctx *ctx, const char *name, asc_builtin **out) {
    size_t i = 0;
    *out = NULL;
    while (i < ASC_N_SAMPLE_NETS && strcmp(names[i], name) != 0) i++;
    if (i == ASC_N_SAMPLE_NETS) {
        ASC_FAIL(ctx, ASC_NOT_FOUND, "no built-in net '%.60s'", name);
        return asc_hint(ctx, "use mlp, cnn or transformer");
    }
    asc_builtin *b = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof *b);
    if (b == NULL) return ASC_RESOURCE_EXHAUSTED;
    b->ctx = ctx;
    asc_status st = asc_sample_net_init(ctx, i, &b->sample);
    if (st == ASC_OK)
        *out = b;
    else
        asc_builtin_close(b);
    return st;
}

void asc_builtin_close(asc_builtin *b) {
    if (b == NULL) return;
    asc_sample_net_deinit(&b->sample);
    asc_free(b->ctx, b);
}

asc_status asc_builtin_request(asc_builtin *b, const char *method, bool at_site, asc_attr_request *out) {
    int k = asc_method_find(method);
    *out = (asc_attr_request){0};
    if (k < 0 || asc_methods[k]->attribute == NULL)
        return ASC_FAIL(b->ctx, ASC_NOT_FOUND, "no method '%.60s' for nets", method != NULL ? method : "");
    if (!asc_sample_applies(asc_methods[k], &b->sample, at_site))
        return ASC_FAIL(b->ctx, ASC_UNIMPLEMENTED, "%s makes no sense at the %s of the built-in %s",
                        asc_methods[k]->info.name, at_site ? "site" : "input", b->sample.name);
    /* One of its two examples; permutation is between examples. */
    b->sample.input.shape.dims[0] = strcmp(asc_methods[k]->info.name, "feature-permutation") == 0 ? 2 : 1;
    *out = asc_sample_request(asc_methods[k], &b->sample, at_site, &b->parts);
    return ASC_OK;
}
