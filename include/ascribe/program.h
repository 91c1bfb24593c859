/* ascribe/program.h - what a file of a compiled function holds (docs/formats/ascp.md), without running it.
 * Made by asc_compiled_save, run by asc_compiled_load (ascribe/compile.h). */
#ifndef ASCRIBE_PROGRAM_H
#define ASCRIBE_PROGRAM_H

#include "ascribe/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asc_ascp asc_ascp;

/* Text is lent by the file. */
typedef struct asc_ascp_info {
    asc_view name;   /* of the function */
    asc_view build;  /* library and table of ops that made it */
    asc_view device; /* where it was made: "cpu avx512"; another one may run it */
    size_t n_in, n_scalars, n_out;
    size_t n_signatures;
    size_t n_arrays;      /* weights and constants */
    uint64_t array_bytes; /* of their elements */
    size_t file_bytes;
} asc_ascp_info;

typedef enum asc_ascp_from {
    ASC_ASCP_PROGRAM, /* output `index` of the signature's program */
    ASC_ASCP_INPUT,   /* input `index` of the function */
    ASC_ASCP_ARRAY    /* array `index` of the file */
} asc_ascp_from;

typedef struct asc_ascp_value {
    const char *dtype; /* "f32" */
    asc_shape shape;
    asc_ascp_from from;
    size_t index;
    uint64_t bytes; /* of arrays as stored */
} asc_ascp_value;

typedef struct asc_ascp_signature {
    asc_view program; /* text form (docs/formats/program.md), after the passes; "" = nothing to compute */
    size_t n_nodes, n_inputs;
    size_t n_scalars; /* places that a scalar of the function goes to */
    size_t n_regions; /* fused, where it was made */
} asc_ascp_signature;

/* Reads and checks a file; errors as of asc_compiled_load. Ended by asc_ascp_close. */
ASC_API ASC_MUST_USE asc_status asc_ascp_open(asc_ctx *ctx, const char *path, asc_ascp **out);
/* The same from memory, which starts at a multiple of 8 and outlives *out. */
ASC_API ASC_MUST_USE asc_status asc_ascp_parse(asc_ctx *ctx, const void *data, size_t size, asc_ascp **out);
ASC_API void asc_ascp_close(asc_ascp *f); /* NULL is accepted */

ASC_API asc_ascp_info asc_ascp_info_of(const asc_ascp *f);
ASC_API asc_ascp_value asc_ascp_array(const asc_ascp *f, size_t k);
ASC_API asc_ascp_signature asc_ascp_signature_of(const asc_ascp *f, size_t s);
/* Input k (from is ASC_ASCP_INPUT) and output k of the function in signature s. */
ASC_API asc_ascp_value asc_ascp_input(const asc_ascp *f, size_t s, size_t k);
ASC_API asc_ascp_value asc_ascp_output(const asc_ascp *f, size_t s, size_t k);

#ifdef __cplusplus
}
#endif
#endif
