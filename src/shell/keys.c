/* keys.c - decoding of keys. Sequences as ECMA-48 has them: ESC [ parameters, ending in a byte from @ to ~;
 * and ESC O with one letter, which terminals send in application mode. */
#include "keys.h"
#include <string.h>

/* Of ESC [ ... final: with a number before '~' as the VT220 has it. */
static shell_key sequence(const char *p, size_t n) {
    char final = p[n - 1];
    switch (final) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    case 'C':
        return KEY_RIGHT;
    case 'D':
        return KEY_LEFT;
    case 'H':
        return KEY_HOME;
    case 'F':
        return KEY_END;
    case '~':
        break;
    default:
        return KEY_NONE;
    }
    switch (p[2]) {
    case '1':
    case '7':
        return p[3] == '~' || p[3] == ';' ? KEY_HOME : KEY_NONE;
    case '4':
    case '8':
        return KEY_END;
    case '5':
        return KEY_PAGE_UP;
    case '6':
        return KEY_PAGE_DOWN;
    default:
        return KEY_NONE;
    }
}

static shell_key escape(const char *p, size_t n, bool last, size_t *used) {
    *used = 1;
    if (n == 1) {
        if (last) return KEY_ESCAPE;
        *used = 0;
        return KEY_MORE;
    }
    if (p[1] != '[' && p[1] != 'O') return KEY_ESCAPE; /* what follows is a key of its own */
    size_t i = 2;
    while (i < n && p[1] == '[' && p[i] >= 0x20 && p[i] < 0x40) i++;
    if (i >= n) {
        if (!last && n < KEY_MOST) {
            *used = 0;
            return KEY_MORE;
        }
        *used = n;
        return n == 2 ? KEY_ESCAPE : KEY_NONE;
    }
    *used = i + 1;
    return sequence(p, i + 1);
}

shell_key key_read(const char *p, size_t n, bool last, size_t *used) {
    *used = n > 0;
    if (n == 0) return KEY_MORE;
    switch (p[0]) {
    case '\x1b':
        return escape(p, n, last, used);
    case '\r':
    case '\n':
        return KEY_ENTER;
    case '\t':
        return KEY_TAB;
    case 'q':
    case 3: /* Ctrl-C */
    case 4: /* Ctrl-D */
        return KEY_INTERRUPT;
    case 'h':
        return KEY_LEFT;
    case 'j':
        return KEY_DOWN;
    case 'k':
        return KEY_UP;
    case 'l':
        return KEY_RIGHT;
    default:
        return KEY_NONE;
    }
}
