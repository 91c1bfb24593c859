/* emulate.h - products as a matrix unit makes them, out of ordinary f32 ops: for levels that a device has no
 * kernel for (convolutions, attention, few rows), and to predict what another device would do. */
#ifndef ASC_EMULATE_H
#define ASC_EMULATE_H

#include "program.h"

/* Rewrites p so that every product is the sum of the bf16 products of its level. A factor is x = h + m + l,
 * each piece the nearest number of 8 significant bits to what is left; products of pieces are exact in f32
 * and added in f32. medium: hh; high: hh hm mh; bf16x6: hh hm mh mm hl lh. int8: factors rounded to 127 steps
 * to the largest number of a row (of a convolution: of an example, of an output channel). Products that carry
 * a level have their own; those that carry none (gradients of convolutions, attention) have `level`.
 * Attention rounds its operands to the pieces that the level knows and keeps the weights in between in f32;
 * at int8 it stays as it is. Stored weights stay as they are: such products keep their level and are marked
 * many_rows and pieces, so that the device's own kernel of those pieces takes them. For devices whose numbers
 * are f32; factors beyond 2^111 overflow. */
ASC_MUST_USE asc_status asc_program_emulate(asc_ctx *ctx, asc_program *p, asc_precision level);

/* The same for the products and convolutions that carry the level int8, and nothing else: a level that is
 * asked for by name for its coarse numbers gives them everywhere, not only where a kernel is. A product with
 * one matrix stays and is marked many_rows: devices have kernels for it. */
ASC_MUST_USE asc_status asc_program_keep_int8(asc_ctx *ctx, asc_program *p);

#endif
