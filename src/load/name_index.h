/* name_index.h - look-up by name in an array whose elements begin with an asc_view; shared by the readers of
 * model files. */
#ifndef ASC_NAME_INDEX_H
#define ASC_NAME_INDEX_H

#include "alloc.h"
#include "view.h"

/* Open-addressed hash from names to positions in an array whose elements begin with an asc_view. */
typedef struct asc_name_index {
    uint32_t *slots; /* position + 1; 0 = free */
    uint32_t mask;
    uint64_t seed;
    const void *base;
    size_t stride;
} asc_name_index;

/* Room for `count` names (at most 2^30) in the arena. RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_name_index_init(asc_arena *arena, asc_name_index *x, const void *base,
                                            size_t stride, size_t count);
/* False when the name of element `i` is there already. */
bool asc_name_index_add(asc_name_index *x, uint32_t i);
int64_t asc_name_index_find(const asc_name_index *x, asc_view name); /* -1 = absent */

#endif
