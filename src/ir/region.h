/* region.h - which nodes may stand in one fused region, and how each of them reads its inputs there.
 *
 * A region is a stretch of nodes with one asc_node.group. All its values have `rows` rows: the leading axes
 * of every shape in it multiply to that number, so row r is a contiguous run of elements, and runs of rows
 * (tiles) can go through all nodes before the next tile starts. A node reads an input by rows (the same rows
 * as it writes) or whole (it repeats over the rows); what the region itself makes is read by rows only. A
 * region that starts with a matrix product goes by parts of its result, columns too: behind the product stand
 * only nodes that treat elements one by one. A convolution is such a product: rows [B,M], columns positions.
 */
#ifndef ASC_REGION_H
#define ASC_REGION_H

#include "program.h"

enum { ASC_REGION_MAX_NODES = 32 };

typedef struct asc_region {
    size_t first, last; /* nodes [first, last] */
    int64_t rows;
    bool product; /* the first node is a matrix product or a convolution */
} asc_region;

typedef enum asc_reads {
    ASC_READS_OTHER, /* in another way: no tile can be read */
    ASC_READS_ROWS,
    ASC_READS_WHOLE
} asc_reads;

/* The region of nodes [first, last], with the largest number of rows that all of them agree on; false if they
 * cannot run together. The nodes' groups are not looked at. */
bool asc_region_of(const asc_program *p, size_t first, size_t last, asc_region *out);
/* The same for nodes anywhere in the program, by rising index, as if they stood together. */
bool asc_region_of_nodes(const asc_program *p, const int32_t *nodes, size_t n, asc_region *out);
/* The last node of the stretch with nodes[k]'s group that holds node k; k itself without a group. */
size_t asc_region_end(const asc_program *p, size_t k);

/* How node n reads its input i in a region of so many rows. */
asc_reads asc_region_reads(const asc_program *p, const asc_node *n, int i, int64_t rows);
/* Number of leading axes of s that multiply to rows, as few as possible; -1 = none do. */
int asc_region_axes(const asc_shape *s, int64_t rows);
/* Whether the node could be in some region: behind the first node, or as the product that leads. */
bool asc_region_may_hold(const asc_node *n);
bool asc_region_may_lead(const asc_node *n);

#endif
