/* hash.h - SHA-256 for files and results (by nettle), a fast 64-bit hash for tables, a counter-based
 * generator. */
#ifndef ASC_HASH_H
#define ASC_HASH_H

#include "ascribe/base.h"

/* Lower-case hex of the SHA-256 of data, NUL-terminated. */
void asc_sha256_hex(const void *data, size_t len, char out[65]);
/* Not cryptographic; stable across runs and machines. Chain by passing the last value as seed. */
uint64_t asc_hash64(const void *data, size_t len, uint64_t seed);

/* Philox 4x32-10 (Salmon et al., SC 2011): four 32-bit words that depend on key and counter only. */
void asc_philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4]);
/* Uniform in [0, 1) with 53 bits, for draw `index` of stream (seed, stream). */
double asc_uniform(uint64_t seed, uint64_t stream, uint64_t index);

#endif
