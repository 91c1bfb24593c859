/* ascp_file.h - the parts of files of compiled functions; the format is docs/formats/ascp.md. */
#ifndef ASC_ASCP_FILE_H
#define ASC_ASCP_FILE_H

#include "ascribe/program.h"
#include "compiled_fn.h"
#include "packed.h"
#include "runtime.h"

#define ASC_ASCP_MAGIC "ASCPFUN1"
enum {
    ASC_ASCP_VERSION = 1,
    ASC_ASCP_HEAD = 120, /* bytes before the texts */
    ASC_ASCP_SUM = ASC_PACKED_SUM,
    ASC_ASCP_NATIVE = 0, /* elements as the dtype stores them */
    ASC_ASCP_F64 = 1,    /* elements as f64, of a device that keeps everything so */
    ASC_ASCP_DTYPE = 16, /* bytes of a type's name, filled with zeros */
    ASC_ASCP_BUILD = 64, /* bytes of the build's name, likewise; at byte 56 */
    ASC_ASCP_WHAT = 64,  /* bytes of a check's name, likewise */
    ASC_ASCP_MOST_NAME = 63,
    ASC_ASCP_MOST_DEVICE = 255,
    ASC_ASCP_MOST_ENDS = 4096, /* inputs, scalars, outputs */
    ASC_ASCP_MOST_SIGNATURES = 128,
    ASC_ASCP_MOST_ARRAYS = 1 << 20,
    ASC_ASCP_MOST_TEXT = 1 << 28
};

/* Library and table of ops, the same for files that understand each other; and the context's device. */
void asc_ascp_build_text(char out[ASC_ASCP_BUILD]);
void asc_ascp_device_text(const asc_ctx *ctx, char out[ASC_ASCP_MOST_DEVICE + 1]);

typedef struct asc_ascp_data {
    asc_dtype dtype;
    asc_shape shape;
    uint32_t kind;
    const void *data; /* lent by the file */
    size_t bytes;
} asc_ascp_data;

typedef struct asc_ascp_ref {
    uint32_t from; /* asc_ascp_from */
    uint32_t index;
} asc_ascp_ref;

/* Attribute f[slot] of node `node` is scalar `which` of the function. */
typedef struct asc_ascp_scalar {
    uint32_t node, slot, which;
} asc_ascp_scalar;

typedef struct asc_ascp_block {
    asc_view text;
    bool parsed; /* program holds something */
    asc_program program;
    int64_t *key; /* as asc_compiled.key */
    size_t n_key;
    asc_ascp_data *params; /* [n_in] without data */
    asc_ascp_ref *inputs;  /* [n_inputs] of the program, in its order */
    size_t n_inputs;
    asc_ascp_ref *outs; /* [n_out] */
    asc_ascp_scalar *scalars;
    size_t n_scalars;
    asc_capture_bound *bounds;
    size_t n_bounds;
} asc_ascp_block;

struct asc_ascp {
    asc_ctx *ctx;
    char *owned; /* the file's bytes, when this read them itself */
    asc_ascp_info info;
    asc_ascp_data *arrays;
    asc_ascp_block *blocks; /* [info.n_signatures] */
};

/* Compiles what the file holds for its context; nothing of the file is needed afterwards, and its programs
 * are used up. */
ASC_MUST_USE asc_status asc_ascp_compile(asc_ascp *f, asc_compiled **out);

#endif
