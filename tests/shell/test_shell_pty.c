/* test_shell_pty.c - the shell at a terminal: somebody types, chooses words with the arrow keys, interrupts,
 * changes the window's size, pastes, leaves; and whatever ends it, the terminal is as it was. */
#include "../cli/run_program.h"
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

typedef struct seat {
    program p;
    pid_t pid;
    int fd;
    char *text; /* everything that came since the last seat_forget */
    size_t n, cap;
    struct termios found;
} seat;

/* Against hanging only: a machine may be slow, and busy. */
static const double PATIENCE = 300;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A process at a terminal of 80 x 24; true in it, where something is to be started. */
static bool sit_down(seat *s) {
    struct winsize w = {.ws_col = 80, .ws_row = 24};
    s->n = 0;
    s->pid = forkpty(&s->fd, NULL, NULL, &w);
    assert_true(s->pid >= 0);
    return s->pid == 0;
}

/* Starts `ascribe shell MODEL ARGUMENTS` there. */
static void sit(seat *s, const char *name, const char *arguments) {
    char line[2000];
    if (sit_down(s)) {
        setenv("TERM", name, 1);
        setenv("HOME", s->p.folder, 1);
        unsetenv("XDG_STATE_HOME");
        unsetenv("COLORTERM");
        unsetenv("COLUMNS");
        if (strstr(arguments, "NO_COLOR") == NULL) unsetenv("NO_COLOR");
        snprintf(line, sizeof line,
                 "cd %s; exec env %s .build/ascribe shell .data/goldens/zoo_gguf/llama-q8_0/model.gguf %s",
                 s->p.folder, strstr(arguments, "NO_COLOR") != NULL ? "NO_COLOR=1" : "A=1",
                 strstr(arguments, "--") != NULL ? strstr(arguments, "--") : "");
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(99);
    }
    tcgetattr(s->fd, &s->found);
}

/* Takes in what comes; false: nothing for so long, or the end. */
static bool take_in(seat *s, double seconds) {
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    if (poll(&p, 1, (int)(seconds * 1000)) <= 0) return false;
    if (s->cap < s->n + 4097) s->text = realloc(s->text, s->cap = 2 * s->cap + 8192);
    ssize_t got = read(s->fd, s->text + s->n, 4096);
    if (got <= 0) return false;
    s->n += (size_t)got;
    s->text[s->n] = '\0';
    return true;
}

/* Waits until `words` came, and forgets everything up to their end. */
static void see(seat *s, const char *words) {
    double end = now() + PATIENCE;
    for (;;) {
        const char *at = s->n > 0 ? memmem(s->text, s->n, words, strlen(words)) : NULL;
        if (at != NULL) {
            size_t used = (size_t)(at - s->text) + strlen(words);
            memmove(s->text, s->text + used, s->n - used + 1);
            s->n -= used;
            return;
        }
        const double before = now();
        siginfo_t ended = {0};
        bool over = false;
        if (!take_in(s, 1) && now() - before < 0.9) { /* nobody holds the other end any more */
            usleep(20000);
            over = waitid(P_PID, (id_t)s->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0;
        }
        if (now() > end || over)
            fail_msg("never saw '%s'; the terminal says: %.*s", words, (int)s->n, s->n > 0 ? s->text : "");
    }
}

static void type_bytes(seat *s, const char *bytes, size_t n) {
    assert_int_equal(write(s->fd, bytes, n), (ssize_t)n);
}

static void type(seat *s, const char *text) { type_bytes(s, text, strlen(text)); }

/* Whether the terminal does what it did before the shell: echo, lines, signals from keys. */
static void check_restored(seat *s) {
    struct termios t;
    if (tcgetattr(s->fd, &t) != 0) return; /* nobody holds the other end any more */
    assert_int_equal(t.c_lflag & (ECHO | ICANON | ISIG | IEXTEN),
                     s->found.c_lflag & (ECHO | ICANON | ISIG | IEXTEN));
    assert_int_equal(t.c_iflag, s->found.c_iflag);
    assert_int_equal(t.c_oflag, s->found.c_oflag);
    assert_memory_equal(t.c_cc, s->found.c_cc, sizeof t.c_cc);
}

/* The shell ends by itself with this code (128 + n: signal n). */
static void leaves(seat *s, int code) {
    int st = 0;
    double end = now() + PATIENCE;
    while (waitpid(s->pid, &st, WNOHANG) == 0) {
        take_in(s, 0.05);
        if (now() > end) {
            kill(s->pid, SIGKILL);
            fail_msg("the shell does not end");
        }
    }
    while (take_in(s, 0.05)) {
    }
    check_restored(s);
    close(s->fd);
    int got = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
    if (got != code) fail_msg("exit code %d, not %d: %.*s", got, code, (int)s->n, s->n > 0 ? s->text : "");
}

#define UP "\x1b[A"
#define DOWN "\x1b[B"
#define RIGHT "\x1b[C"
#define LEFT "\x1b[D"
#define ESCAPE "\x1b"

static void test_ask_and_choose(void **state) {
    seat *s = *state;
    sit(s, "xterm-256color", "--set generate=4");
    see(s, "type a prompt");
    see(s, "> ");
    type(s, "The capital of France\r");
    see(s, "Target");
    see(s, "\x1b[48;5;"); /* the prompt in colours */
    see(s, "Cost");
    see(s, "> ");
    type(s, "\t");
    see(s, "Prompt  ");
    see(s, "\x1b[48;5;"); /* words that drove the chosen one */
    see(s, "\x1b[7m");    /* which is in the answer */
    see(s, "was driven by (nats)");
    type(s, UP);
    see(s, "\x1b[7mThe\x1b[0m");
    see(s, "The drove (nats)");
    type(s, RIGHT RIGHT RIGHT);
    see(s, "\x1b[7mFrance\x1b[0m");
    type(s, "\x1b[H");
    see(s, "\x1b[7mThe\x1b[0m");
    /* Another size: drawn anew, on a cleared screen, at its width. */
    struct winsize w = {.ws_col = 46, .ws_row = 12};
    assert_int_equal(ioctl(s->fd, TIOCSWINSZ, &w), 0);
    see(s, "\x1b[2J");
    see(s, "\x1b[7mThe\x1b[0m");
    type(s, "\t");
    see(s, "was driven by");
    type(s, "\r"); /* in full: the question about this word alone */
    see(s, "Target");
    see(s, "Cost");
    see(s, "> ");
    type(s, ":undo\r");
    see(s, "undone: an attribution of");
    see(s, "> ");
    type(s, "\t");
    see(s, "was driven by");
    type(s, ESCAPE);
    see(s, "> ");
    type(s, ":quit\r");
    leaves(s, 0);
}

static void test_leave(void **state) {
    static const char *const ways[] = {"\x04", "\x03\x03", ":quit\r", ":q\r"};
    seat *s = *state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        sit(s, "xterm", "--history off");
        see(s, "> ");
        type(s, ways[i]);
        leaves(s, 0);
    }
}

