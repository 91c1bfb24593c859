/* kept_keys.h - keys and values of a sequence that grows token by token. Each layer's lie in a store with
 * room to spare, so a step appends a row where another would copy all of them, and steps with the same room
 * are one program: what tells them apart, position and length, are its inputs. */
#ifndef ASC_KEPT_KEYS_H
#define ASC_KEPT_KEYS_H

#include "decoder.h"

typedef struct asc_kept_keys {
    asc_decoder *d;
    int64_t n, room; /* tokens kept; rows of each store */
    asc_kv *store;   /* n_layers of [1,room,G,D]; retained; NULL tensors before the first token */
    asc_kv *now;     /* n_layers: of the tokens of the run at hand, [1,T,G,D] */
    int32_t *ints;   /* room + 1: 0, 1, ...: positions of the stored rows */
    int32_t *before; /* room + 1: -1, 0, ...: the row before each */
    asc_tensor *parent, *key_positions;
} asc_kept_keys;

/* Empty. RESOURCE_EXHAUSTED. End with asc_kept_keys_deinit in any case. */
ASC_MUST_USE asc_status asc_kept_keys_init(asc_decoder *d, asc_kept_keys *out);
void asc_kept_keys_deinit(asc_kept_keys *s);
/* Forgets all tokens but the first n; the room stays. */
void asc_kept_keys_cut(asc_kept_keys *s, int64_t n);
/* Bytes of the stores. */
size_t asc_kept_keys_bytes(const asc_kept_keys *s);

/* Fills in how `run` attends: one token behind the n > 0 that are kept, or any number when none are. To be
 * called in the scope in which the run is recorded. Afterwards s->now holds the layers' new keys and values,
 * which are to be computed with the run and then kept. */
void asc_kept_keys_attend(asc_kept_keys *s, asc_decoder_run *run);
/* The same for any number of tokens behind any number, so that what they give does not depend on how many are
 * kept: with kernels for many rows (asc_set_many_rows) the bits are those of one run of all of them this way.
 * RESOURCE_EXHAUSTED. */
ASC_MUST_USE asc_status asc_kept_keys_attend_many(asc_kept_keys *s, asc_decoder_run *run);
/* Stores of `room` rows that nobody fills, with n tokens kept, for pricing a step (exec/price.h). Retained
 * until asc_kept_keys_deinit. RESOURCE_EXHAUSTED. Inside a scope. */
ASC_MUST_USE asc_status asc_kept_keys_pretend(asc_kept_keys *s, int64_t n, int64_t room);
/* Rows of the stores when n tokens are kept: some to spare. */
int64_t asc_kept_keys_room(int64_t n);
/* Appends what s->now holds, computed, of t tokens. RESOURCE_EXHAUSTED. Inside a scope. */
ASC_MUST_USE asc_status asc_kept_keys_append(asc_kept_keys *s, int64_t t);

#endif
