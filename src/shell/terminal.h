/* terminal.h - the terminal and the signals of the shell. Whatever ends the program, the terminal is as it
 * was found.
 *
 * Signals reach one terminal at a time, so what their handlers touch are the shell's only globals
 * (terminal.c).
 */
#ifndef SHELL_TERMINAL_H
#define SHELL_TERMINAL_H

#include "ascribe/base.h"
#include "keys.h"

/* What came by signal since it was last taken. */
typedef enum terminal_event {
    TERMINAL_NOTHING,
    TERMINAL_INTERRUPT, /* Ctrl-C while no work ran */
    TERMINAL_RESIZED,
    TERMINAL_STOP, /* Ctrl-Z: the program is to sleep */
    TERMINAL_END   /* TERM, HUP, QUIT: the program is to end */
} terminal_event;

typedef struct terminal {
    asc_ctx *ctx; /* whose work Ctrl-C stops */
    bool interactive;
    bool able; /* the cursor can be moved: not TERM=dumb */
    char keys[KEY_MOST];
    size_t n_keys;
} terminal;

/* Installs the handlers, remembers the terminal's state and takes it: nothing is echoed, Ctrl-C is a signal.
 * One at a time. */
void terminal_begin(terminal *t, asc_ctx *ctx, bool interactive);
void terminal_end(terminal *t);

/* While work runs Ctrl-C cancels it; terminal_work_ends makes the context usable again and says whether it
 * was cancelled. */
void terminal_work_begins(terminal *t);
bool terminal_work_ends(terminal *t);
/* Is the program to end? */
bool terminal_is_ending(void);

/* Waits for one byte of standard input or an event. 1: *byte; 0: *event; -1: the end of the input. seconds <
 * 0 waits for ever; past them it is 0 with TERMINAL_NOTHING. */
int terminal_byte(terminal *t, double seconds, unsigned char *byte, terminal_event *event);
/* The next key; needs terminal_keys. KEY_INTERRUPT also at the end of the input. */
shell_key terminal_key(terminal *t);

/* Ctrl-C is a key, until terminal_no_keys. False: standard input is no terminal that is able. */
bool terminal_keys(terminal *t);
void terminal_no_keys(terminal *t);
/* Sleeps as Ctrl-Z has it and returns when woken; the caller prepares the terminal again. */
void terminal_sleep(terminal *t);
void terminal_size(size_t *columns, size_t *rows); /* 80 x 24 where nobody knows */
/* Writes all of it, however slow the terminal is. */
void terminal_write(asc_view v);

#endif
