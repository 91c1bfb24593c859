/* capture_parts.h - what a capture is made of, for the files that make and store them (compiled.c, ascp_*.c).
 */
#ifndef ASC_CAPTURE_PARTS_H
#define ASC_CAPTURE_PARTS_H

#include "compiled.h"
#include "exe.h"

/* Where an output's value is after a run. */
typedef struct asc_capture_out {
    int32_t output; /* of the executable; -1 = elsewhere */
    int32_t param;  /* or a parameter itself; -1 = neither: buf is a leaf's */
    asc_dtype dtype;
    asc_shape shape;
    int64_t elems;
    asc_buffer *buf; /* counted */
} asc_capture_out;

struct asc_capture {
    asc_capture *next; /* used longer ago */
    const void *owner;
    char *key;
    size_t n_key;
    uint64_t hash;
    void *note;
    size_t n_note;
    asc_exe *exe; /* NULL = a note only, or all outputs are leaves */
    bool runs;
    asc_buffer **params; /* [n_params], counted; NULL = not bound */
    size_t n_params;
    int32_t *input_param; /* [exe->n_inputs] parameter, -1 = fixed */
    asc_buffer **fixed;   /* [exe->n_inputs], counted; NULL where a parameter */
    asc_capture_out *outs;
    size_t n_outs;
    asc_capture_bound *bounds; /* [n_bounds] checked before each run */
    size_t n_bounds;
    bool taken; /* outputs were handed out: the next run needs other buffers */
    size_t bytes;
};

/* One that runs nothing yet and that no context keeps; key and note are copied. NULL when out of memory. */
asc_capture *asc_capture_create(asc_ctx *ctx, const void *owner, const void *key, size_t n_key,
                                const void *note, size_t n_note);
void asc_capture_destroy(asc_ctx *ctx, asc_capture *c); /* NULL is accepted */

#endif
