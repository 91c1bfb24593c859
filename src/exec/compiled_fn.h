/* compiled_fn.h - what a compiled function is made of, for the files that make, store and load them. */
#ifndef ASC_COMPILED_FN_H
#define ASC_COMPILED_FN_H

#include "ascribe/compile.h"
#include "compiled.h"

struct asc_compiled {
    asc_ctx *ctx;
    asc_compile_def def; /* fn NULL: loaded from a file */
    char name[64];
    uint64_t recorded, run;
    int64_t *key; /* room for a signature: for each input type, rank and dimensions */
    size_t n_key;
    asc_tensor **ins, **outs;
    double *other;        /* scalars of the second recording */
    asc_capture **loaded; /* [n_loaded] of the file, owned; no bound of the context drops them */
    size_t n_loaded;
};

/* With room for what def counts; def->fn may be NULL. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_compiled_create(asc_ctx *ctx, const asc_compile_def *def, asc_compiled **out);

/* ascp_load.c: the loaded capture with the signature in c->key. NOT_FOUND names those there are. */
ASC_MUST_USE asc_status asc_compiled_find(asc_compiled *c, asc_capture **out);

#endif
