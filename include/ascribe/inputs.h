/* ascribe/inputs.h - tables and files of bytes as arrays.
 *
 * Guarantees: a number is read as written (nearest double) or refused with its line and column; a file is
 * read whole or not at all. Pictures are in ascribe/image.h, .npy files in ascribe/array.h.
 */
#ifndef ASCRIBE_INPUTS_H
#define ASCRIBE_INPUTS_H

#include "ascribe/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of a CSV file. */
#define ASC_CSV_MAX_BYTES ((size_t)1 << 30)
#define ASC_CSV_MAX_COLUMNS 65536
#define ASC_CSV_MAX_FIELD 65536 /* bytes */

typedef struct asc_table {
    asc_array values; /* float64 [rows, columns] */
    char **names;     /* of the columns, NUL-terminated */
    size_t n_columns;
} asc_table;

/* Reads a comma-separated file with a header (RFC 4180: quotes, doubled quotes, commas and line breaks inside
 * quotes; a byte-order mark and blank lines are passed over). columns: the names wanted, in the order wanted;
 * n 0 = all. Only wanted columns have to be numbers. Errors name file, line and column: NOT_FOUND (file,
 * column), INVALID_ARGUMENT (not a number, missing value, wrong count of fields, bad quotes, no header, a
 * name twice), RESOURCE_EXHAUSTED (a limit). */
ASC_API ASC_MUST_USE asc_status asc_csv_read(asc_ctx *ctx, const char *path, const char *const *columns,
                                             size_t n, asc_table *out);
/* The same from memory. */
ASC_API ASC_MUST_USE asc_status asc_csv_parse(asc_ctx *ctx, asc_view text, const char *const *columns,
                                              size_t n, asc_table *out);
ASC_API void asc_table_free(asc_ctx *ctx, asc_table *t); /* a zeroed one is accepted */

/* How bytes of a file become numbers: X(name, what it is). */
#define ASC_BYTES_TABLE(X)                                                                                   \
    X("raw", "every byte, 0 to 255")                                                                         \
    X("magika",                                                                                              \
      "the first 1,024 and the last 1,024 bytes without white space around, 256 where there is none")

/* An int32 array [1, n] of `path` (freed by asc_array_free). offsets, if not NULL, receives an int64 array
 * [n]: the place in the file of each number, -1 where it is padding. Errors: those of reading, NOT_FOUND
 * (preset), INVALID_ARGUMENT (an empty file), RESOURCE_EXHAUSTED (over 64 MiB with "raw"). */
ASC_API ASC_MUST_USE asc_status asc_bytes_to_array(asc_ctx *ctx, const char *path, const char *preset,
                                                   asc_array *out, asc_array *offsets);
/* The same from memory. */
ASC_API ASC_MUST_USE asc_status asc_bytes_encode(asc_ctx *ctx, const void *data, size_t len,
                                                 const char *preset, asc_array *out, asc_array *offsets);

#ifdef __cplusplus
}
#endif
#endif
