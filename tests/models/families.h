/* families.h - the folders with a tiny model of each family, and the question that tests ask all of them. */
#ifndef ASC_TEST_FAMILIES_H
#define ASC_TEST_FAMILIES_H

#include "ascribe/attr.h"
#include "harness.h"
#include <dirent.h>

enum { FAMILY_TOKENS = 4 };
static const int32_t family_ids[FAMILY_TOKENS] = {3, 9, 4, 7};

static inline asc_request family_request(const char *method) {
    static const int32_t target[] = {5};
    return (asc_request){.struct_size = sizeof(asc_request),
                         .method = method,
                         .features = ASC_FEATURES_TOKEN,
                         .prompt_ids = family_ids,
                         .n_prompt_ids = FAMILY_TOKENS,
                         .target_ids = target,
                         .n_target_ids = 1};
}

/* Calls fn for every folder, or for the one called `only` (NULL = all), of which there are more than 50. */
static inline void each_family(const char *only, void (*fn)(const char *folder, const char *name, size_t k)) {
    char folder[4096], root[4096];
    snprintf(root, sizeof root, "%s", test_data("hf"));
    DIR *d = opendir(root);
    assert_non_null(d);
    size_t k = 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || (only != NULL && strcmp(only, e->d_name) != 0)) continue;
        assert_in_range(snprintf(folder, sizeof folder, "%s/%s", root, e->d_name), 1, sizeof folder - 1);
        fn(folder, e->d_name, k++);
    }
    closedir(d);
    assert_true(k > (only == NULL ? 50 : 0));
}

#endif
