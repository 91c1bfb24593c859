/* npz.c - .npz files: a zip of .npy files, as numpy.savez and savez_compressed write them. */
#include "array_files.h"
#include "npy.h"
#include "zip.h"

static asc_status member(asc_ctx *ctx, const asc_zip_member *m, const asc_array_sink *sink) {
    static const char ending[] = ".npy";
    const size_t n = sizeof ending - 1;
    asc_view name = m->name;
    const uint8_t *data;
    uint8_t *owned = NULL;
    asc_npy npy;
    asc_array a;
    if (name.len <= n || memcmp(name.ptr + name.len - n, ending, n) != 0) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED, "it is no .npy file");
        return asc_hint(ctx, "an .npz file holds arrays only; make it with numpy.savez");
    }
    name.len -= n;
    asc_status st = asc_zip_unpack(ctx, m, &data, &owned);
    if (st == ASC_OK) st = asc_npy_parse(ctx, data, m->bytes, &npy);
    if (st == ASC_OK) {
        bool ready = owned == NULL && !npy.swap && !npy.fortran && npy.elem != ASC_ELEM_BOOL;
        a = (asc_array){.elem = npy.elem, .shape = npy.shape, .data = data + npy.offset};
        if (!ready) st = asc_npy_copy(ctx, data, &npy, &a);
        asc_free(ctx, owned);
        return st == ASC_OK ? sink->put(sink->self, name, &a, !ready) : st;
    }
    asc_free(ctx, owned);
    return st;
}

asc_status asc_npz_parse(asc_ctx *ctx, const void *data, size_t size, const asc_array_sink *sink) {
    asc_zip z;
    asc_zip_member m = {0};
    asc_status st = asc_zip_open(ctx, data, size, &z);
    while (st == ASC_OK) {
        st = asc_zip_next(ctx, &z, &m);
        if (st != ASC_OK || m.name.ptr == NULL) return st;
        st = member(ctx, &m, sink);
    }
    asc_view cut = asc_view_cut(m.name, 100);
    return m.name.ptr == NULL ? st : asc_fail_context(ctx, "member '" ASC_VIEW_FMT "'", ASC_VIEW_ARG(cut));
}
