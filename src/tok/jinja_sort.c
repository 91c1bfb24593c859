/* jinja_sort.c - the filters sort and dictsort: stable, letters compared without case unless asked otherwise.
 */
#include "jinja_ast.h"

typedef struct sorting {
    asc_jinja *j;
    const asc_jinja_value *key; /* by original position */
    size_t off;
    bool reverse;
} sorting;

/* Whether element b must come before element a, which stands left of it. */
static asc_status goes_before(const sorting *s, size_t b, size_t a, bool *yes) {
    return asc_jinja_compare(s->j, s->reverse ? JO_GT : JO_LT, &s->key[b], &s->key[a], s->off, yes);
}

/* Merges order[lo..mid) and order[mid..hi) by way of tmp. */
static asc_status merge(const sorting *s, size_t *order, size_t *tmp, size_t lo, size_t mid, size_t hi) {
    size_t a = lo, b = mid;
    for (size_t i = lo; i < hi; i++) {
        bool right = a == mid;
        if (!right && b < hi) ASC_JINJA_DO(goes_before(s, order[b], order[a], &right));
        tmp[i] = right ? order[b++] : order[a++];
    }
    memcpy(order + lo, tmp + lo, (hi - lo) * sizeof *order);
    return ASC_OK;
}

/* Sorts the elements of l by keys[], one for each; both are changed in place. */
static asc_status sort_by(asc_jinja *j, asc_jinja_list *l, asc_jinja_value *keys, bool any_case, bool reverse,
                          size_t off) {
    size_t n = l->n, *order = asc_jinja_alloc(j, n, 2 * sizeof *order);
    asc_jinja_value *sorted = asc_jinja_alloc(j, n, sizeof *sorted);
    sorting s = {j, keys, off, reverse};
    if (order == NULL || sorted == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        if (any_case && keys[i].type == ASC_JINJA_STRING) {
            asc_jinja_str low;
            ASC_JINJA_DO(asc_jinja_recase(j, keys[i].u.s, false, &low));
            keys[i].u.s = low;
        }
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo + width < n; lo += 2 * width) {
            size_t hi = lo + 2 * width < n ? lo + 2 * width : n;
            ASC_JINJA_DO(merge(&s, order, order + n, lo, lo + width, hi));
        }
    }
    for (size_t i = 0; i < n; i++) sorted[i] = l->v[order[i]];
    l->v = sorted;
    return ASC_OK;
}

static bool flag(const asc_jinja_value *v) { return v != NULL && asc_jinja_truth(v); }

asc_status asc_jinja_sort(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    const asc_jinja_list *in;
    asc_jinja_list *l, *keys;
    ASC_JINJA_DO(asc_jinja_iterate(j, &c->self, c->off, &in));
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &l));
    ASC_JINJA_DO(asc_jinja_list_new(j, in->n, &keys));
    for (size_t i = 0; i < in->n; i++) {
        l->v[i] = keys->v[i] = in->v[i];
        if (c->arg[2] != NULL && c->arg[2]->type != ASC_JINJA_NONE)
            ASC_JINJA_DO(asc_jinja_path(j, c, &in->v[i], c->arg[2], &keys->v[i]));
    }
    ASC_JINJA_DO(sort_by(j, l, keys->v, !flag(c->arg[1]), flag(c->arg[0]), c->off));
    return asc_jinja_list_done(j, l, out);
}

asc_status asc_jinja_dictsort(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out) {
    asc_jinja_value part;
    asc_view by = asc_view_of("key");
    if (c->self.type != ASC_JINJA_DICT)
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "dictsort needs a dict, not a %s",
                              asc_jinja_type_name(&c->self));
    if (c->arg[1] != NULL && c->arg[1]->type == ASC_JINJA_STRING)
        ASC_JINJA_DO(asc_jinja_str_flat(j, c->arg[1]->u.s, &by));
    bool value = asc_view_eqs(by, "value");
    if (!value && !asc_view_eqs(by, "key"))
        return asc_jinja_fail(j, c->off, ASC_INVALID_ARGUMENT, "dictsort sorts by 'key' or 'value'");
    ASC_JINJA_DO(asc_jinja_dict_part(j, c->self.u.dict, !value, value, &part));
    ASC_JINJA_DO(asc_jinja_dict_part(j, c->self.u.dict, true, true, out));
    return sort_by(j, out->u.list, part.u.list->v, !flag(c->arg[0]), flag(c->arg[2]), c->off);
}
