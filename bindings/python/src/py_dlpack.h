/* py_dlpack.h - the records of DLPack's protocol, in which libraries hand arrays to each other, as its
 * specification lays them out (dmlc.github.io/dlpack, version 0.8: capsules "dltensor"). */
#ifndef PY_DLPACK_H
#define PY_DLPACK_H

#include "pyasc.h"

enum { DL_CPU = 1, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };

typedef struct dl_device {
    int32_t kind, id;
} dl_device;

typedef struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
} dl_type;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t rank;
    dl_type type;
    int64_t *shape, *strides; /* strides in elements; NULL = row-major */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor t;
    void *owner;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

dl_type dl_type_of(asc_elem e);
/* -1: none of ours. */
int dl_elem_of(dl_type t);

#endif
