/* methods.c - the table of methods, and the names of options. */
#include "ascribe/attribute.h"
#include "method.h"
#include <string.h>

const asc_method *const asc_methods[] = {
#define METHOD(name) &asc_method_##name,
#include "methods.def"
#undef METHOD
};
const size_t asc_n_methods = sizeof asc_methods / sizeof *asc_methods;

const asc_method_info *asc_method_at(size_t i) { return i < asc_n_methods ? &asc_methods[i]->info : NULL; }

/* The next letter of a name that counts, in lower case; 0 at its end. */
static int next_letter(const char **s) {
    while (**s == '-' || **s == '_' || **s == ' ') ++*s;
    int c = (unsigned char)**s;
    if (c != 0) ++*s;
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Short names for what is asked for most. */
static const char *full_name(const char *name) {
    return name != NULL && strcmp(name, "shapley") == 0 ? "shapley-value-sampling" : name;
}

int asc_method_find(const char *name) {
    name = full_name(name);
    for (size_t i = 0; name != NULL && i < asc_n_methods; i++) {
        const char *a = asc_methods[i]->info.name, *b = name;
        int x, y;
        do {
            x = next_letter(&a);
            y = next_letter(&b);
        } while (x == y && x != 0);
        if (x == y) return (int)i;
    }
    return -1;
}

bool asc_method_reads_of(const asc_method_info *m, const char *word, bool nets) {
    static const char prompts_alone[] = " (prompts";
    const size_t n = strlen(word);
    const char *of_nets = strstr(m->options, "nets:");
    for (const char *p = strstr(m->options, word); p != NULL; p = strstr(p + 1, word)) {
        const bool begins = p == m->options || p[-1] == ' ',
                   ends = p[n] == '\0' || strchr(",; ", p[n]) != NULL;
        if (!begins || !ends) continue;
        if (nets ? strncmp(p + n, prompts_alone, strlen(prompts_alone)) != 0 : of_nets == NULL || p < of_nets)
            return true;
    }
    return false;
}

bool asc_method_reads(const asc_method_info *m, const char *word) {
    return asc_method_reads_of(m, word, false) || asc_method_reads_of(m, word, true);
}

bool asc_attr_reads(const asc_attr_request *q, const char *word) {
    const int known[] = {asc_method_find(q->method), q->base != NULL ? asc_method_find(q->base) : -1};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i] >= 0 && asc_method_reads_of(&asc_methods[known[i]]->info, word, true)) return true;
    }
    return false;
}

asc_method_traits asc_method_traits_at(size_t i) {
    if (i >= asc_n_methods) return (asc_method_traits){0};
    const asc_method *m = asc_methods[i];
    return (asc_method_traits){.prompts = m->run != NULL,
                               .nets = m->attribute != NULL,
                               .by_gradient = m->by_gradient,
                               .takes_integers = m->takes_integers,
                               .needs_site = m->needs_site,
                               .needs_neuron = m->needs_neuron,
                               .stochastic = m->stochastic,
                               .complete = m->complete};
}

static const char *const feature_names[] = {"word", "token", "sentence", "message", "paragraph", "slot"};
static const char *const output_names[] = {"logprob", "prob", "logit", "kl", "similarity"};
static const char *const baseline_names[] = {"auto", "remove", "eos", "pad", "token", "zero", "mean", "mask"};

static int find(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) return (int)i;
    }
    return -1;
}

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define NAME(a, i) ((size_t)(i) < COUNT(a) ? (a)[i] : NULL)
int asc_features_from_name(const char *name) { return find(feature_names, COUNT(feature_names), name); }
const char *asc_features_name(asc_features f) { return NAME(feature_names, f); }
int asc_output_from_name(const char *name) { return find(output_names, COUNT(output_names), name); }
const char *asc_output_name(asc_output o) { return NAME(output_names, o); }
int asc_baseline_from_name(const char *name) { return find(baseline_names, COUNT(baseline_names), name); }
const char *asc_baseline_name(asc_baseline b) { return NAME(baseline_names, b); }
