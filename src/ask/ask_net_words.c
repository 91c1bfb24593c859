/* ask_net_words.c - short texts that name parts of a question about a net: masks, rules, neurons, classes. */
#include "ascribe/net_defaults.h"
#include "nearest.h"
#include "net.h"
#include "plain.h"
#include <stdlib.h>

int asc_whole_numbers_parse(const char *s, char separator, int64_t *out, int most) {
    int n = 0;
    while (n < most) {
        char *end;
        out[n++] = strtoll(s, &end, 10);
        if (end == s) return 0;
        if (*end == '\0') return n;
        if (*end != separator) return 0;
        s = end + 1;
    }
    return 0;
}

bool asc_mask_parse(const char *text, asc_mask_words *out) {
    int64_t size[2] = {0};
    bool grid = strncmp(text, "grid:", 5) == 0;
    if (!grid && strncmp(text, "superpixels:", 12) != 0) return false;
    int k = asc_whole_numbers_parse(strchr(text, ':') + 1, 'x', size, 2);
    if (k == 0 || size[0] < 1 || (k == 2 && size[1] < 1) || (!grid && k != 1)) return false;
    *out = (asc_mask_words){.grid = grid, .rows = size[0], .cols = k == 2 ? size[1] : size[0]};
    return true;
}

bool asc_rule_parse(const char *text, char name[32], asc_rule_choice *out) {
    size_t n = strcspn(text, ":");
    if (n == 0 || n >= 32) return false;
    memcpy(name, text, n);
    name[n] = '\0';
    *out = (asc_rule_choice){.rule = name};
    if (text[n] == '\0') return true;
    char *end;
    out->a = asc_strtod(text + n + 1, &end);
    if (*end == ',') out->b = asc_strtod(end + 1, &end);
    return *end == '\0';
}

static bool is_site(const asc_net *net, asc_view name) {
    for (size_t i = 0; i < net->n_sites; i++) {
        if (asc_view_eqs(name, net->sites[i])) return true;
    }
    return false;
}

bool asc_neuron_parse(const asc_net *net, const char *text, asc_view *site, int64_t *index, int *rank) {
    const char *colon = strrchr(text, ':'); /* names of ONNX values may hold colons too */
    *rank = colon != NULL ? asc_whole_numbers_parse(colon + 1, ',', index, ASC_MAX_RANK) : 0;
    *site = asc_view_of(text);
    if (*rank == 0) return is_site(net, *site);
    asc_view before = asc_view_make(text, (size_t)(colon - text));
    if (!is_site(net, before) && is_site(net, *site))
        *rank = 0;
    else
        *site = before;
    return site->len > 0;
}

const char *const *asc_net_labels(const asc_net *net, size_t *n) {
    *n = net->labels != NULL ? net->n_labels : 0;
    return *n > 0 ? net->labels : NULL;
}

int64_t asc_label_find(const char *const *labels, size_t n, asc_view name, const char **nearest) {
    *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (asc_view_eqs(name, labels[i])) return (int64_t)i;
    }
    *nearest = asc_nearest_meant(labels, n, name);
    return -1;
}
