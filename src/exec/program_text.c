/* program_text.c - see program_text.h. */
#include "program_text.h"
#include "alloc.h"
#include <string.h>

static bool fits_line(const char *label) { return label == NULL || strpbrk(label, "\n\r") == NULL; }

asc_status asc_program_text(asc_ctx *ctx, const asc_program *p, bool labels, asc_strbuf *out) {
    asc_program plain = *p;
    size_t bytes;
    if (!asc_mul_size(p->n_nodes + 1, sizeof *p->nodes, &bytes)) return ASC_RESOURCE_EXHAUSTED;
    plain.nodes = asc_alloc(ctx, ASC_MEM_PROGRAM, bytes);
    if (plain.nodes == NULL) return ASC_RESOURCE_EXHAUSTED;
    memcpy(plain.nodes, p->nodes, p->n_nodes * sizeof *p->nodes);
    for (size_t i = 0; i < p->n_nodes; i++)
        if (!labels || !fits_line(plain.nodes[i].label)) plain.nodes[i].label = NULL;
    asc_program_print(&plain, out);
    asc_free(ctx, plain.nodes);
    return asc_strbuf_status(out);
}
