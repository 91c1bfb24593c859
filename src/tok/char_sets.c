/* char_sets.c - see char_sets.h: binary search in the generated tables. */
#include "char_sets.h"

static bool within(const asc_char_range *v, size_t n, uint32_t cp) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].last < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < n && v[lo].first <= cp;
}

#define ASC_CHAR_SET_DEFINE(name)                                                                            \
    bool asc_char_is_##name(uint32_t cp) { return within(asc_chars_##name, asc_chars_##name##_n, cp); }
ASC_CHAR_SETS(ASC_CHAR_SET_DEFINE)

static unsigned value_of(const asc_char_value *v, size_t n, uint32_t cp) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v[mid].last < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < n && v[lo].first <= cp ? v[lo].value : 0;
}

unsigned asc_char_newer(uint32_t cp) { return value_of(asc_chars_newer, asc_chars_newer_n, cp); }
unsigned asc_char_script(uint32_t cp) { return value_of(asc_chars_script, asc_chars_script_n, cp); }

uint32_t asc_char_lower(uint32_t cp) {
    if (cp < 0x80) return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    size_t lo = 0, hi = asc_chars_lower_n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (asc_chars_lower[mid].last < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == asc_chars_lower_n || asc_chars_lower[lo].first > cp) return cp;
    const asc_char_shift *s = &asc_chars_lower[lo];
    return (cp - s->first) % s->step == 0 ? (uint32_t)((int64_t)cp + s->by) : cp;
}
