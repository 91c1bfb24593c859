/* cpu_device.h - what the files of the cpu device share. Private to src/backends/cpu/. */
#ifndef ASC_CPU_DEVICE_H
#define ASC_CPU_DEVICE_H

#include "device.h"
#include "kernel.h"

/* The device's state: the index of its kernels, and the tile storage that all prepared programs of a context
 * share (one runs at a time). */
typedef struct asc_cpu_state {
    asc_kernel_index index;
    void *tiles;
    size_t tiles_bytes;
} asc_cpu_state;

/* Bytes of an array of `elems` elements of a storage type, rounded up to whole cache lines; SIZE_MAX when it
 * has no size (overflow, part of a block). */
size_t asc_cpu_array_bytes(asc_dtype t, int64_t elems);

/* Converts between host and device numbers, element by element; `from` may be any expandable storage type,
 * `to` is f32, f64, i32 or bool. Floats going to integers are truncated, saturated, and 0 for NaN. */
void asc_cpu_convert(asc_dtype from, const void *src, asc_dtype to, void *dst, int64_t n);

/* The slow way that every op has: values to f64, the op's reference kernel, and back. */
size_t asc_cpu_fallback_scratch(const asc_call *c);
void asc_cpu_fallback_run(const asc_kargs *a);

/* Work that one thread does alone: a fork and join of OpenMP costs 0.7 us at best (docs/SPEED.md, "Threads").
 * The estimate counts 100 FLOP/ns in matrix products, 4 elsewhere, and 10 bytes/ns. */
#define ASC_CPU_SMALL_NS 5000.0
double asc_cpu_call_ns(const asc_call *c);
/* Threads worth waking for this application: 1 when the work is smaller than the price of a fork and join. */
int asc_cpu_threads_for(const asc_call *c, int n_threads);

#endif
