/* held.h - what a pass that goes block by block holds between its steps, and the bill when it is priced
 * instead of run: the same steps with stand-ins for what they make, so that what is predicted is what
 * happens. */
#ifndef ASC_HELD_H
#define ASC_HELD_H

#include "price.h"

typedef struct asc_held {
    asc_tensor *t; /* retained, a leaf with a value; NULL = nothing */
    size_t bytes;  /* of its buffer, when it counts */
} asc_held;

typedef struct asc_ledger {
    asc_ctx *ctx;
    bool pricing;
    size_t now;    /* bytes held; counted when pricing */
    asc_price sum; /* of all steps; output_bytes: most ever held */
} asc_ledger;

/* Lets go of what h holds, if anything. */
void asc_held_drop(asc_ledger *l, asc_held *h);
/* h holds t instead of what it held. counts: its buffer is on the bill; false where someone else holds it. */
void asc_held_set(asc_ledger *l, asc_held *h, asc_tensor *t, bool counts);
/* A step's result becomes a leaf (a stand-in when pricing) that h holds. Errors: those of a poisoned t. */
ASC_MUST_USE asc_status asc_held_keep(asc_ledger *l, asc_held *h, asc_tensor *t);
/* Pricing, instead of a step that is known: h holds a stand-in of this shape (f32). */
void asc_held_stand_in(asc_ledger *l, asc_held *h, const asc_shape *shape);

/* Adds p, of a step during which so many bytes are held besides, to sum: peaks are the larger one, costs add
 * up. */
void asc_price_add(asc_price *sum, const asc_price *p, size_t held_bytes);
/* Adds a step's price to the bill. */
void asc_ledger_add(asc_ledger *l, const asc_price *p);
/* Computes, or prices, the n values that a step recorded. once: where the price of a step of its kind is
 * remembered, without its program, which all of them share; NULL = nowhere. */
ASC_MUST_USE asc_status asc_ledger_compute(asc_ledger *l, asc_tensor **ts, size_t n, asc_price *once);

#endif
