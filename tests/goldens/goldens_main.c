/* goldens_main.c - goldens [--model FILE] [--device NAME] [--isa NAME] [--threads N] [--quick] [--verbose]
 * FOLDER: walks a folder, runs what it recognises, prints a line per file and `N passed, N failed` at the
 * end. Exit status 1 when something failed or nothing ran. */
#include "file.h"
#include "goldens.h"
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void goldens_fail(goldens *g, const char *fmt, ...) {
    va_list ap;
    char line[512];
    g->cases++;
    g->bad++;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (g->verbose) printf("      %s\n", line);
    if (g->first[0] == '\0') snprintf(g->first, sizeof g->first, "%s", line);
}

void goldens_check(goldens *g, double ratio, const char *fmt, ...) {
    va_list ap;
    g->cases++;
    if (ratio > g->worst) g->worst = ratio;
    if (ratio <= 1.0) return;
    char line[512];
    g->bad++;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof line)
        snprintf(line + n, sizeof line - (size_t)n, ": %.3g times the tolerance", ratio);
    if (g->verbose) printf("      %s\n", line);
    if (g->first[0] == '\0') snprintf(g->first, sizeof g->first, "%s", line);
}

size_t goldens_ids(const asc_json *list, int32_t *out, size_t most) {
    size_t n = asc_json_len(list);
    if (n > most) n = most;
    for (size_t i = 0; i < n; i++) out[i] = (int32_t)asc_json_int(asc_json_at(list, i), -1);
    return n;
}

bool goldens_model(goldens *g) {
    if (g->m != NULL) return true;
    if (g->model_path == NULL) {
        snprintf(g->first, sizeof g->first, "no model: pass MODEL=FILE (make model fetches it)");
        return false;
    }
    if (asc_model_open(g->ctx, g->model_path, NULL, &g->m) == ASC_OK) return true;
    snprintf(g->first, sizeof g->first, "%s", asc_error_message(g->ctx));
    g->model_path = NULL;
    return false;
}

static void begin(goldens *g) {
    g->cases = g->bad = 0;
    g->worst = 0.0;
    g->first[0] = '\0';
}

static void end(goldens *g, const char *name, bool ran) {
    if (!ran) {
        printf("skip  %-34s %s\n", name, g->first);
        g->skipped++;
    } else if (g->bad == 0 && g->cases > 0) {
        printf("ok    %-34s %ld checks, worst %.3f of its tolerance\n", name, g->cases, g->worst);
        g->passed++;
    } else {
        printf("FAIL  %-34s %ld of %ld checks: %s\n", name, g->bad, g->cases,
               g->cases > 0 ? g->first : "nothing in it");
        g->failed++;
    }
    fflush(stdout);
}

static const struct {
    const char *name;
    bool needs_model;
    void (*run)(goldens *g, const asc_json *line);
} kinds[] = {
    {"smollm2_attr.jsonl", true, goldens_attr},
    {"tokenizer_smollm2.jsonl", true, goldens_tokenizer},
    {"generate_smollm2.jsonl", true, goldens_generate},
    {"chat_smollm2.jsonl", true, goldens_chat},
    {"gguf_dequant.jsonl", false, goldens_dequant},
    {"captum_config_golden.jsonl", false, goldens_captum_config},
    {"captum_sampling.jsonl", false,
     goldens_captum_config}, /* the same, with means and deviations over runs */
};

static bool is_dir(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}
static bool has(const char *folder, const char *name) {
    char p[4200];
    struct stat s;
    snprintf(p, sizeof p, "%s/%s", folder, name);
    return stat(p, &s) == 0 && S_ISREG(s.st_mode);
}

/* The tokenizer.json that a file of cases is about: beside it, or else MiniLM's, which fetch-minilm.sh
 * brings.
 */
static void tokenizer_of(const char *path, char out[4200]) {
    const char *slash = strrchr(path, '/'), *folder = getenv("ASC_MINILM");
    snprintf(out, 4200, "%.*s/tokenizer.json", slash != NULL ? (int)(slash - path) : 1,
             slash != NULL ? path : ".");
    if (access(out, R_OK) == 0) return;
    if (folder == NULL || folder[0] == '\0') folder = "models/all-MiniLM-L6-v2";
    snprintf(out, 4200, "%s/tokenizer.json", folder);
}

static void run_tokenizer(goldens *g, const char *path, const char *shown, const char *tokenizer) {
    begin(g);
    bool there = access(tokenizer, R_OK) == 0;
    if (!there)
        snprintf(g->first, sizeof g->first, "no %.400s (scripts/fetch-minilm.sh, ASC_MINILM)", tokenizer);
    if (there && goldens_tokenizer_open(g, tokenizer)) goldens_lines(g, path, goldens_tokenizer_json);
    goldens_tokenizer_close();
    end(g, shown, there);
}

