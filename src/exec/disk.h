/* disk.h - executables in files: the format (disk_file.c) and the folder (disk_cache.c). The public side is
 * ascribe/cache.h; docs/formats/program_cache.md has the bytes. */
#ifndef ASC_DISK_H
#define ASC_DISK_H

#include "ascribe/cache.h"
#include "cache.h"
#include "packed.h"

#define ASC_DISK_MAGIC "ASCPROG1"
enum {
    ASC_DISK_VERSION = 1,
    ASC_DISK_HEAD = 64, /* bytes before the texts */
    ASC_DISK_SUM = ASC_PACKED_SUM,
    ASC_DISK_MOST_BUILD = 512,
    ASC_DISK_MOST_KEY = 1 << 26, /* words */
    ASC_DISK_MOST_TEXT = 1 << 28
};

/* What made a program and must be the same to use it: library, ops, passes, device, instruction set. */
void asc_disk_build_text(const asc_ctx *ctx, char out[ASC_DISK_MOST_BUILD]);

/* A file's parts; lent by its bytes. */
typedef struct asc_disk_parts {
    asc_view build, text;
    const char *key;     /* n_key words, little endian, at any address */
    const char *origins; /* n_nodes numbers of 4 bytes */
    size_t n_key, n_nodes, n_recorded;
    uint64_t compile_ns;
} asc_disk_parts;

/* Reads head and lengths. DATA_LOSS or INVALID_ARGUMENT with what is wrong; UNIMPLEMENTED: another version.
 * With sum, also the checksum. */
ASC_MUST_USE asc_status asc_disk_read_parts(asc_ctx *ctx, const char *bytes, size_t n, bool sum,
                                            asc_disk_parts *out);
/* An executable as a file's bytes; key: of what was recorded. UNIMPLEMENTED: it holds what no file can
 * (custom ops). */
ASC_MUST_USE asc_status asc_disk_pack(asc_ctx *ctx, const uint64_t *key, size_t n_key, const asc_exe *e,
                                      asc_strbuf *out);
/* And back, for a recorded program with this key: checks the whole key, and that the program's inputs,
 * scalars and outputs are of that recording. NOT_FOUND: another key or build. */
ASC_MUST_USE asc_status asc_disk_unpack(asc_ctx *ctx, const char *bytes, size_t n, const uint64_t *key,
                                        size_t n_key, asc_exe **out);

/* ---- the folder ---- */
/* Reads the environment. */
ASC_MUST_USE asc_status asc_disk_init(asc_ctx *ctx);
/* The program with this key from the folder, NULL = not there (also after any error, which is not kept). */
asc_exe *asc_disk_load(asc_ctx *ctx, const uint64_t *key, size_t n_key);
/* Writes it when it took long enough to make; failures are logged once and otherwise ignored. why: of the
 * miss. */
void asc_disk_store(asc_ctx *ctx, const uint64_t *key, size_t n_key, const asc_exe *e, const char *why);
/* The key in the newest files that is nearest to this one; NULL = none, or no memory. Free it with asc_free.
 */
uint64_t *asc_disk_nearest(asc_ctx *ctx, const uint64_t *key);

#endif
