/* label.c - texts that live as long as the graph: labels of ops. A model interns its labels once when it is
 * opened, so that a recorded op, a cached program and a profile may all point at them. */
#include "tensor.h"
#include <string.h>

struct asc_label {
    struct asc_label *next;
    char text[];
};

enum { CHAINS = 64 };

static size_t chain_of(const char *text) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * 16777619u;
    return h % CHAINS;
}

const char *asc_label_intern(asc_ctx *ctx, const char *text) {
    asc_graph *g = asc_graph_of(ctx);
    if (text == NULL) return NULL;
    const size_t c = chain_of(text), len = strlen(text);
    for (struct asc_label *l = g->labels != NULL ? g->labels[c] : NULL; l != NULL; l = l->next) {
        if (strcmp(l->text, text) == 0) return l->text;
    }
    if (g->labels == NULL) {
        g->labels = asc_calloc(ctx, ASC_MEM_PROGRAM, CHAINS, sizeof *g->labels);
        if (g->labels == NULL) return NULL;
    }
    struct asc_label *l = asc_alloc(ctx, ASC_MEM_PROGRAM, sizeof *l + len + 1);
    if (l == NULL) return NULL;
    memcpy(l->text, text, len + 1);
    l->next = g->labels[c];
    g->labels[c] = l;
    return l->text;
}

void asc_label_free_all(asc_graph *g) {
    for (size_t c = 0; g->labels != NULL && c < CHAINS; c++) {
        while (g->labels[c] != NULL) {
            struct asc_label *l = g->labels[c];
            g->labels[c] = l->next;
            asc_free(g->ctx, l);
        }
    }
    asc_free(g->ctx, g->labels);
    g->labels = NULL;
}
