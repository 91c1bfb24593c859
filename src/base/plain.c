/* plain.c - numbers and dates as text in the locale "C", set for the calling thread and that call only. */
#include "plain.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* The locale of before; (locale_t)0, for want of memory, leaves the thread as it is. */
static locale_t enter(locale_t *ours) {
    *ours = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return uselocale(*ours);
}

static void leave(locale_t before, locale_t ours) {
    uselocale(before);
    if (ours != (locale_t)0) freelocale(ours);
}

int asc_vsnprintf(char *out, size_t room, const char *fmt, va_list ap) {
    locale_t ours, before = enter(&ours);
    int n = vsnprintf(out, room, fmt, ap);
    leave(before, ours);
    return n;
}

int asc_snprintf(char *out, size_t room, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = asc_vsnprintf(out, room, fmt, ap);
    va_end(ap);
    return n;
}

double asc_strtod(const char *text, char **end) {
    locale_t ours, before = enter(&ours);
    double v = strtod(text, end);
    leave(before, ours);
    return v;
}

float asc_strtof(const char *text, char **end) {
    locale_t ours, before = enter(&ours);
    float v = strtof(text, end);
    leave(before, ours);
    return v;
}

size_t asc_strftime(char *out, size_t room, const char *fmt, const struct tm *date) {
    locale_t ours, before = enter(&ours);
    size_t n = strftime(out, room, fmt, date);
    leave(before, ours);
    return n;
}

int asc_strncasecmp(const char *a, const char *b, size_t n) {
    locale_t ours, before = enter(&ours);
    int order = strncasecmp(a, b, n);
    leave(before, ours);
    return order;
}