/* Asks what is endless for all purposes here, and returns when it is under way. */
static void ask_for_long(seat *s) {
    type(s, ":method integrated-gradients\r:set rule riemann-left\r:set steps 100000\r");
    see(s, "steps 100000");
    see(s, "> ");
    for (int i = 0; i < 30; i++) type(s, "a b c d e ");
    type(s, "\r");
    see(s, "gradients: "); /* said of what takes more than a second */
}

static void test_interrupt(void **state) {
    seat *s = *state;
    sit(s, "xterm", "--set generate=2");
    see(s, "> ");
    ask_for_long(s);
    type(s, "\x03"); /* work runs: the key is a signal */
    see(s, "stopped");
    see(s, "> ");
    type(s, ":set steps 3\r:again\r"); /* the context works */
    see(s, "Cost");
    see(s, "> ");
    type(s, "half a line\x03"); /* a line is given up, the shell stays */
    see(s, "^C");
    see(s, "> ");
    type(s, "\x03");
    see(s, "once more");
    see(s, "> ");
    type(s, ":model\r"); /* something between: counted anew */
    see(s, "architecture");
    see(s, "> ");
    type(s, "\x03");
    see(s, "once more");
    type(s, "\x03");
    leaves(s, 0);
}

static void test_signals(void **state) {
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT};
    seat *s = *state;
    for (size_t i = 0; i < 3; i++) {
        for (int where = 0; where < 3; where++) {
            sit(s, "xterm", "--set generate=2");
            see(s, "> ");
            if (where == 1) { /* while a word is chosen */
                type(s, "a b\r");
                see(s, "Cost");
                see(s, "> ");
                type(s, "\t");
                see(s, "was driven by");
            }
            if (where == 2) ask_for_long(s); /* while work runs */
            kill(s->pid, signals[i]);
            leaves(s, 1);
        }
    }
}

