/* part.h - parts of values: which ops can compute an interval of one axis of their result alone, with the
 * bits that the interval has in the whole result, and which values are known to be zero outside such an
 * interval. */
#ifndef ASC_PART_H
#define ASC_PART_H

#include "program.h"

enum { ASC_PART_ALL = -1, ASC_PART_NONE = -2 };

/* Indices [lo, hi) of `axis`; axis ASC_PART_ALL: everything, ASC_PART_NONE: nothing. */
typedef struct asc_part {
    int axis;
    int64_t lo, hi;
} asc_part;

static inline asc_part asc_part_all(void) { return (asc_part){.axis = ASC_PART_ALL}; }
/* A part that is the whole axis is everything. */
asc_part asc_part_of(const asc_shape *shape, int axis, int64_t lo, int64_t hi);
/* The smallest part that holds both. */
asc_part asc_part_hull(const asc_shape *shape, asc_part a, asc_part b);
bool asc_part_is(asc_part p); /* a real part: neither everything nor nothing */

/* How a part of a node's result depends on its inputs: the same interval of axis[i] of input i, or all of it
 * (ASC_PART_ALL). */
typedef struct asc_part_rule {
    int axis[ASC_MAX_IN];
    bool to_end; /* only parts that reach the end of the axis */
    bool many;   /* fewer rows would choose another kernel: the node must be marked many_rows */
} asc_part_rule;

/* False when the op's result has no parts along this axis. rows_depend: a row's bits of a matrix product may
 * depend on the number of rows. Slices, pads and concats along the axis itself are not covered: their
 * intervals move. */
bool asc_part_rule_of(const asc_node *nodes, const asc_node *n, int axis, bool rows_depend,
                      asc_part_rule *out);

/* Where a value can be other than zero. exact: outside it is +0; otherwise +0 or -0. All under the premise
 * that what zeros are multiplied with is finite. part.axis = ASC_PART_ALL: nothing known. */
typedef struct asc_support {
    asc_part part;
    bool exact;
} asc_support;

/* From those of the inputs (known[] by node). */
asc_support asc_support_of(const asc_node *nodes, const asc_node *n, const asc_support *known,
                           bool rows_depend);

#endif
