/* terminal.c - modes of the terminal, signals, size. */
#include "terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* Handlers get no argument: these are the shell's only globals. */
static struct {
    asc_ctx *volatile running; /* NULL: no work */
    volatile sig_atomic_t interrupted, resized, stopped, ending, saved;
    int wake[2];
    struct termios found, ours;
} seen = {.wake = {-1, -1}};

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
enum { N_HANDLED = sizeof handled / sizeof *handled };
static struct sigaction before[N_HANDLED];

static void restore(void) {
    static const char plain[] = "\x1b[?2004l\x1b[?25h\x1b[0m";
    if (!seen.saved) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &seen.found);
    ssize_t n = isatty(STDOUT_FILENO) ? write(STDOUT_FILENO, plain, sizeof plain - 1) : 0;
    (void)n;
}

/* Between lines the terminal neither collects lines nor echoes: what is typed ahead waits for the editor, and
 * no character gets lost where a mode ends and the next begins. Ctrl-C is a signal. */
static void take_terminal(const terminal *t) {
    if (!t->able || !seen.saved) return;
    seen.ours = seen.found;
    seen.ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    seen.ours.c_lflag |= ISIG;
    seen.ours.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR);
    seen.ours.c_cc[VMIN] = 1;
    seen.ours.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &seen.ours);
}

/* Only calls that are safe in a handler. */
static void on_signal(int sig) {
    int kept = errno;
    switch (sig) {
    case SIGWINCH:
        seen.resized = 1;
        break;
    case SIGTSTP:
        seen.stopped = 1;
        break;
    case SIGINT:
        if (seen.running != NULL)
            asc_cancel(seen.running);
        else
            seen.interrupted = 1;
        break;
    default:
        if (seen.ending++ > 0) { /* asked twice: at once */
            restore();
            signal(sig, SIG_DFL);
            raise(sig);
        }
        if (seen.running != NULL) asc_cancel(seen.running);
    }
    ssize_t n = seen.wake[1] >= 0 ? write(seen.wake[1], "", 1) : 0;
    (void)n;
    errno = kept;
}

void terminal_begin(terminal *t, asc_ctx *ctx, bool interactive) {
    const char *name = getenv("TERM");
    *t = (terminal){.ctx = ctx, .interactive = interactive};
    t->able = interactive && name != NULL && name[0] != '\0' && strcmp(name, "dumb") != 0;
    seen.interrupted = seen.resized = seen.stopped = seen.ending = 0;
    seen.running = NULL;
    seen.saved = interactive && tcgetattr(STDIN_FILENO, &seen.found) == 0;
    take_terminal(t);
    if (pipe2(seen.wake, O_CLOEXEC | O_NONBLOCK) != 0) seen.wake[0] = seen.wake[1] = -1;
    for (int i = 0; i < N_HANDLED; i++) {
        struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}; /* cli/session.c */
        const bool always = handled[i] == SIGINT || handled[i] == SIGTERM;
        sigemptyset(&a.sa_mask);
        sigaction(handled[i], always || interactive ? &a : NULL, &before[i]);
    }
}

void terminal_end(terminal *t) {
    if (t->interactive) restore();
    for (int i = 0; i < N_HANDLED; i++) sigaction(handled[i], &before[i], NULL);
    for (int i = 0; i < 2; i++) {
        if (seen.wake[i] >= 0) close(seen.wake[i]);
        seen.wake[i] = -1;
    }
    seen.saved = 0;
}

void terminal_work_begins(terminal *t) {
    seen.running = t->ctx;
    if (seen.ending || seen.interrupted) asc_cancel(t->ctx); /* it came between two pieces of work */
    seen.interrupted = 0;
}

bool terminal_work_ends(terminal *t) {
    seen.running = NULL;
    bool was = asc_error_code(t->ctx) == ASC_CANCELLED;
    asc_cancel_reset(t->ctx);
    return was;
}