static void test_paste_and_history(void **state) {
    seat *s = *state;
    char *longest = malloc(20000);
    sit(s, "xterm", "--set generate=1 --history kept");
    see(s, "\x1b[?2004h");
    type(s, "\x1b[200~one line\r\nand :two\n\x1b[201~");
    see(s, "and :two");
    type(s, "\r");
    see(s, "Cost");
    type(s, ":history\r");
    see(s, "one line\\nand :two");
    see(s, "> ");
    type(s, UP UP "\r"); /* the line before :history, both its lines */
    see(s, "Cost");
    see(s, "> ");
    type(s, "say\\\r");
    see(s, "... ");
    type(s, "this\r");
    see(s, "Cost");
    see(s, "> ");
    type(s, " a secret\r");
    see(s, "Cost");
    type(s, ":meth\tli\t\r:set fea\tsen\t\r:set\r");
    see(s, "  method           lime\r\n  features         sentence");
    see(s, "> ");
    memset(longest, 'w', 19999);
    memcpy(longest, "\x1b[200~", 6);
    for (size_t i = 106; i < 19990; i += 100) longest[i] = ' ';
    memcpy(longest + 19993, "\x1b[201~", 6);
    for (size_t i = 0; i < 19999; i += 1000) { /* as fast as the terminal takes it */
        type_bytes(s, longest + i, i + 1000 < 19999 ? 1000 : 19999 - i);
        take_in(s, 0.01);
    }
    type(s, "\r");
    see(s, "ascribe: "); /* longer than this model's context: an error, not an end */
    see(s, "512");
    see(s, "> ");
    type(s, "\x04");
    leaves(s, 0);
    free(longest);
    program_expect(&s->p, 0, NULL,
                   "[ $(stat -c %a kept) = 600 ] && [ $(ls kept* | wc -l) = 1 ] && grep -qx 'one line.nand "
                   ":two' kept && "
                   "grep -qx 'say.nthis' kept && grep -qx ':method lime ' kept && ! grep -q secret kept");
}

/* A terminal that can only print, and one without colours. */
static void test_plain_terminals(void **state) {
    seat *s = *state;
    sit(s, "dumb", "--set generate=2");
    see(s, "> ");
    type(s, "The capital\n");
    see(s, "Cost");
    see(s, "> ");
    type(s, ":word\n");
    see(s, ":word needs a word");
    type(s, ":word capital\n");
    see(s, "What was driven by");
    type(s, "\x03");
    see(s, "once more");
    if (s->n > 0 && memchr(s->text, '\x1b', s->n) != NULL) fail_msg("escapes for a terminal that has none");
    type(s, "\x04");
    leaves(s, 0);
    sit(s, "xterm", "NO_COLOR --set generate=2");
    see(s, "> ");
    type(s, "The capital\r");
    see(s, "+++"); /* bars of characters */
    see(s, "> ");
    type(s, "\t");
    see(s, "was driven by");
    assert_null(memmem(s->text, s->n, "\x1b[48;", 5));
    type(s, "q:quit\r");
    leaves(s, 0);
}

/* Ctrl-Z gives the terminal back and takes it again. Somebody must be there to wake the shell: a job of a
 * shell with job control. */
static void test_sleep(void **state) {
    seat *s = *state;
    char line[2000];
    if (sit_down(s)) {
        setenv("TERM", "xterm", 1);
        setenv("PS1", "$ ", 1);
        unsetenv("LC_ALL");
        setenv("LC_MESSAGES", "C", 1); /* it says "Stopped" */
        execl("/bin/bash", "bash", "--norc", "--noprofile", "--noediting", "-i", (char *)NULL);
        _exit(99);
    }
    see(s, "$ ");
    tcgetattr(s->fd, &s->found);
    snprintf(line, sizeof line,
             "%s/.build/ascribe shell %s/.data/goldens/zoo_gguf/llama-q8_0/model.gguf --history off\n",
             s->p.folder, s->p.folder);
    type(s, line);
    see(s, "Ctrl-D to leave");
    see(s, "> ");
    type(s, "half\x1a");
    see(s, "topped"); /* "Stopped" or "[1]+  Stopped" */
    see(s, "$ ");
    check_restored(s);
    type(s, "echo $((40 + 2))\n");
    see(s, "42");
    type(s, "fg\n");
    see(s, "> half");
    type(s, "\x15:model\r");
    see(s, "architecture");
    see(s, "> ");
    type(s, "\x04");
    see(s, "$ ");
    check_restored(s);
    type(s, "exit 7\n");
    leaves(s, 7);
}

static int setup(void **state) {
    seat *s = calloc(1, sizeof *s);
    *state = s;
    return s != NULL && program_open(&s->p) ? 0 : -1;
}

static int teardown(void **state) {
    seat *s = *state;
    char line[512];
    snprintf(line, sizeof line, "rm -rf '%s'", s->p.folder);
    int rc = system(line);
    free(s->p.out);
    free(s->p.err);
    free(s->text);
    free(s);
    return rc;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ask_and_choose),
                                       cmocka_unit_test(test_leave),
                                       cmocka_unit_test(test_interrupt),
                                       cmocka_unit_test(test_signals),
                                       cmocka_unit_test(test_paste_and_history),
                                       cmocka_unit_test(test_plain_terminals),
                                       cmocka_unit_test(test_sleep)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
