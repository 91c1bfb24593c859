/* ascribe/compile.h - functions of tensors that are recorded once and run many times.
 *
 * The function is called once for every signature (types and shapes of its inputs): what it records is
 * optimised, planned and kept. Later calls run that again with new inputs and new scalars; the function
 * itself is not called. So it must be a function of its inputs and scalars alone: whatever else it looks at -
 * its own state, the clock, the values of weights - is fixed by the first call. Gradients (asc_grad) may be
 * taken inside. Works in every mode and gives the bits that calling the function would give. */
#ifndef ASCRIBE_COMPILE_H
#define ASCRIBE_COMPILE_H

#include "ascribe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Records out[0 .. n_out - 1] from in[0 .. n_in - 1] (which have values, but must not be read) and scalars.
 * The scalars may be handed to ops that take a run-time number (asc_scale, asc_shift, asc_full, ...) as they
 * are: computing with them first is an error, found by calling the function twice. Tensors made inside belong
 * to a scope of their own. */
typedef void (*asc_compiled_fn)(asc_ctx *ctx, void *self, asc_tensor *const *in, const double *scalars,
                                asc_tensor **out);

typedef struct asc_compile_def {
    size_t struct_size; /* sizeof(asc_compile_def) */
    asc_compiled_fn fn;
    void *self; /* handed to fn; must live as long as the compiled function */
    size_t n_in, n_scalars, n_out;
    const char *name; /* for messages; NULL = "function" */
} asc_compile_def;

typedef struct asc_compiled asc_compiled;

/* Nothing is recorded yet. The caller owns *out and ends it with asc_compiled_destroy before the context.
 * INVALID_ARGUMENT: no function, no output. */
ASC_API ASC_MUST_USE asc_status asc_compile(asc_ctx *ctx, const asc_compile_def *def, asc_compiled **out);
ASC_API void asc_compiled_destroy(asc_compiled *c); /* NULL is accepted */

/* Runs it. Inputs without a value are computed first. out[n_out] are leaves with values in the current scope;
 * on failure they are poisoned. Errors: those of the ops; FAILED_PRECONDITION when fn reads a value that its
 * inputs decide (the message names the op), or when the context is frozen and this signature is new;
 * INVALID_ARGUMENT when fn leaves an output unset, computes with scalars, or records other ops for other
 * scalars. */
ASC_API ASC_MUST_USE asc_status asc_compiled_call(asc_compiled *c, asc_tensor *const *in,
                                                  const double *scalars, asc_tensor **out);
/* How often fn has been recorded, and how often recordings were run. */
ASC_API void asc_compiled_counts(const asc_compiled *c, uint64_t *recorded, uint64_t *run);

/* Writes every signature that is captured now, with the weights and constants it holds, to a file that
 * asc_compiled_load runs without the function's code (docs/formats/ascp.md). The file is replaced in one
 * step. FAILED_PRECONDITION: nothing was called yet (or a bound of the context dropped it), or the device has
 * no values; UNIMPLEMENTED: ops of the caller's own; errors of writing. */
ASC_API ASC_MUST_USE asc_status asc_compiled_save(asc_compiled *c, const char *path);
/* The bytes that such a file would have. Same errors, but those of writing. */
ASC_API ASC_MUST_USE asc_status asc_compiled_size(asc_compiled *c, size_t *bytes);
/* A compiled function from such a file, made ready for this context: device, instruction set, threads and
 * mode may be others. It knows the stored signatures; asc_compiled_call with another one is NOT_FOUND, naming
 * them. What it holds is its own until asc_compiled_destroy and outside the context's bounds for captures.
 * Errors: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (no such file, or a part makes no sense),
 * UNIMPLEMENTED (version), FAILED_PRECONDITION (another build of the library), DATA_LOSS (cut short,
 * checksum), and those of compiling. */
ASC_API ASC_MUST_USE asc_status asc_compiled_load(asc_ctx *ctx, const char *path, asc_compiled **out);

#ifdef __cplusplus
}
#endif
#endif
