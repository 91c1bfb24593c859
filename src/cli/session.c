/* session.c - what surrounds a command: context, signals, progress, error messages, output. */
#include "ascribe/cache.h"
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Signal handlers get no argument, so these few values are the program's only globals. */
static asc_ctx *volatile running;
static volatile sig_atomic_t interrupts;
static char watched[4200];

static void on_interrupt(int sig) {
    if (interrupts++ > 0 || running == NULL) { /* asked twice: the default action, at once */
        signal(sig, SIG_DFL);
        raise(sig);
        return;
    }
    asc_cancel(running);
}

/* A mapped page behind the file's new end was touched: nothing can be computed any more. Only calls that are
 * safe here. */
static void on_bus_error(int sig) {
    (void)sig;
    ssize_t n = write(STDERR_FILENO, watched, strlen(watched));
    (void)n;
    _exit(EXIT_INPUT);
}

/* A file that is opened while 0, 1 or 2 is closed would get that number and be taken for a standard stream.
 * The stand-ins are open the wrong way round: using them still fails as it should. */
void cli_keep_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            _exit(EXIT_INTERNAL);
    }
}

/* Handlers have a stack of their own: oneDNN's sgemm keeps values below the stack pointer, farther than the
 * 128 bytes that a signal spares, and a handler on that stack writes over them. */
static void own_stack(void) {
    static char bytes[1 << 16];
    const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes};
    sigaltstack(&stack, NULL);
}

void cli_install_signals(void) {
    struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = SA_ONSTACK};
    own_stack();
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    a.sa_handler = on_bus_error;
    sigaction(SIGBUS, &a, NULL);
    signal(SIGPIPE, SIG_DFL); /* a reader that leaves ends us without a word */
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is an error of the write, not our end */
    cli_watch_file("a file");
}

