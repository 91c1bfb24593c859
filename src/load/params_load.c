/* params_load.c - weights of nets from files; what a file is, its first bytes say. */
#include "array_files.h"
#include "npy.h"
#include "params.h"

typedef struct receiver {
    asc_params *p;
    const char *prefix;
} receiver;

static asc_status put(void *self, asc_view name, const asc_array *a, bool take_array) {
    const receiver *r = self;
    asc_ctx *ctx = r->p->ctx;
    if (r->prefix[0] == '\0') return asc_params_put(r->p, name, a, take_array);
    asc_strbuf full;
    asc_strbuf_init(&full, ctx);
    asc_strbuf_adds(&full, r->prefix);
    asc_strbuf_addv(&full, name);
    asc_status st = asc_strbuf_status(&full);
    asc_array mine = *a;
    if (st == ASC_OK) {
        st = asc_params_put(r->p, asc_strbuf_view(&full), a, take_array);
    } else if (take_array) {
        asc_array_free(ctx, &mine);
    }
    asc_strbuf_deinit(&full);
    return st;
}

static asc_status read_npy(asc_params *p, const asc_map *m, const char *name) {
    asc_npy npy;
    asc_array a;
    asc_status st = asc_npy_parse(p->ctx, m->data, m->size, &npy);
    if (st == ASC_OK) st = asc_npy_copy(p->ctx, m->data, &npy, &a);
    return st == ASC_OK ? asc_params_put(p, asc_view_of(name), &a, true) : st;
}

asc_status asc_params_load(asc_params *p, const char *path, const char *prefix) {
    asc_ctx *ctx = p->ctx;
    asc_map map = {.fd = -1};
    receiver r = {p, prefix != NULL ? prefix : ""};
    const asc_array_sink sink = {put, &r};
    const size_t n = p->n, n_maps = p->n_maps;
    asc_status st = asc_map_open(ctx, path, &map);
    if (st != ASC_OK) return st;
    const uint8_t *data = map.data;
    const size_t size = map.size;
    st = asc_map_check(ctx, &map);
    if (st != ASC_OK) {
        asc_map_close(ctx, &map);
        return st;
    }
    st = asc_params_put_map(p, &map); /* the map is the collection's from here on */
    if (st != ASC_OK) return st;
    if (size >= 4 && memcmp(data, "PK\3\4", 4) == 0) {
        st = asc_npz_parse(ctx, data, size, &sink);
    } else if (size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0) {
        st = read_npy(p, &p->maps[n_maps], r.prefix);
    } else if (size >= 9 && data[8] == '{') {
        st = asc_safetensors_parse(ctx, data, size, &sink);
    } else {
        ASC_FAIL(ctx, ASC_DATA_LOSS, "neither .npz nor safetensors, by its first bytes");
        st = asc_hint(ctx, "make it with numpy.savez or safetensors.save_file");
    }
    if (st != ASC_OK) {
        asc_fail_context(ctx, "%.400s", path);
        asc_params_cut(p, n, n_maps);
    }
    return st;
}
