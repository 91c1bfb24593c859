/* zip.h - members of a zip file in memory: stored or deflated (zlib), also beyond 4 GiB (zip64).
 * Format: PKWARE's APPNOTE.TXT 6.3; the central directory decides, local headers only say where data starts.
 */
#ifndef ASC_ZIP_H
#define ASC_ZIP_H

#include "alloc.h"
#include "view.h"

enum {
    ASC_ZIP_MAX_MEMBERS = 1 << 16,
    ASC_ZIP_MAX_RATIO = 1032 /* deflate cannot do better, so a member that claims more lies */
};

typedef struct asc_zip {
    const uint8_t *data;
    size_t size;
    size_t at, end; /* what is left of the central directory */
    size_t left;    /* members */
} asc_zip;

typedef struct asc_zip_member {
    asc_view name;
    const uint8_t *packed;
    size_t packed_bytes, bytes;
    uint32_t crc;
    int method; /* 0 stored, 8 deflated */
} asc_zip_member;

/* DATA_LOSS when the directory is missing or lies; RESOURCE_EXHAUSTED above a limit. */
ASC_MUST_USE asc_status asc_zip_open(asc_ctx *ctx, const void *data, size_t size, asc_zip *out);
/* The next member; name.ptr is NULL behind the last. UNIMPLEMENTED: encrypted, other methods. */
ASC_MUST_USE asc_status asc_zip_next(asc_ctx *ctx, asc_zip *z, asc_zip_member *out);
/* Its bytes, checked by CRC: in the file's memory when stored (*out_owned NULL), else in *out_owned
 * (asc_free). */
ASC_MUST_USE asc_status asc_zip_unpack(asc_ctx *ctx, const asc_zip_member *m, const uint8_t **out,
                                       uint8_t **out_owned);

#endif
