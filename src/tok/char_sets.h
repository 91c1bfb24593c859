/* char_sets.h - what Hugging Face tokenizers take a code point for. Its parts know several versions of
 * Unicode, so the sets come from its own answers (char_sets_table.c, generated), not from a library's table.
 */
#ifndef ASC_CHAR_SETS_H
#define ASC_CHAR_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct asc_char_range {
    uint32_t first, last;
} asc_char_range;
typedef struct asc_char_value {
    uint32_t first, last;
    uint8_t value;
} asc_char_value;
typedef struct asc_char_shift { /* first, first + step, ..., last become themselves + by */
    uint32_t first, last;
    uint8_t step;
    int32_t by;
} asc_char_shift;

/* Sorted by code point. */
#define ASC_CHAR_SETS(X)                                                                                     \
    X(control)     /* what BertNormalizer's clean_text removes */                                            \
    X(accent)      /* what its strip_accents removes (category Mn) */                                        \
    X(mark)        /* what StripAccents removes (category M) */                                              \
    X(punctuation) /* Punctuation, BertPreTokenizer */                                                       \
    X(digit)       /* Digits (category N) */                                                                 \
    X(space)       /* property White_Space */                                                                \
    X(word)        /* \w of Whitespace and of single_word */                                                 \
    X(combining)   /* combining class is not 0 */                                                            \
    X(chinese)     /* BertNormalizer's handle_chinese_chars */                                               \
    X(canonical)   /* has a canonical decomposition */                                                       \
    X(compatible)  /* has a compatibility decomposition */
#define ASC_CHAR_SET_DECLARE(name)                                                                           \
    extern const asc_char_range asc_chars_##name[];                                                          \
    extern const size_t asc_chars_##name##_n;                                                                \
    bool asc_char_is_##name(uint32_t cp);
ASC_CHAR_SETS(ASC_CHAR_SET_DECLARE)

extern const asc_char_value asc_chars_script[];
extern const size_t asc_chars_script_n;
extern const asc_char_shift asc_chars_lower[];
extern const size_t asc_chars_lower_n;

/* Characters of Unicode 15 and 16 by category: Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk
 * So Zs Cf, counted from 1, and 25 for Han. */
extern const asc_char_value asc_chars_newer[];
extern const size_t asc_chars_newer_n;
enum { ASC_CHAR_NEWER_HAN = 25 };

/* The category of a character of Unicode 15 or 16; 0 = it is older or there is none. */
unsigned asc_char_newer(uint32_t cp);
/* A number for the script; 0 = goes with any. */
unsigned asc_char_script(uint32_t cp);
/* Lower case as one code point (U+0130 becomes two, which the caller handles). */
uint32_t asc_char_lower(uint32_t cp);

#endif
