/* name_index.c - look-up by name; see name_index.h. */
#include "name_index.h"
#include "hash.h"

static asc_view name_at(const asc_name_index *x, uint32_t i) {
    return *(const asc_view *)((const char *)x->base + (size_t)i * x->stride);
}

asc_status asc_name_index_init(asc_arena *arena, asc_name_index *x, const void *base, size_t stride,
                               size_t count) {
    uint32_t cap = 16;
    while (cap < 2 * count) cap *= 2; /* count is limited */
    *x = (asc_name_index){.mask = cap - 1, .base = base, .stride = stride};
    /* A seed that the file's author cannot know, so that names chosen to collide do not. Look-ups do not
     * depend on it. */
    x->seed = (uint64_t)(uintptr_t)x;
    x->slots = asc_arena_alloc(arena, cap * sizeof *x->slots);
    return x->slots == NULL ? ASC_RESOURCE_EXHAUSTED : ASC_OK;
}

/* The slot that holds `name`, or the free one where it would go. */
static uint32_t slot_of(const asc_name_index *x, asc_view name) {
    uint32_t s = (uint32_t)asc_hash64(name.ptr, name.len, x->seed) & x->mask;
    while (x->slots[s] != 0 && !asc_view_eq(name_at(x, x->slots[s] - 1), name)) s = (s + 1) & x->mask;
    return s;
}

bool asc_name_index_add(asc_name_index *x, uint32_t i) {
    uint32_t s = slot_of(x, name_at(x, i));
    if (x->slots[s] != 0) return false;
    x->slots[s] = i + 1;
    return true;
}

int64_t asc_name_index_find(const asc_name_index *x, asc_view name) {
    if (x->slots == NULL) return -1;
    return (int64_t)x->slots[slot_of(x, name)] - 1;
}
