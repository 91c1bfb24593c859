/* replay_file.h - the parts of replay files inside src/exec; the format is docs/formats/replay.md. */
#ifndef ASC_REPLAY_FILE_H
#define ASC_REPLAY_FILE_H

#include "ascribe/replay.h"
#include "packed.h"
#include "runtime.h"

#define ASC_REPLAY_MAGIC "ASCREPL1"
enum {
    ASC_REPLAY_VERSION = 1,
    ASC_REPLAY_HEAD = 48, /* bytes before the texts */
    ASC_REPLAY_SUM = ASC_PACKED_SUM,
    ASC_REPLAY_NATIVE = 0, /* elements as the dtype stores them */
    ASC_REPLAY_F64 = 1,    /* elements as f64, of a device that keeps everything so */
    ASC_REPLAY_MOST_ARRAYS = 1 << 20,
    ASC_REPLAY_MOST_NAME = 32,
    ASC_REPLAY_MOST_ERROR = 4096,
    ASC_REPLAY_MOST_TEXT = 1 << 28
};

/* Storage of one node. */
typedef struct asc_replay_array {
    int32_t node;
    uint32_t kind;
    const void *data; /* lent by the file */
    size_t bytes;
} asc_replay_array;

struct asc_replay {
    asc_ctx *ctx;
    char *owned; /* the file's bytes, when the replay read them itself */
    asc_program program;
    asc_replay_info info;
    asc_replay_array *inputs, *outputs; /* in the order of the program's inputs and outputs */
};

/* Writes program and arrays. data: storage by node; outputs are stored where they have some and with_outputs.
 * error:
 * "" = none. The path's file is replaced in one step. */
ASC_MUST_USE asc_status asc_replay_write(asc_ctx *ctx, const asc_program *p, void *const *data,
                                         bool with_outputs, const char *error, const char *path);
/* For a run that failed with the context's error, which stays as it is: writes the file of ASC_REPLAY, the
 * first time in a context, and logs it. Nothing when the run was stopped. */
void asc_replay_of_failure(asc_ctx *ctx, const asc_program *p, void *const *data);
/* For the cut that ASC_REPLAY_CUT counts to; its outputs are stored. */
void asc_replay_of_cut(asc_ctx *ctx, const asc_program *p, void *const *data);

#endif
