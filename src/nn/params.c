/* params.c - see params.h. Names are looked up in every run of a net, hence the table. */
#include "params.h"
#include "exec.h"
#include "hash.h"
#include "net.h"

asc_status asc_params_create(asc_ctx *ctx, asc_params **out) {
    *out = asc_calloc(ctx, ASC_MEM_GENERAL, 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    (*out)->ctx = ctx;
    return ASC_OK;
}

static void drop(asc_ctx *ctx, asc_array *a, bool owned) {
    if (owned) asc_array_free(ctx, a);
    *a = (asc_array){0};
}

void asc_params_destroy(asc_params *p) {
    if (p == NULL) return;
    asc_params_cut(p, 0, 0);
    asc_free(p->ctx, p->entries);
    asc_free(p->ctx, p->slots);
    asc_free(p->ctx, p->maps);
    asc_free(p->ctx, p);
}

/* The slot of a name, or the free one where it belongs. */
static size_t slot_of(const asc_params *p, asc_view name) {
    size_t k = (size_t)asc_hash64(name.ptr, name.len, 0) & (p->n_slots - 1);
    while (p->slots[k] != 0 && !asc_view_eqs(name, p->entries[p->slots[k] - 1].name))
        k = (k + 1) & (p->n_slots - 1);
    return k;
}

int64_t asc_params_find(const asc_params *p, asc_view name) {
    return p->n_slots == 0 ? -1 : (int64_t)p->slots[slot_of(p, name)] - 1;
}

static void fill_slots(asc_params *p) {
    if (p->slots != NULL) memset(p->slots, 0, p->n_slots * sizeof *p->slots);
    for (size_t i = 0; i < p->n; i++) p->slots[slot_of(p, asc_view_of(p->entries[i].name))] = i + 1;
}

/* At most half full after one more entry. */
static asc_status reserve(asc_params *p) {
    asc_status st =
        asc_grow(p->ctx, ASC_MEM_GENERAL, (void **)&p->entries, &p->cap, p->n + 1, sizeof *p->entries);
    if (st != ASC_OK || 2 * (p->n + 1) <= p->n_slots) return st;
    size_t want = p->n_slots > 0 ? 2 * p->n_slots : 16;
    size_t *slots = asc_calloc(p->ctx, ASC_MEM_GENERAL, want, sizeof *slots);
    if (slots == NULL) return ASC_RESOURCE_EXHAUSTED;
    asc_free(p->ctx, p->slots);
    p->slots = slots;
    p->n_slots = want;
    fill_slots(p);
    return ASC_OK;
}

asc_status asc_params_put(asc_params *p, asc_view name, const asc_array *a, bool take_array) {
    asc_array mine = *a;
    asc_view cut = asc_view_cut(name, 200);
    asc_status st = ASC_OK;
    char *copy = NULL;
    if (asc_array_count(a) < 0 || asc_elem_name(a->elem) == NULL) {
        st = ASC_FAIL(p->ctx, ASC_INVALID_ARGUMENT, "parameter '" ASC_VIEW_FMT "': no possible shape or type",
                      ASC_VIEW_ARG(cut));
        goto done;
    }
    if (asc_params_find(p, name) >= 0) {
        ASC_FAIL(p->ctx, ASC_ALREADY_EXISTS, "there is a parameter '" ASC_VIEW_FMT "' already",
                 ASC_VIEW_ARG(cut));
        st = asc_hint(p->ctx, "load the second file under a prefix");
        goto done;
    }
    ASC_TRY(reserve(p));
    copy = asc_strdup_view(p->ctx, ASC_MEM_GENERAL, name);
    if (copy == NULL) {
        st = ASC_RESOURCE_EXHAUSTED;
        goto done;
    }
    p->entries[p->n] = (asc_param_entry){.name = copy, .array = mine, .owned = take_array};
    p->n++;
    p->slots[slot_of(p, name)] = p->n;
    return ASC_OK;
done:
    drop(p->ctx, &mine, take_array);
    return st;
}

asc_status asc_params_add(asc_params *p, const char *name, const asc_array *a) {
    int64_t n = asc_array_count(a);
    size_t bytes;
    if (n < 0 || !asc_mul_size((size_t)n, asc_elem_bytes(a->elem), &bytes) || (n > 0 && a->data == NULL))
        return ASC_FAIL(p->ctx, ASC_INVALID_ARGUMENT, "parameter '%.200s': no possible shape, type or data",
                        name);
    void *data = asc_alloc_buffer(p->ctx, ASC_MEM_WEIGHTS, bytes + 1);
    if (data == NULL) return ASC_RESOURCE_EXHAUSTED;
    if (bytes > 0) memcpy(data, a->data, bytes);
    asc_array copy = {.elem = a->elem, .shape = a->shape, .data = data};
    return asc_params_put(p, asc_view_of(name), &copy, true);
}

void asc_params_cut(asc_params *p, size_t n, size_t n_maps) {
    while (p->n > n) {
        asc_param_entry *e = &p->entries[--p->n];
        asc_tensor_release(e->leaf);
        drop(p->ctx, &e->array, e->owned);
        asc_free(p->ctx, e->name);
    }
    fill_slots(p);
    while (p->n_maps > n_maps) asc_map_close(p->ctx, &p->maps[--p->n_maps]);
}

asc_status asc_params_put_map(asc_params *p, const asc_map *take_map) {
    asc_map m = *take_map;
    asc_status st =
        asc_grow(p->ctx, ASC_MEM_GENERAL, (void **)&p->maps, &p->cap_maps, p->n_maps + 1, sizeof *p->maps);
    if (st != ASC_OK) {
        asc_map_close(p->ctx, &m);
        return st;
    }
    p->maps[p->n_maps++] = m;
    return ASC_OK;
}

asc_tensor *asc_params_leaf(asc_params *p, size_t i) {
    asc_param_entry *e = &p->entries[i];
    if (e->leaf != NULL) return e->leaf;
    asc_tensor *t = e->array.elem == ASC_ELEM_F32
                        ? asc_from_stored(p->ctx, ASC_DTYPE_F32, e->array.shape, e->array.data)
                        : asc_from_array(p->ctx, &e->array);
    if (t->poison != ASC_OK) return t;
    t->label = e->name; /* not that of the layer that happened to read it first */
    asc_tensor_retain(t);
    e->leaf = t;
    return t;
}
