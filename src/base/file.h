/* file.h - read-only mapping, whole-file reads, and writes that never leave half a file. */
#ifndef ASC_FILE_H
#define ASC_FILE_H

#include "alloc.h"

typedef struct asc_map {
    const uint8_t *data; /* NULL for an empty map */
    size_t size;         /* bytes when it was opened */
    int fd;
    void *addr;
    char *path; /* owned copy, for messages */
} asc_map;

/* Maps `path` read-only. Errors name the path: NOT_FOUND, PERMISSION_DENIED, INVALID_ARGUMENT (directory,
 * empty, not a regular file), RESOURCE_EXHAUSTED. On failure *out is zeroed. */
ASC_MUST_USE asc_status asc_map_open(asc_ctx *ctx, const char *path, asc_map *out);
void asc_map_close(asc_ctx *ctx, asc_map *m);
/* FAILED_PRECONDITION when the file is now shorter than when it was mapped (touching the lost part would
 * fault). */
ASC_MUST_USE asc_status asc_map_check(asc_ctx *ctx, const asc_map *m);

/* Reads all of `path` ("-" = standard input) up to `limit` bytes. Free *out with asc_free; NUL-terminated. */
ASC_MUST_USE asc_status asc_file_read(asc_ctx *ctx, const char *path, size_t limit, char **out,
                                      size_t *out_len);
/* Writes to a temporary beside `path`, syncs, renames. On failure nothing is left behind. */
ASC_MUST_USE asc_status asc_file_write(asc_ctx *ctx, const char *path, const void *data, size_t len);

#endif
