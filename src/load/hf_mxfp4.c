/* hf_mxfp4.c - experts in MXFP4 as gpt-oss's folders hold them: NAME_blocks U8 [E,rows,n,16], each byte two
 * neighbours of 32 elements (the even one in the low half), and NAME_scales U8 [E,rows,n], powers of two.
 * They become the type of GGUF files: a scale, then 16 bytes whose low halves are the first 16 elements.
 * Source: OCP Microscaling Formats 1.0; transformers 5.24, integrations/mxfp4. */
#include "alloc.h"
#include "array_files.h"
#include "hf_folder.h"
#include "view.h"
#include <stdio.h>

enum { BYTES = 16, BLOCK = 32, STORED = 17 };

static asc_status mismatch(const asc_hf_folder *f, const asc_hf_tensor *t, const char *what) {
    asc_view cut = asc_view_cut(t->name, 200);
    ASC_FAIL(f->ctx, ASC_INVALID_ARGUMENT, "'%s': tensor '" ASC_VIEW_FMT "' %s", f->path, ASC_VIEW_ARG(cut),
             what);
    return asc_hint(f->ctx,
                    "experts in mxfp4 are a tensor of blocks [E,rows,n,16] and one of scales [E,rows,n], "
                    "both of bytes; fetch the files again");
}

static const asc_hf_tensor *scales_of(const asc_hf_folder *f, const asc_hf_tensor *blocks) {
    char name[256];
    const size_t end = strlen("_blocks");
    if (blocks->name.len <= end || blocks->name.len >= sizeof name - 8) return NULL;
    snprintf(name, sizeof name, ASC_VIEW_FMT "_scales", (int)(blocks->name.len - end), blocks->name.ptr);
    const int64_t i = asc_name_index_find(&f->index, asc_view_of(name));
    return i >= 0 ? &f->v[i] : NULL;
}

asc_status asc_hf_put_mxfp4(const asc_hf_folder *f, asc_hf_tensor *blocks, asc_view name, asc_weights *w) {
    const asc_hf_tensor *scales = scales_of(f, blocks);
    const int64_t *d = blocks->shape.dims;
    if (scales == NULL) return mismatch(f, blocks, "has no scales beside it");
    bool fits = blocks->elem == ASC_ELEM_U8 && scales->elem == ASC_ELEM_U8 && blocks->shape.rank == 4 &&
                scales->shape.rank == 3 && d[3] == BYTES;
    for (int i = 0; fits && i < 3; i++) fits = scales->shape.dims[i] == d[i];
    if (!fits) return mismatch(f, blocks, "and its scales do not have the shapes and the type of mxfp4");
    blocks->used = true;
    const size_t n = scales->bytes;
    asc_status st = asc_grow(f->ctx, ASC_MEM_WEIGHTS, (void **)&w->copies, &w->cap_copies, w->n_copies + 1,
                             sizeof *w->copies);
    if (st != ASC_OK) return st;
    uint8_t *out = asc_alloc_buffer(f->ctx, ASC_MEM_WEIGHTS, n * STORED + 1);
    if (out == NULL)
        return ASC_FAIL(f->ctx, ASC_RESOURCE_EXHAUSTED, "out of memory: %zu bytes for a layer's experts",
                        n * STORED);
    w->copies[w->n_copies++] = out;
    for (size_t i = 0; i < n; i++, out += STORED) {
        const uint8_t *in = blocks->data + i * BYTES;
        out[0] = scales->data[i];
        for (int k = 0; k < BYTES; k++) { /* elements k and k + 16 */
            const int lo = in[k / 2] >> (k % 2 * 4) & 15, hi = in[(k + BYTES) / 2] >> (k % 2 * 4) & 15;
            out[1 + k] = (uint8_t)(lo | hi << 4);
        }
    }
    const asc_weight mine = {.name = name,
                             .source = blocks->name,
                             .dtype = ASC_DTYPE_MXFP4,
                             .rank = 3,
                             .dims = {d[0], d[1], d[2] * BLOCK},
                             .data = w->copies[w->n_copies - 1]};
    return asc_weights_add(w, &mine);
}
