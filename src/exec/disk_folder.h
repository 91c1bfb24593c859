/* disk_folder.h - a folder of files that several processes write, read and remove at once. */
#ifndef ASC_DISK_FOLDER_H
#define ASC_DISK_FOLDER_H

#include "alloc.h"

enum { ASC_DISK_MOST_PATH = 1200 };

typedef struct asc_folder_file {
    char name[128];
    size_t bytes;
    double age; /* seconds since it was last used or written */
} asc_folder_file;

typedef struct asc_folder {
    asc_folder_file *files; /* the one used last comes first */
    size_t n, cap, bytes;
} asc_folder;

/* The files whose names end so. A folder that is not there, or "", has none. RESOURCE_EXHAUSTED,
 * PERMISSION_DENIED. *out is to be freed in any case. */
ASC_MUST_USE asc_status asc_folder_read(asc_ctx *ctx, const char *dir, const char *ending, asc_folder *out);
void asc_folder_free(asc_ctx *ctx, asc_folder *f);
bool asc_folder_remove(const char *dir, const asc_folder_file *f); /* false: it was not there or may not */
/* Makes the folder and those above it. */
ASC_MUST_USE asc_status asc_folder_make(asc_ctx *ctx, const char *dir);
/* Replaces the file in one step. Unlike asc_file_write it does not wait for the disk: a file that a power cut
 * tore is found by its checksum. */
ASC_MUST_USE asc_status asc_folder_write(asc_ctx *ctx, const char *path, const void *data, size_t n);
/* Removes what writers that were stopped left behind longer than so many seconds ago. */
void asc_folder_clean(asc_ctx *ctx, const char *dir, double older_than);
int64_t asc_folder_now(void); /* seconds since 1970 */

#endif
