/* compiled.h - captures: a recorded function of some leaves, kept as an executable that is run again without
 * recording. Leaves that are parameters get new values for every run; all others (weights, constants) stay as
 * they are and are held by the capture. Run-time scalars are those of the recording.
 *
 * A context keeps its captures by owner and key, the owner being what they must not outlive (a net, a model):
 * its end calls asc_capture_forget. Bounded in number and bytes; the one used longest ago goes first. */
#ifndef ASC_COMPILED_H
#define ASC_COMPILED_H

#include "exec.h"

typedef struct asc_capture asc_capture;

/* ---- recording what is to be captured ---- */
/* Between begin and end nothing is computed by itself. Who reads a value that depends on a parameter gets it,
 * and the recording is useless for other values of it; when strict, reading is FAILED_PRECONDITION naming the
 * op. */
void asc_capture_begin(asc_ctx *ctx, bool strict);
/* The op whose value was read although a parameter decides it; NULL = none. */
const char *asc_capture_end(asc_ctx *ctx);
/* Says that a leaf, just made, is a parameter. */
void asc_capture_param(asc_tensor *leaf);
/* For layers that check an integer leaf's values while they are recorded (ids of a table with n rows). True:
 * the leaf is a parameter of what is being captured, every run will check it, and reading it now does no
 * harm. what: names the check in messages; copied. */
bool asc_capture_check_below(asc_ctx *ctx, asc_tensor *leaf, int64_t n, const char *what);
/* For asc_run: notes or refuses that ts are read. */
ASC_MUST_USE asc_status asc_capture_reading(asc_ctx *ctx, asc_tensor *const *ts, size_t n);
bool asc_exec_compiles(const asc_ctx *ctx); /* the mode is compiled, and nothing is being captured now */

/* ---- captures ---- */

/* What the context keeps under these words; NULL = nothing. Valid until the next asc_capture_make,
 * asc_capture_note or asc_capture_forget. */
asc_capture *asc_capture_find(asc_ctx *ctx, const void *owner, const void *key, size_t n_key);
/* Captures outs as a function of params, which are leaves with values; a parameter may not matter, and an
 * output may be a parameter or another leaf. The parameters' storage becomes the capture's: their tensors
 * must not be read any more. note: bytes to be kept with it (asc_capture_note_of). FAILED_PRECONDITION in a
 * frozen context. */
ASC_MUST_USE asc_status asc_capture_make(asc_ctx *ctx, const void *owner, const void *key, size_t n_key,
                                         asc_tensor *const *params, size_t n_params, asc_tensor *const *outs,
                                         size_t n_outs, const void *note, size_t n_note, asc_capture **out);
/* Keeps only a note: what was learnt, or that this cannot be captured. */
ASC_MUST_USE asc_status asc_capture_note(asc_ctx *ctx, const void *owner, const void *key, size_t n_key,
                                         const void *note, size_t n_note);
const void *asc_capture_note_of(const asc_capture *c, size_t *n); /* 16-byte aligned */
bool asc_capture_runs(const asc_capture *c);                      /* false: only a note */
void asc_capture_forget(asc_ctx *ctx, const void *owner);         /* NULL = all */

/* Elements first .. first + n - 1 of parameter k, from host memory of a type that asc_from_* take. */
void asc_capture_write(asc_ctx *ctx, asc_capture *c, size_t k, int64_t first, asc_dtype host_dtype,
                       const void *host, int64_t n);
/* Where parameter k's f32 elements lie when the device holds them as plain floats; NULL otherwise. */
float *asc_capture_floats(asc_ctx *ctx, asc_capture *c, size_t k);
ASC_MUST_USE asc_status asc_capture_run(asc_ctx *ctx, asc_capture *c);
/* Output k of the last run; n is its number of elements. FAILED_PRECONDITION on a device without values. */
ASC_MUST_USE asc_status asc_capture_read_f64(asc_ctx *ctx, const asc_capture *c, size_t k, double *out,
                                             size_t n);

/* ---- for asc_compile ---- */
/* Reads parameter k from this buffer in the next run only; counted until then. */
void asc_capture_bind(asc_ctx *ctx, asc_capture *c, size_t k, asc_buffer *b);
asc_shape asc_capture_shape(const asc_capture *c, size_t k); /* of output k */
/* Replaces the note. */
ASC_MUST_USE asc_status asc_capture_attach(asc_ctx *ctx, asc_capture *c, const void *note, size_t n_note);
void asc_capture_drop(asc_ctx *ctx, asc_capture *c);
/* Output k of the last run as a buffer of the caller's (counted); the next run makes another. */
asc_buffer *asc_capture_take(asc_ctx *ctx, asc_capture *c, size_t k);
/* The executable's run-time scalars, to be set before a run; node `from` is in the order of recording. */
struct asc_exe;
struct asc_exe *asc_capture_exe(asc_capture *c);

/* Passes that methods ran without a capture in compiled mode, because their rules or the net cannot be
 * captured. */
void asc_capture_count_refused(asc_ctx *ctx, const char *why); /* why: for the log, at level info */

#endif
