/* npy_file.c - .npy files by path: reading one, writing one. */
#include "file.h"
#include "npy.h"

asc_status asc_npy_read(asc_ctx *ctx, const char *path, asc_array *out) {
    asc_npy npy;
    asc_map map = {.fd = -1};
    *out = (asc_array){0};
    asc_status st = asc_map_open(ctx, path, &map);
    if (st != ASC_OK) return st;
    st = asc_npy_parse(ctx, map.data, map.size, &npy);
    if (st == ASC_OK) st = asc_map_check(ctx, &map);
    if (st == ASC_OK) st = asc_npy_copy(ctx, map.data, &npy, out);
    if (st != ASC_OK) asc_fail_context(ctx, "%.400s", path);
    asc_map_close(ctx, &map);
    return st;
}

asc_status asc_npy_print(asc_ctx *ctx, const asc_array *a, asc_strbuf *out) {
    static const char *const types[ASC_N_ELEMS] = {
        [ASC_ELEM_F32] = "<f4", [ASC_ELEM_F64] = "<f8", [ASC_ELEM_F16] = "<f2", [ASC_ELEM_I8] = "|i1",
        [ASC_ELEM_I16] = "<i2", [ASC_ELEM_I32] = "<i4", [ASC_ELEM_I64] = "<i8", [ASC_ELEM_U8] = "|u1",
        [ASC_ELEM_U16] = "<u2", [ASC_ELEM_U32] = "<u4", [ASC_ELEM_U64] = "<u8", [ASC_ELEM_BOOL] = "|b1"};
    enum { ALIGN = 64, MOST = 512 }; /* the elements start at a multiple of ALIGN */
    int64_t n = asc_array_count(a);
    size_t bytes;
    if (n < 0 || asc_elem_name(a->elem) == NULL ||
        !asc_mul_size((size_t)n, asc_elem_bytes(a->elem), &bytes) || (n > 0 && a->data == NULL))
        return ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "npy: an array without a possible shape, type or data");
    asc_strbuf head;
    asc_strbuf_init(&head, ctx);
    asc_strbuf_addf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (", types[a->elem]);
    for (int i = 0; i < a->shape.rank; i++)
        asc_strbuf_addf(&head, "%s%lld%s", i > 0 ? ", " : "", (long long)a->shape.dims[i],
                        a->shape.rank == 1 ? "," : "");
    asc_strbuf_adds(&head, "), }");
    while ((10 + head.len + 1) % ALIGN != 0 && head.len < MOST) asc_strbuf_addc(&head, ' ');
    asc_strbuf_addc(&head, '\n');
    asc_strbuf_add(out, "\x93NUMPY\x01\x00", 8);
    asc_strbuf_addc(out, (char)(head.len & 0xFF));
    asc_strbuf_addc(out, (char)(head.len >> 8));
    asc_strbuf_addv(out, asc_strbuf_view(&head));
    asc_strbuf_add(out, a->data, bytes);
    asc_status st = asc_strbuf_status(&head);
    asc_strbuf_deinit(&head);
    return st != ASC_OK ? st : asc_strbuf_status(out);
}

asc_status asc_npy_write(asc_ctx *ctx, const char *path, const asc_array *a) {
    asc_strbuf b;
    asc_strbuf_init(&b, ctx);
    asc_status st = asc_npy_print(ctx, a, &b);
    if (st == ASC_OK) st = asc_file_write(ctx, path, b.ptr, b.len);
    asc_strbuf_deinit(&b);
    return st;
}
