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
/* INVALID_ARGUMENT: no file of prompts, or a prompt besides. */
asc_status asc_batch_check(asc_ctx *ctx, const asc_batch *b);
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

/* ---- a run ---- */
typedef struct asc_batch_work {
    asc_ctx *ctx;
    asc_model *m;
    const asc_batch *b;
    asc_map map;
    asc_view text;
    size_t n;   /* lines that are not empty */
    char *keys; /* [n, ASC_BATCH_KEY + 1] */
    char run[ASC_BATCH_KEY + 1];
    size_t pos, next; /* where in the text, and which line, asc_batch_next goes on */
    asc_batch_output out;
    asc_batch_counts *counts;
    uint64_t begun;
    asc_text *made; /* the caller's own result line in the making */
} asc_batch_work;

/* A line that is to be run. */
typedef struct asc_batch_place {
    size_t line;
    asc_view text;
    bool alone; /* nothing else runs: a line that says its own bound has it */
} asc_batch_place;
/* The next line whose result is not there; false: there is none left. */
bool asc_batch_next(asc_batch_work *s, asc_batch_place *out);

/* What became of one. */
typedef struct asc_batch_made {
    size_t line;
    asc_status status; /* of the line */
    double pass_flops; /* of one evaluation of one prompt, when it succeeded */
    size_t peak_bytes;
} asc_batch_made;
/* Runs a line in m's context with at most `bound` bytes (0 = what it asks for) and makes its result line in
 * t, which belongs to that context (batch_line.c). CANCELLED: no line was made; RESOURCE_EXHAUSTED: the text
 * did not fit memory. A line that fails is ASC_OK and out->status says why. */
ASC_MUST_USE asc_status asc_batch_make(const asc_batch_work *s, asc_model *m, const asc_batch_place *at,
                                       size_t bound, asc_text *t, asc_batch_made *out);
/* Writes a result line, counts it and tells the caller. */
ASC_MUST_USE asc_status asc_batch_put(asc_batch_work *s, const asc_text *line, bool failed);
/* Both, with the caller's model. */
ASC_MUST_USE asc_status asc_batch_one(asc_batch_work *s, const asc_batch_place *at, size_t bound,
                                      asc_batch_made *out);
/* The lines that are left, n at a time, each in a context of its own under `share` bytes (batch_team.c). */
ASC_MUST_USE asc_status asc_batch_team(asc_batch_work *s, size_t n, size_t share);

#endif
