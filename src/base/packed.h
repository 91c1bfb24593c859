/* packed.h - files of little-endian numbers, texts and arrays at multiples of 8 bytes, closed by a checksum:
 * what replay files, compiled functions and stored programs are made of. */
#ifndef ASC_PACKED_H
#define ASC_PACKED_H

#include "strbuf.h"

enum { ASC_PACKED_SUM = 64 }; /* SHA-256 in hex, the last bytes */

/* ---- writing ---- */
void asc_pack_u32(asc_strbuf *b, uint32_t v);
void asc_pack_u64(asc_strbuf *b, uint64_t v);
void asc_pack_fill(asc_strbuf *b); /* zeros up to a multiple of 8 */
/* Closes the file. The buffer's error, if it has one. */
ASC_MUST_USE asc_status asc_pack_sum(asc_strbuf *b);

/* ---- reading ---- */
uint32_t asc_unpack_u32_at(const char *p);
uint64_t asc_unpack_u64_at(const char *p);
/* Whether the last bytes are the checksum of those before; size is at least ASC_PACKED_SUM. */
bool asc_unpack_sum_fits(const void *data, size_t size);

/* Steps through a file's bytes. Who takes a number has looked whether its bytes are left. */
typedef struct asc_unpack {
    asc_ctx *ctx;
    const char *what;            /* begins every message: "replay file" */
    const char *start, *p, *end; /* end: before the checksum */
} asc_unpack;

/* Records "<what>: <problem>, at byte N" and returns code. */
asc_status asc_unpack_bad(asc_unpack *r, asc_status code, const char *problem);
size_t asc_unpack_left(const asc_unpack *r);
uint32_t asc_unpack_u32(asc_unpack *r);
uint64_t asc_unpack_u64(asc_unpack *r);
/* A text of len bytes, lent by the file. INVALID_ARGUMENT: longer than `most`; DATA_LOSS: cut short. */
ASC_MUST_USE asc_status asc_unpack_text(asc_unpack *r, uint64_t len, uint64_t most, const char *name,
                                        asc_view *out);
/* Passes over the zeros up to a multiple of 8. DATA_LOSS, INVALID_ARGUMENT: something else is there. */
ASC_MUST_USE asc_status asc_unpack_fill(asc_unpack *r);
/* DATA_LOSS unless the checksum behind the end fits. */
ASC_MUST_USE asc_status asc_unpack_sum(const asc_unpack *r);

/* Ends the opening of a file at `path` whose bytes were parsed with result `parsed`: where that is well the
 * bytes go to *owned, the place of the thing that lends them; otherwise they are freed, owned is not touched
 * and the error names the path. */
asc_status asc_unpack_opened(asc_ctx *ctx, asc_status parsed, const char *path, char *take_bytes,
                             char **owned);

#endif
