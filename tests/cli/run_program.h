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
    static char path[640];
    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    return path;
}

/* Shell functions: awk whose numbers have points in every locale, and, for commands that stop work, waiting
 * for what happened, not for a time. computing PID: until this process has opened a model and computed for a
 * fifth of a second, or has ended. lines N FILE PID: until the file has so many lines, or this process has
 * ended. */
#define PROGRAM_TOOLS                                                                                        \
    "awk() { LC_ALL=C command awk \"$@\"; }; "                                                               \
    "ended() { [ ! -e /proc/$1 ] || grep -q '^State:.*Z' /proc/$1/status; }; "                               \
    "ticks() { cut -d ' ' -f 14 /proc/$1/stat; }; "                                                          \
    "computing() { until ended $1 || { grep -q gguf /proc/$1/maps && [ $(ticks $1) -ge 20 ]; }; do "         \
    "sleep 0.02; done 2>/dev/null; }; "                                                                      \
    "lines() { until ended $3 || [ $(wc -l <$2) -ge $1 ]; do sleep 0.01; done 2>/dev/null; }; "

/* The exit code of `$A ...` in a shell; $L, $G and $Q are small models. 128 + n for signal n, as a shell has
 * it. */
static inline int program_run(program *p, const char *command) {
    char line[10000];
    free(p->out);
    free(p->err);
    snprintf(line, sizeof line,
             "cd %s || exit 99; A=$PWD/.build/ascribe D=$PWD/.data; Z=$D/goldens/zoo_gguf; "
             "L=$Z/llama-q8_0/model.gguf; G=$Z/gemma2-f16/model.gguf; Q=$Z/qwen3-q5_0/model.gguf; "
             "B=$D/goldens/bad_gguf; unset NO_COLOR COLORTERM COLUMNS; " PROGRAM_TOOLS "{ %s\n} "
             ">out 2>err </dev/null",
             p->folder, command);
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

/* Makes the folder, with links to the build and to the data: the names of those may have blanks. */
static inline bool program_open(program *p) {
    static const char *const links[][3] = {{"ASC_BUILD_ROOT", "build", ".build"},
                                           {"ASC_TEST_DATA", "tests/data", ".data"}};
    snprintf(p->folder, sizeof p->folder, "%s/ascribe-test-XXXXXX", test_tmp());
    bool good = mkdtemp(p->folder) != NULL;
    for (int i = 0; good && i < 2; i++) {
        const char *given = getenv(links[i][0]);
        char *path = realpath(given != NULL ? given : links[i][1], NULL);
        good = path != NULL && symlink(path, program_path(p, links[i][2])) == 0;
        free(path);
    }
    return good;
}

static inline int program_setup(void **state) {
    program *p = calloc(1, sizeof *p);
    *state = p;
    return p != NULL && program_open(p) ? 0 : -1;
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
