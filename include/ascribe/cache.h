/* ascribe/cache.h - programs kept on disk, so that the next process need not make them again.
 *
 * One file a program, in one folder; docs/cache.md says where and when, docs/formats/program_cache.md what is
 * in it. Any number of processes may use a folder at once. A file that cannot be used is left out, never an
 * error of the work at hand. */
#ifndef ASCRIBE_CACHE_H
#define ASCRIBE_CACHE_H

#include "ascribe/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Uses `dir` from here on (it is made when the first program is written); NULL = the user's own folder:
 * ASC_CACHE_DIR, or ascribe/v1 in XDG_CACHE_HOME or in ~/.cache. Nothing when ASC_CACHE=0. A context uses no
 * folder before this is called, but the one that ASC_CACHE_DIR names. INVALID_ARGUMENT: the path is too long.
 */
ASC_API ASC_MUST_USE asc_status asc_disk_cache_use(asc_ctx *ctx, const char *dir);
/* The folder in use; "" = none. */
ASC_API const char *asc_disk_cache_dir(const asc_ctx *ctx);

typedef struct asc_disk_entry {
    const char *file; /* its name in the folder; lent for the length of the call */
    size_t bytes;
    double age_seconds;     /* since it was last used */
    double compile_seconds; /* that it spares */
    size_t nodes, recorded; /* of the program, and of what was recorded before the passes */
    const char *build;      /* what wrote it: version, device, instructions */
    bool usable;            /* by this program on this machine with these options of the context */
    const char *problem;    /* why not: damaged, or of another build; "" when usable */
    bool damaged;
} asc_disk_entry;

/* Visits the entries, the last used first; check reads and checks each whole file. visit returns false to
 * stop. Errors: those of reading the folder; a folder that is not there has no entries. RESOURCE_EXHAUSTED.
 */
ASC_API ASC_MUST_USE asc_status asc_disk_cache_list(asc_ctx *ctx, bool check,
                                                    bool (*visit)(void *self, const asc_disk_entry *e),
                                                    void *self);
/* Removes all entries (or those that are damaged, only) and what stopped writers left; *out_files and
 * *out_bytes say how much. */
ASC_API ASC_MUST_USE asc_status asc_disk_cache_clear(asc_ctx *ctx, bool damaged_only, size_t *out_files,
                                                     size_t *out_bytes);
/* Why programs had to be made, of the last processes that used the folder, the newest first: one line each.
 * Free it with asc_disk_cache_why_free. */
ASC_API ASC_MUST_USE asc_status asc_disk_cache_why(asc_ctx *ctx, char **out_text);
ASC_API void asc_disk_cache_why_free(asc_ctx *ctx, char *text);

typedef struct asc_disk_stats {
    uint64_t hits, misses; /* programs looked for on disk */
    uint64_t written, bad; /* files written; files that could not be used */
} asc_disk_stats;
ASC_API asc_disk_stats asc_disk_cache_stats(const asc_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
