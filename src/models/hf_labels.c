/* hf_labels.c - see hf_labels.h. */
#include "hf_labels.h"
#include "view.h"
#include <stdio.h>

enum { MOST_CLASSES = 1 << 20 };

asc_status asc_hf_count_labels(const asc_hf_keys *k, int64_t *out) {
    const asc_json *map = asc_hf_key(k, "id2label");
    int64_t said = 0;
    *out = 0;
    if (map != NULL && (asc_json_typeof(map) != ASC_JSON_OBJECT || asc_json_len(map) == 0 ||
                        asc_json_len(map) > MOST_CLASSES))
        return asc_hf_invalid(k, "id2label", "an object with a name for each class");
    asc_status st = asc_hf_count(k, "num_labels", -1, MOST_CLASSES, &said);
    if (st != ASC_OK) return st;
    *out = map != NULL ? (int64_t)asc_json_len(map) : said > 0 ? said : 2;
    return said == 0 || said == *out ? ASC_OK
                                     : asc_hf_invalid(k, "num_labels", "as many as id2label has entries");
}

asc_status asc_hf_read_labels(const asc_hf_keys *k, int64_t n, char ***out) {
    asc_hf_keys map = {k->ctx, asc_hf_key(k, "id2label"), k->file, "id2label."};
    asc_status st = ASC_OK;
    char key[32], what[64];
    *out = NULL;
    char **labels = asc_calloc(k->ctx, ASC_MEM_GENERAL, (size_t)n, sizeof *labels);
    if (labels == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; st == ASC_OK && i < n; i++) {
        asc_view name = {NULL, 0};
        snprintf(key, sizeof key, map.obj != NULL ? "%lld" : "LABEL_%lld", (long long)i);
        if (map.obj != NULL) st = asc_hf_word(&map, key, NULL, &name);
        if (st == ASC_OK && map.obj != NULL && name.ptr == NULL) {
            snprintf(what, sizeof what, "the name of class %lld", (long long)i);
            st = asc_hf_invalid(&map, key, what);
        }
        if (st != ASC_OK) break;
        labels[i] = asc_strdup_view(k->ctx, ASC_MEM_GENERAL, map.obj != NULL ? name : asc_view_of(key));
        if (labels[i] == NULL) st = ASC_RESOURCE_EXHAUSTED;
    }
    if (st == ASC_OK) *out = labels;
    if (st != ASC_OK) asc_hf_free_labels(k->ctx, labels, n);
    return st;
}

void asc_hf_free_labels(asc_ctx *ctx, char **labels, int64_t n) {
    for (int64_t i = 0; labels != NULL && i < n; i++) asc_free(ctx, labels[i]);
    asc_free(ctx, labels);
}