static void run_file(goldens *g, const char *path, const char *shown, const char *name) {
    char tokenizer[4200];
    size_t n = strlen(name);
    if (strncmp(name, "ggml-vocab-", 11) == 0 && n > 16 && strcmp(name + n - 5, ".gguf") == 0) {
        begin(g);
        goldens_vocab(g, path);
        end(g, shown, true);
        return;
    }
    const char *kind = goldens_kind(g, path, name);
    if (kind == NULL) return;
    snprintf(g->beside, sizeof g->beside, "%.*s", (int)(strlen(path) - n - 1), path);
    if (strcmp(kind, "cases.jsonl") == 0 || strcmp(kind, "tokenizer_minilm.jsonl") == 0) {
        tokenizer_of(path, tokenizer);
        run_tokenizer(g, path, shown, tokenizer);
        return;
    }
    begin(g);
    bool ran = true;
    if (strcmp(kind, "captum_expected.tsv") == 0) {
        goldens_expected(g, path);
    } else if (strcmp(kind, "minilm_attr.jsonl") == 0) {
        goldens_minilm_reset();
        ran = goldens_minilm_open(g) && goldens_lines(g, path, goldens_minilm_floors);
        if (ran) goldens_lines(g, path, goldens_minilm);
    } else if (strcmp(kind, "captum_llm_golden.json") == 0) {
        goldens_llm(g, path);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kind, kinds[i].name) != 0) continue;
        ran = !kinds[i].needs_model || goldens_model(g);
        if (ran && kinds[i].run == goldens_attr) {
            goldens_attr_reset();
            goldens_lines(g, path, goldens_attr_floors);
        }
        if (ran) goldens_lines(g, path, kinds[i].run);
    }
    end(g, shown, ran);
}

static void count_warnings(void *self, asc_log_level level, const char *message) {
    goldens *g = self;
    if (level > ASC_LOG_WARN) return;
    g->warnings++;
    if (g->verbose) printf("      warning: %s\n", message);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The format is named at the top of a case file. */
static bool is_onnx(goldens *g, const char *folder) {
    char path[4200];
    char *text = NULL;
    size_t len = 0;
    if (!has(folder, "case.json")) return false;
    snprintf(path, sizeof path, "%s/case.json", folder);
    if (asc_file_read(g->ctx, path, (size_t)1 << 30, &text, &len) != ASC_OK) return false;
    bool yes = memmem(text, len < 400 ? len : 400, "ascribe-onnx-golden", 19) != NULL;
    asc_free(g->ctx, text);
    return yes;
}

static void walk(goldens *g, const char *folder, const char *shown, int depth) {
    if (has(folder, "case.json") && has(folder, "model.gguf")) {
        begin(g);
        goldens_zoo(g, folder);
        end(g, shown, true);
        return;
    }
    if (has(folder, "case.json") && has(folder, "config.json")) {
        begin(g);
        end(g, shown, goldens_folder(g, folder));
        return;
    }
    if (is_onnx(g, folder)) {
        begin(g);
        end(g, shown, goldens_onnx(g, folder));
        return;
    }
    if (has(folder, "list.jsonl") && goldens_is_list(g, folder)) {
        begin(g);
        goldens_bad_gguf(g, folder);
        end(g, shown, true);
        return;
    }
    DIR *d = opendir(folder);
    char *names[4096];
    size_t n = 0;
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL && n < 4096) {
        if (e->d_name[0] != '.' && (names[n] = strdup(e->d_name)) != NULL) n++;
    }
    if (d != NULL) closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        char path[4200], label[4200];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        snprintf(label, sizeof label, "%s%s%s", shown, shown[0] != '\0' ? "/" : "", names[i]);
        if (!is_dir(path)) {
            run_file(g, path, label, names[i]);
        } else if (depth < 4) {
            walk(g, path, label, depth + 1);
        }
        free(names[i]);
    }
}

int main(int argc, char **argv) {
    goldens g = {.device = "cpu"};
    const char *folder = NULL;
    asc_ctx_options o = {.struct_size = sizeof o};
    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (strcmp(argv[i], "--model") == 0 && value) {
            g.model_path = argv[++i];
        } else if (strcmp(argv[i], "--device") == 0 && value) {
            g.device = argv[++i];
        } else if (strcmp(argv[i], "--threads") == 0 && value) {
            o.n_threads = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--isa") == 0 && value) {
            o.isa = argv[++i];
        } else if (strcmp(argv[i], "--verbose") == 0) {
            g.verbose = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            g.quick = true;
        } else {
            folder = argv[i];
        }
    }
    if (folder == NULL || !is_dir(folder)) {
        fprintf(stderr,
                "usage: goldens [--model FILE] [--device cpu|reference] [--isa NAME] [--threads N] [--quick] "
                "[--verbose] FOLDER\n");
        return 2;
    }
    if (g.model_path == NULL) g.model_path = getenv("ASC_MODEL"); /* as all tests have it */
    if (g.model_path != NULL && (g.model_path[0] == '\0' || access(g.model_path, R_OK) != 0))
        g.model_path = NULL;
    o.device = g.device;
    o.log = count_warnings;
    o.log_self = &g;
    if (asc_ctx_create(&o, &g.ctx) != ASC_OK) {
        fprintf(stderr, "goldens: %s\n", g.ctx != NULL ? asc_error_message(g.ctx) : "out of memory");
        return 4;
    }
    g.folder = folder;
    walk(&g, folder, "", 0);
    asc_model_close(g.m);
    asc_model_close(g.minilm);
    asc_ctx_destroy(g.ctx);
    printf(g.skipped > 0 ? "%ld passed, %ld failed, %ld skipped\n" : "%ld passed, %ld failed\n", g.passed,
           g.failed, g.skipped);
    return g.failed > 0 || g.passed == 0 ? 1 : 0;
}
