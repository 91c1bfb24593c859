/* unicode.h - the few properties of code points that splitting needs; categories come from utf8proc. */
#ifndef ASC_UNICODE_H
#define ASC_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum asc_char_class {
    ASC_CHAR_OTHER,
    ASC_CHAR_LETTER, /* category L */
    ASC_CHAR_NUMBER, /* category N */
    ASC_CHAR_SPACE   /* property White_Space */
} asc_char_class;

/* Unicode 16.0, whatever version the installed utf8proc has from 15.0 on. */
asc_char_class asc_char_classify(uint32_t cp);
static inline bool asc_char_is_space(uint32_t cp) { return asc_char_classify(cp) == ASC_CHAR_SPACE; }

#endif
