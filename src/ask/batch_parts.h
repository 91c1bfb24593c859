/* batch_parts.h - what the batch_*.c files share. */
#ifndef ASC_BATCH_PARTS_H
#define ASC_BATCH_PARTS_H

#include "ascribe/ask.h"
#include "ascribe/batch.h"
#include "file.h"
#include "json.h"
#include "view.h"

enum {
    ASC_BATCH_MAX_LINE = 1 << 26, /* bytes of one line of the results file */
    ASC_BATCH_MAX_LINES = 1 << 26,
    ASC_BATCH_KEY = 16 /* hex digits of a hash that tells lines and runs apart */
};

/* The line that begins at *pos, without its line break; *pos behind it. False at the end. */
bool asc_batch_next_line(asc_view text, size_t *pos, asc_view *line, bool *ended);
bool asc_batch_blank(asc_view line);
/* Maps a file of prompts and counts its lines that are not blank; *map is closed by the caller in any case.
 * INVALID_ARGUMENT when there are none. */
ASC_MUST_USE asc_status asc_batch_open(asc_ctx *ctx, const char *path, asc_map *map, asc_view *text,
                                       size_t *n_lines);
void asc_batch_key(asc_view v, char out[ASC_BATCH_KEY + 1]);

/* One line of the prompts file as a request (batch_input.c): a question whose keys stand over what the run
 * asks for. Everything lives until asc_batch_line_free. */
typedef struct asc_batch_line {
    asc_request request;
    asc_question *question;
    const asc_json *id; /* the line's own name, any value; NULL = none */
} asc_batch_line;
/* m NULL: a language model that is not there (keys that need it are refused). INVALID_ARGUMENT names the key.
 * Call asc_batch_line_free in any case. */
ASC_MUST_USE asc_status asc_batch_line_read(asc_ctx *ctx, asc_model *m, asc_view line,
                                            const asc_request *base, asc_batch_line *out);
void asc_batch_line_free(asc_batch_line *l);

/* The results file, open for appending by this process alone (batch_output.c). */
typedef struct asc_batch_output {
    asc_ctx *ctx;
    const char *path;
    int fd;         /* -1 = not open */
    uint64_t *seen; /* bit per line: its result is there */
    size_t n_failed;
    int64_t size; /* bytes that are whole */
} asc_batch_output;
/* Opens it, cuts off a line that a killed run left half-written, and reads which of the n_lines are there.
 * keys: of each line, ASC_BATCH_KEY + 1 bytes a piece; run: of the whole run. */
ASC_MUST_USE asc_status asc_batch_output_open(asc_ctx *ctx, const char *path, size_t n_lines,
                                              const char *keys, const char *run, asc_batch_output *out);
bool asc_batch_output_has(const asc_batch_output *o, size_t line);
/* Appends one whole line, or nothing. */
ASC_MUST_USE asc_status asc_batch_output_add(asc_batch_output *o, asc_view line);
void asc_batch_output_close(asc_batch_output *o);

#endif
