/* keys.h - bytes of a terminal as keys: arrows, Home and End in the forms that terminals send, and letters.
 */
#ifndef SHELL_KEYS_H
#define SHELL_KEYS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum shell_key {
    KEY_NONE, /* nothing that means anything here */
    KEY_LEFT,
    KEY_RIGHT,
    KEY_UP,
    KEY_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_TAB,
    KEY_ENTER,
    KEY_ESCAPE,
    KEY_INTERRUPT, /* Ctrl-C, Ctrl-D, q */
    KEY_RESIZE,    /* not of bytes: the window has another size */
    KEY_MORE       /* the bytes may be the beginning of one: wait for more */
} shell_key;

enum { KEY_MOST = 16 }; /* bytes of the longest sequence; a longer one means nothing */

/* The key that n bytes begin with; *used receives how many are its (0 with KEY_MORE). `last`: no more will
 * come soon, so a lone escape byte is the key. */
shell_key key_read(const char *bytes, size_t n, bool last, size_t *used);

#endif