void cli_watch_file(const char *path) {
    snprintf(watched, sizeof watched,
             "ascribe: '%.4000s' became shorter while it was in use; nothing was written\n"
             "  try: leave the file alone while it is in use, then run again\n",
             path);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct {
    double begun, shown;
    char what[64];
    const char *only;
    bool visible, wanted;
} line;

void cli_progress_only(const char *what) { line.only = what; }

void cli_clear_progress(void) {
    if (line.visible) fputs("\r\x1b[K", stderr);
    line.visible = false;
}

bool cli_progress(void *self, const char *what, double done, double total) {
    double t = now();
    (void)self;
    if (!line.wanted || (line.only != NULL && strcmp(what, line.only) != 0)) return true;
    if (strncmp(line.what, what, sizeof line.what - 1) != 0) {
        snprintf(line.what, sizeof line.what, "%s", what);
        line.begun = t;
        line.shown = 0;
    }
    if (total > 0 && done >= total) cli_clear_progress();
    if (t - line.begun < 1 || t - line.shown < 0.2 || (total > 0 && done >= total)) return true;
    double rate = done / (t - line.begun);
    fprintf(stderr, "\r\x1b[K%s: %.0f", what, done);
    if (total > 0) fprintf(stderr, " of %.0f (%.0f %%)", total, 100 * done / total);
    if (rate > 0) fprintf(stderr, ", %.3g/s", rate);
    if (rate > 0 && total > done) fprintf(stderr, ", %.0f s left", (total - done) / rate);
    fflush(stderr);
    line.shown = t;
    line.visible = true;
    return true;
}

/* Messages of ASC_DEBUG, and warnings; the others are for programs that want them. */
static void on_log(void *self, asc_log_level level, const char *message) {
    (void)self;
    if (level != ASC_LOG_DEBUG && level != ASC_LOG_WARN) return;
    cli_clear_progress();
    fputs(level == ASC_LOG_WARN ? "ascribe: warning: " : "debug: ", stderr);
    for (; *message != '\0'; message++) /* labels are other people's text */
        fputc((unsigned char)*message < 0x20 || *message == 0x7f ? '?' : *message, stderr);
    fputc('\n', stderr);
}

int cli_open_context(cli *c) {
    asc_ctx_options o = {.struct_size = sizeof o,
                         .progress = cli_progress,
                         .log = on_log,
                         .device = c->value[OPT_DEVICE],
                         .mode = c->value[OPT_MODE],
                         .isa = c->value[OPT_ISA],
                         .precision = c->value[OPT_PRECISION]};
    size_t threads, seed;
    int rc;
    if ((rc = cli_size(c, OPT_THREADS, 0, &threads)) != EXIT_DONE) return rc;
    if (cli_has(c, OPT_THREADS) && (threads == 0 || threads > 1024))
        return cli_usage("--threads is from 1 to 1024");
    if ((rc = cli_size(c, OPT_SEED, 0, &seed)) != EXIT_DONE) return rc;
    o.n_threads = (int)threads;
    o.seed = seed;
    line.wanted = isatty(STDERR_FILENO) && !cli_has(c, OPT_QUIET);
    asc_status st = asc_ctx_create(&o, &c->ctx);
    if (st == ASC_OK) st = asc_text_create(c->ctx, &c->out);
    if (st != ASC_OK) return cli_error(c, st);
    running = c->ctx;
    const bool keeps = c->command == CMD_cache ||
                       (c->value[OPT_MODE] != NULL && strcmp(c->value[OPT_MODE], "compiled") == 0);
    if (keeps && (st = asc_disk_cache_use(c->ctx, NULL)) != ASC_OK) return cli_error(c, st);
    if ((rc = cli_set_levels(c)) != EXIT_DONE) return rc;
    return c->command == CMD_bench ? cli_profile_folder(c) : cli_profile_begin(c);
}

void cli_set_running(asc_ctx *ctx) { running = ctx; }

void cli_close(cli *c) {
    running = NULL;
    asc_text_destroy(c->out);
    asc_ctx_destroy(c->ctx);
    c->out = NULL;
    c->ctx = NULL;
}

asc_weights_mode cli_weights(const cli *c) {
    const char *w = c->value[OPT_WEIGHTS];
    if (w == NULL || strcmp(w, "auto") == 0) return ASC_WEIGHTS_AUTO;
    return strcmp(w, "stored") == 0 ? ASC_WEIGHTS_STORED : ASC_WEIGHTS_EXPANDED;
}

int cli_model_options(const cli *c, cli_adapters *adapters, asc_model_options *out) {
    int rc = cli_read_adapters(c, adapters);
    if (rc == EXIT_DONE)
        *out = (asc_model_options){.struct_size = sizeof *out,
                                   .weights = cli_weights(c),
                                   .adapters = adapters->v,
                                   .n_adapters = adapters->n};
    return rc;
}

int cli_open_model(cli *c, asc_model **out) {
    cli_adapters a;
    asc_model_options o;
    int rc = cli_model_options(c, &a, &o);
    if (rc != EXIT_DONE) return rc;
    cli_watch_file(c->operand[0]);
    asc_status st = asc_model_open(c->ctx, c->operand[0], &o, out);
    return st == ASC_OK ? cli_check_levels(c, *out, NULL) : cli_error(c, st);
}

static int exit_code(asc_status st) {
    switch (st) {
    case ASC_OK:
        return EXIT_DONE;
    case ASC_CANCELLED:
        return EXIT_CHECK;
    case ASC_UNKNOWN:
    case ASC_ABORTED:
    case ASC_INTERNAL:
        return EXIT_INTERNAL;
    default:
        return EXIT_INPUT;
    }
}

/* File names and texts in a message are other people's: they are shown, not obeyed. False: no memory for it.
 */
static bool say(cli *c, const char *message, const char *hint) {
    asc_text *t = NULL;
    cli_clear_progress();
    if (asc_text_create(c->ctx, &t) != ASC_OK) return false;
    asc_text_complaint(t, message, hint);
    fprintf(stderr, "ascribe: %s\n", asc_text_view(t).ptr);
    asc_text_destroy(t);
    return true;
}

int cli_error(cli *c, asc_status st) {
    cli_clear_progress();
    if (st == ASC_CANCELLED) {
        const bool lines = c->value[OPT_PROMPTS] != NULL; /* those that are done stay in the results */
        fputs(lines ? "ascribe: stopped\n" : "ascribe: stopped; nothing was written\n", stderr);
        return EXIT_CHECK;
    }
    const char *message = c->ctx != NULL ? asc_error_message(c->ctx) : "";
    const char *hint = c->ctx != NULL ? asc_error_hint(c->ctx) : "";
    if (message[0] == '\0' || !say(c, message, hint))
        fprintf(stderr, "ascribe: %s\n",
                st == ASC_RESOURCE_EXHAUSTED ? "out of memory" : asc_status_name(st));
    return exit_code(st);
}

int cli_error_in(cli *c, asc_status st, const char *path, const char *remedy) {
    char message[1200], hint[600];
    if (st == ASC_CANCELLED || st == ASC_RESOURCE_EXHAUSTED) return cli_error(c, st);
    snprintf(message, sizeof message, "'%.300s': %s", strcmp(path, "-") == 0 ? "standard input" : path,
             asc_error_message(c->ctx));
    snprintf(hint, sizeof hint, "%s", asc_error_hint(c->ctx)[0] != '\0' ? asc_error_hint(c->ctx) : remedy);
    say(c, message, hint);
    return exit_code(st);
}

int cli_flush(cli *c) {
    cli_clear_progress();
    asc_status st = asc_text_write(c->out, "-");
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

bool cli_wants_json(const cli *c) { return cli_has(c, OPT_JSON); }

bool cli_to_stdout(const cli *c, cli_option_id o) { return cli_has(c, o) && strcmp(c->value[o], "-") == 0; }

int cli_write_json(cli *c, asc_text *t) {
    cli_clear_progress();
    asc_status st = asc_text_write(t, c->value[OPT_JSON]);
    return st == ASC_OK ? EXIT_DONE : cli_error(c, st);
}

/* The file that the output at s would replace although the command reads it, or NULL. */
static const char *input_at(const cli *c, const struct stat *s) {
    const char *const inputs[] = {c->n_operands > 0 ? c->operand[0] : NULL, c->value[OPT_PROMPT_FILE],
                                  c->value[OPT_CHAT], c->value[OPT_ASK]};
    struct stat in;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (inputs[i] != NULL && stat(inputs[i], &in) == 0 && in.st_dev == s->st_dev &&
            in.st_ino == s->st_ino)
            return inputs[i];
    }
    return NULL;
}

int cli_check_output(cli *c, cli_option_id o) {
    char folder[4096];
    struct stat s;
    const char *path = c->value[o];
    if (path == NULL || strcmp(path, "-") == 0) return EXIT_DONE;
    if (path[0] == '\0') return cli_usage("--%s needs the name of a file", cli_options[o].name);
    bool exists = stat(path, &s) == 0;
    if (exists && S_ISDIR(s.st_mode)) {
        fprintf(stderr, "ascribe: cannot write '%s': it is a directory\n  try: name a file inside it\n",
                path);
        return EXIT_INPUT;
    }
    if (exists && !S_ISREG(s.st_mode)) return EXIT_DONE;
    if (exists && input_at(c, &s) != NULL) {
        fprintf(
            stderr,
            "ascribe: '%s' is read by this command and would be overwritten\n  try: another name for --%s\n",
            path, cli_options[o].name);
        return EXIT_INPUT;
    }
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
             slash == NULL ? "." : path);
    if (access(folder, W_OK | X_OK) == 0) return EXIT_DONE;
    fprintf(stderr, "ascribe: cannot write '%s': %s\n  try: a folder that exists and that you may write to\n",
            path, strerror(errno));
    return EXIT_INPUT;
}

asc_report_style cli_style(const cli *c) {
    asc_report_style s = {.struct_size = sizeof s};
    const char *term = getenv("TERM"), *colour = getenv("COLORTERM"), *columns = getenv("COLUMNS");
    struct winsize w = {0};
    bool terminal = isatty(STDOUT_FILENO);
    s.columns = 100;
    if (columns != NULL && atoi(columns) > 0)
        s.columns = (size_t)atoi(columns);
    else if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        s.columns = w.ws_col;
    if (!terminal || cli_has(c, OPT_NO_COLOR) || term == NULL || strcmp(term, "dumb") == 0) return s;
    bool rgb = colour != NULL && (strcmp(colour, "truecolor") == 0 || strcmp(colour, "24bit") == 0);
    s.colours = rgb ? ASC_COLOURS_RGB : ASC_COLOURS_256;
    s.rows = 12;
    return s;
}
