/* run_program.h - runs the built program through a shell and keeps what it printed. */
#ifndef ASC_TEST_PROGRAM_H
#define ASC_TEST_PROGRAM_H

#include "../harness.h"
#include "json.h"
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct program {
    char folder[256]; /* of its own, the working directory of every run */
    char *out, *err;  /* of the last run */
    size_t out_len;
} program;

static inline char *program_slurp(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, cap = 0, got = 1;
    if (f == NULL) return NULL;
    while (got > 0) {
        if (n + 4096 + 1 > cap) text = realloc(text, cap = 2 * cap + 8192);
        got = fread(text + n, 1, 4096, f);
        n += got;
    }
    fclose(f);
    text[n] = '\0';
    if (len != NULL) *len = n;
    return text;
}

static inline char *program_path(program *p, const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    return path;
}

/* The exit code of `$A ...` in a shell; $L, $G and $Q are small models. 128 + n for signal n, as a shell has
 * it. */
static inline int program_run(program *p, const char *command) {
    char line[8192];
    const char *build = getenv("ASC_BUILD_ROOT"), *data = getenv("ASC_TEST_DATA");
    free(p->out);
    free(p->err);
    snprintf(line, sizeof line,
             "cd '%s' || exit 99; A='%s/ascribe' Z='%s/goldens/zoo_gguf'; L=$Z/llama-q8_0/model.gguf; "
             "G=$Z/gemma2-f16/model.gguf; "
             "Q=$Z/qwen3-q5_0/model.gguf; B='%s/goldens/bad_gguf'; unset NO_COLOR COLORTERM COLUMNS; { %s\n} "
             ">out 2>err </dev/null",
             p->folder, build != NULL ? build : "build", data != NULL ? data : "tests/data",
             data != NULL ? data : "tests/data", command);
    int st = system(line);
    p->out = program_slurp(program_path(p, "out"), &p->out_len);
    p->err = program_slurp(program_path(p, "err"), NULL);
    return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* The run ends with `code` and says `words` (NULL = nothing) on standard error. */
static inline void program_expect(program *p, int code, const char *words, const char *command) {
    int rc = program_run(p, command);
    if (rc != code) fail_msg("exit code %d instead of %d: %s\n%s%s", rc, code, command, p->out, p->err);
    if (words == NULL && p->err[0] != '\0') fail_msg("unexpected: %s\nof: %s", p->err, command);
    if (words != NULL && strstr(p->err, words) == NULL)
        fail_msg("no '%s' in: %s\nof: %s", words, p->err, command);
}

static inline int program_setup(void **state) {
    program *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "%s/ascribe-test-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    *state = p;
    return p != NULL && mkdtemp(p->folder) != NULL ? 0 : -1;
}

static inline int program_teardown(void **state) {
    program *p = *state;
    char line[512];
    snprintf(line, sizeof line, "rm -rf '%s'", p->folder);
    int rc = system(line);
    free(p->out);
    free(p->err);
    free(p);
    return rc;
}

#endif
