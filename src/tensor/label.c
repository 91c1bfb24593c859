/* label.c - texts that live as long as the graph: labels of ops. A model interns its labels once when it is
 * opened, so that a recorded op, a cached program and a profile may all point at them. */
#include "tensor.h"
#include <string.h>

struct asc_label {
    struct asc_label *next;
    uint32_t hash;
    char text[];
};

enum { CHAINS = 64 }; /* at first; a power of 2, as all that follow */

static uint32_t hash_of(const char *text) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* Four times as many chains; those there were stay when there is no memory for more. */
static void grow(asc_ctx *ctx, asc_graph *g) {
    const size_t n = 4 * g->label_chains;
    struct asc_label **chains = asc_calloc(ctx, ASC_MEM_PROGRAM, n, sizeof *chains);
    if (chains == NULL) return;
    for (size_t c = 0; c < g->label_chains; c++) {
        for (struct asc_label *l = g->labels[c], *next; l != NULL; l = next) {
            next = l->next;
            l->next = chains[l->hash & (n - 1)];
            chains[l->hash & (n - 1)] = l;
        }
    }
    asc_free(ctx, g->labels);
    g->labels = chains;
    g->label_chains = n;
}

const char *asc_label_intern(asc_ctx *ctx, const char *text) {
    asc_graph *g = asc_graph_of(ctx);
    if (text == NULL) return NULL;
    const size_t len = strlen(text);
    const uint32_t h = hash_of(text);
    if (g->labels == NULL) {
        g->labels = asc_calloc(ctx, ASC_MEM_PROGRAM, CHAINS, sizeof *g->labels);
        if (g->labels == NULL) return NULL;
        g->label_chains = CHAINS;
    }
    for (struct asc_label *l = g->labels[h & (g->label_chains - 1)]; l != NULL; l = l->next) {
        if (l->hash == h && strcmp(l->text, text) == 0) return l->text;
    }
    if (g->n_labels > 2 * g->label_chains) grow(ctx, g);
    struct asc_label *l = asc_alloc(ctx, ASC_MEM_PROGRAM, sizeof *l + len + 1);
    if (l == NULL) return NULL;
    struct asc_label **chain = &g->labels[h & (g->label_chains - 1)];
    l->next = *chain;
    l->hash = h;
    memcpy(l->text, text, len + 1);
    *chain = l;
    g->n_labels++;
    return l->text;
}

void asc_label_free_all(asc_graph *g) {
    for (size_t c = 0; g->labels != NULL && c < g->label_chains; c++) {
        while (g->labels[c] != NULL) {
            struct asc_label *l = g->labels[c];
            g->labels[c] = l->next;
            asc_free(g->ctx, l);
        }
    }
    asc_free(g->ctx, g->labels);
    g->labels = NULL;
    g->n_labels = g->label_chains = 0;
}
