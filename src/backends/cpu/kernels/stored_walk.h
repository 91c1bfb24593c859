/* stored_walk.h - the order in which stored_gemm_amx.c goes through blocks of k and columns. */
#ifndef ASC_STORED_WALK_H
#define ASC_STORED_WALK_H

#include "stored_job.h"

/* The units of a strip of rows, each one block of 32 columns: links of blocks, in each all columns, in each
 * its blocks. W lies in the order in which it is needed, or each unit would be in another page. */
typedef struct walk {
    int64_t blocks, columns, links; /* columns: groups of 32 */
    int64_t l, n, q, from, to;      /* the unit; the link's blocks */
} walk;

static inline walk walk_of(int64_t blocks, int64_t columns) {
    const int64_t links = (blocks + ASC_STORED_LINK - 1) / ASC_STORED_LINK;
    return (walk){.blocks = blocks, .columns = columns, .links = links, .to = blocks / links};
}

static inline void next_link(walk *w) {
    w->l++;
    w->q = w->from = w->to;
    w->to = w->blocks * (w->l + 1) / w->links;
}

static inline void next_unit(walk *w) {
    if (++w->q < w->to) return;
    w->q = w->from;
    if (++w->n < w->columns) return;
    w->n = 0;
    next_link(w);
}

/* Where the unit lies among all. */
static inline int64_t place_of(const walk *w) {
    return w->from * w->columns + w->n * (w->to - w->from) + w->q - w->from;
}

#endif
