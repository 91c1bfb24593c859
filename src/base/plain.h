/* plain.h - numbers and dates as text, whatever language the process has set: printf, strtod and strftime of
 * the C library follow setlocale(), and where that wants "0,5" they would write no JSON and read no program.
 */
#ifndef ASC_PLAIN_H
#define ASC_PLAIN_H

#include "ascribe/base.h"
#include <stdarg.h>
#include <time.h>

/* As the C library's functions of these names do in a process that never calls setlocale(). */
int asc_snprintf(char *out, size_t room, const char *fmt, ...) ASC_PRINTF(3, 4);
int asc_vsnprintf(char *out, size_t room, const char *fmt, va_list ap);
double asc_strtod(const char *text, char **end);
float asc_strtof(const char *text, char **end);
size_t asc_strftime(char *out, size_t room, const char *fmt, const struct tm *date);
int asc_strncasecmp(const char *a, const char *b, size_t n);

#endif
