/* params.h - named weights of nets: where they lie, and the leaves that nets read. */
#ifndef ASC_PARAMS_H
#define ASC_PARAMS_H

#include "ascribe/net.h"
#include "file.h"
#include "view.h"

typedef struct asc_param_entry {
    char *name;
    asc_array array;
    bool owned;       /* the data is freed with the entry; otherwise it lies in one of the maps */
    asc_tensor *leaf; /* made when it is first read; counted, so that it outlives the scope of a run */
} asc_param_entry;

struct asc_params {
    asc_ctx *ctx;
    asc_param_entry *entries;
    size_t n, cap;
    size_t *slots; /* open addressing by name: index + 1, 0 = free; n_slots is a power of two */
    size_t n_slots;
    asc_map *maps;
    size_t n_maps, cap_maps;
};

/* Adds an array under a name. take_array: its data becomes the collection's (consumed, also when this fails);
 * otherwise it must stay where it is. ALREADY_EXISTS if the name is taken. */
ASC_MUST_USE asc_status asc_params_put(asc_params *p, asc_view name, const asc_array *a, bool take_array);
/* Removes everything behind the first n entries and n_maps maps: a file that fails half-way leaves nothing.
 */
void asc_params_cut(asc_params *p, size_t n, size_t n_maps);
/* Keeps a mapped file open as long as the collection; consumed, also when this fails. */
ASC_MUST_USE asc_status asc_params_put_map(asc_params *p, const asc_map *take_map);

int64_t asc_params_find(const asc_params *p, asc_view name); /* -1 = unknown; records no error */
/* Value of entry i: f32 for floats (all digits of f64 on the reference device), i32 for integers. */
asc_tensor *asc_params_leaf(asc_params *p, size_t i);

#endif