bool terminal_is_ending(void) { return seen.ending != 0; }

static terminal_event take_event(void) {
    char bytes[64];
    while (seen.wake[0] >= 0 && read(seen.wake[0], bytes, sizeof bytes) > 0) {
    }
    if (seen.ending) return TERMINAL_END;
    if (seen.interrupted) {
        seen.interrupted = 0;
        return TERMINAL_INTERRUPT;
    }
    if (seen.stopped) {
        seen.stopped = 0;
        return TERMINAL_STOP;
    }
    if (seen.resized) {
        seen.resized = 0;
        return TERMINAL_RESIZED;
    }
    return TERMINAL_NOTHING;
}

int terminal_byte(terminal *t, double seconds, unsigned char *byte, terminal_event *event) {
    (void)t;
    *event = TERMINAL_NOTHING;
    for (;;) {
        *event = take_event();
        if (*event != TERMINAL_NOTHING) return 0;
        struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = seen.wake[0], .events = POLLIN}};
        int n = poll(p, 2, seconds < 0 ? -1 : (int)ceil(seconds * 1000));
        if (n == 0) return 0;
        if (n < 0 && errno != EINTR) return -1;
        if (n < 0 || p[0].revents == 0) continue;
        ssize_t got = read(STDIN_FILENO, byte, 1);
        if (got == 1) return 1;
        if (got == 0 || (errno != EINTR && errno != EAGAIN)) return -1;
    }
}

shell_key terminal_key(terminal *t) {
    for (;;) {
        unsigned char byte;
        terminal_event event;
        size_t used;
        if (t->n_keys > 0) {
            shell_key k = key_read(t->keys, t->n_keys, false, &used);
            if (k != KEY_MORE) {
                t->n_keys -= used;
                memmove(t->keys, t->keys + used, t->n_keys);
                return k;
            }
        }
        /* A sequence's bytes come together, but networks tear them apart. */
        int got = terminal_byte(t, t->n_keys > 0 ? 0.25 : -1, &byte, &event);
        if (got < 0) return KEY_INTERRUPT;
        if (got == 1) {
            t->keys[t->n_keys++] = (char)byte;
            continue;
        }
        switch (event) {
        case TERMINAL_RESIZED:
            return KEY_RESIZE;
        case TERMINAL_STOP:
            terminal_sleep(t);
            terminal_keys(t);
            return KEY_RESIZE;
        case TERMINAL_NOTHING: {
            shell_key k = key_read(t->keys, t->n_keys, true, &used);
            t->n_keys = 0;
            return k;
        }
        default:
            return KEY_INTERRUPT;
        }
    }
}

bool terminal_keys(terminal *t) {
    struct termios raw = seen.ours;
    if (!t->able || !seen.saved) return false;
    raw.c_cc[VINTR] = _POSIX_VDISABLE; /* Ctrl-C is a key here */
    t->n_keys = 0;
    return tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void terminal_no_keys(terminal *t) {
    if (t->able && seen.saved) tcsetattr(STDIN_FILENO, TCSADRAIN, &seen.ours);
}

void terminal_sleep(terminal *t) {
    restore();
    signal(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP); /* all of the job, as the key would */
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigemptyset(&a.sa_mask);
    sigaction(SIGTSTP, &a, NULL);
    take_terminal(t);
}

void terminal_size(size_t *columns, size_t *rows) {
    struct winsize w = {0};
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0;
    *columns = known && w.ws_col > 0 ? w.ws_col : 80;
    *rows = known && w.ws_row > 0 ? w.ws_row : 24;
}

void terminal_write(asc_view v) {
    while (v.len > 0) {
        ssize_t n = write(STDOUT_FILENO, v.ptr, v.len);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
            poll(&p, 1, 1000);
            continue;
        }
        if (n < 0) return; /* the terminal is gone: the next read says so */
        v = (asc_view){v.ptr + n, v.len - (size_t)n};
    }
}
