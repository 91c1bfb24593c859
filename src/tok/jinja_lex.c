/* jinja_lex.c - template text to tokens, with the white space rules of Jinja 3 (source: the "Whitespace
 * Control" section of the Jinja template documentation and observed output of jinja2 3.1.6): a tag with '-'
 * eats all white space on that side; without a sign a block or comment tag eats the blanks between the start
 * of its line and itself, and one line feed after itself; '+' switches these two off. A template's last line
 * feed does not count. */
#include "jinja_ast.h"

size_t asc_jinja_space(const char *p, size_t n) {
    unsigned char c = (unsigned char)p[0];
    if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) ? 1 : 0;
    uint32_t cp;
    bool ok;
    size_t len = asc_utf8_decode(p, n, &cp, &ok);
    bool space = cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
                 cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
    return ok && space ? len : 0;
}

asc_view asc_jinja_rstrip(asc_view v) {
    while (v.len > 0) {
        size_t back = 1; /* step to the start of the last character */
        while (back < 4 && back < v.len && ((unsigned char)v.ptr[v.len - back] & 0xC0) == 0x80) back++;
        if (asc_jinja_space(v.ptr + v.len - back, back) != back) break;
        v.len -= back;
    }
    return v;
}

static asc_status push(asc_jinja *j, asc_jinja_tok type, size_t off, size_t len) {
    ASC_JINJA_DO(
        asc_grow(j->ctx, ASC_MEM_SCRATCH, (void **)&j->tok, &j->cap_tok, j->n_tok + 1, sizeof *j->tok));
    j->tok[j->n_tok++] = (asc_jinja_token){type, (uint32_t)off, (uint32_t)len};
    return ASC_OK;
}

static bool at(const asc_jinja *j, size_t i, const char *s) {
    return i <= j->src.len && asc_view_starts(asc_view_make(j->src.ptr + i, j->src.len - i), asc_view_of(s));
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static char char_at(const asc_jinja *j, size_t i) { return i < j->src.len ? j->src.ptr[i] : '\0'; }

static size_t skip_space(const asc_jinja *j, size_t i) {
    size_t w;
    while (i < j->src.len && (w = asc_jinja_space(j->src.ptr + i, j->src.len - i)) > 0) i += w;
    return i;
}

/* After the closing mark whose sign is `sign` and which ends at i: eats what the sign says. */
static size_t after_tag(const asc_jinja *j, size_t i, char sign, bool variable) {
    if (sign == '-') return skip_space(j, i);
    if (sign != '+' && !variable && char_at(j, i) == '\n') return i + 1;
    return i;
}

static asc_status lex_number(asc_jinja *j, size_t *i) {
    size_t b = *i, e = b;
    bool real = false;
    while (is_digit(char_at(j, e))) e++;
    if (char_at(j, e) == '.' && is_digit(char_at(j, e + 1))) {
        real = true;
        for (e++; is_digit(char_at(j, e));) e++;
    }
    if (char_at(j, e) == 'e' || char_at(j, e) == 'E') {
        size_t x = e + 1;
        if (char_at(j, x) == '+' || char_at(j, x) == '-') x++;
        if (is_digit(char_at(j, x))) {
            real = true;
            while (is_digit(char_at(j, x))) x++;
            e = x;
        }
    }
    if (is_name(char_at(j, e)))
        return asc_jinja_refuse(j, b, "number notation", asc_view_make(j->src.ptr + b, e - b + 1));
    if (!real && e - b > 1 && j->src.ptr[b] == '0')
        return asc_jinja_fail(j, b, ASC_INVALID_ARGUMENT, "a whole number may not start with 0");
    *i = e;
    return push(j, real ? JT_FLOAT : JT_INT, b, e - b);
}

static asc_status lex_string(asc_jinja *j, size_t *i) {
    size_t b = *i, e = b + 1;
    while (e < j->src.len && j->src.ptr[e] != j->src.ptr[b]) e += j->src.ptr[e] == '\\' ? 2 : 1;
    if (e >= j->src.len)
        return asc_jinja_fail(j, b, ASC_INVALID_ARGUMENT, "this string has no closing quote");
    *i = e + 1;
    return push(j, JT_STRING, b, e + 1 - b);
}

static asc_status lex_operator(asc_jinja *j, size_t *i, int *nest) {
    static const char *const two[] = {"==", "!=", "<=", ">=", "//", "**"};
    size_t b = *i;
    char c = j->src.ptr[b];
    for (size_t k = 0; k < sizeof two / sizeof *two; k++) {
        if (at(j, b, two[k])) {
            *i = b + 2;
            return push(j, JT_OP, b, 2);
        }
    }
    if (c == '(' || c == '[' || c == '{') ++*nest;
    if (c == ')' || c == ']' || c == '}') {
        if (*nest == 0) return asc_jinja_fail(j, b, ASC_INVALID_ARGUMENT, "unexpected '%c'", c);
        --*nest;
    }
    if (c == '\0' || strchr("+-*/%~<>=()[]{}.,:|", c) == NULL)
        return asc_jinja_fail(j, b, ASC_INVALID_ARGUMENT, "unexpected character 0x%02x",
                              (unsigned)(unsigned char)c);
    *i = b + 1;
    return push(j, JT_OP, b, 1);
}

/* Tokens from *i to the end of the tag, which is consumed with the white space it eats. Inside brackets a
 * closing mark does not close, so that {{ {'a': {}} }} works. */
static asc_status lex_tag(asc_jinja *j, size_t *i, bool variable, size_t begin) {
    const char *close = variable ? "}}" : "%}";
    int nest = 0;
    size_t p = *i;
    for (;;) {
        p = skip_space(j, p);
        if (p >= j->src.len)
            return asc_jinja_fail(j, begin, ASC_INVALID_ARGUMENT, "this tag is not closed by %s", close);
        char c = j->src.ptr[p];
        if (nest == 0) {
            size_t sign = c == '-' || (c == '+' && !variable) ? 1 : 0;
            if (at(j, p + sign, close)) {
                ASC_JINJA_DO(push(j, variable ? JT_VAR_END : JT_BLOCK_END, p, sign + 2));
                *i = after_tag(j, p + sign + 2, sign == 1 ? c : '\0', variable);
                return ASC_OK;
            }
        }
        if (is_digit(c)) {
            ASC_JINJA_DO(lex_number(j, &p));
        } else if (is_name(c)) {
            size_t e = p;
            while (is_name(char_at(j, e)) || is_digit(char_at(j, e))) e++;
            ASC_JINJA_DO(push(j, JT_NAME, p, e - p));
            p = e;
        } else if (c == '\'' || c == '"') {
            ASC_JINJA_DO(lex_string(j, &p));
        } else {
            ASC_JINJA_DO(lex_operator(j, &p, &nest));
        }
    }
}

/* The text before a tag, cut as its sign and the blanks before it demand. */
static size_t text_end(const asc_jinja *j, size_t b, size_t e, char sign, bool variable, bool line_start) {
    asc_view v = asc_view_make(j->src.ptr + b, e - b);
    if (sign == '-') return b + asc_jinja_rstrip(v).len;
    if (sign == '+' || variable) return e;
    size_t line = v.len;
    while (line > 0 && v.ptr[line - 1] != '\n') line--;
    if (line == 0 && !line_start) return e;
    asc_view blanks = asc_view_make(v.ptr + line, v.len - line);
    return asc_jinja_rstrip(blanks).len == 0 ? b + line : e;
}

/* Skips a comment whose text begins at *i. */
static asc_status lex_comment(asc_jinja *j, size_t *i, size_t begin) {
    for (size_t p = *i; p + 1 < j->src.len; p++) {
        if (j->src.ptr[p] != '#' || j->src.ptr[p + 1] != '}') continue;
        char sign = p > *i ? j->src.ptr[p - 1] : '\0';
        *i = after_tag(j, p + 2, sign, false);
        return ASC_OK;
    }
    return asc_jinja_fail(j, begin, ASC_INVALID_ARGUMENT, "this comment is not closed by #}");
}

/* The sign and the end of a tag at p that holds nothing more: 0 when it is none, else the offset behind it.
 */
static size_t bare_end(const asc_jinja *j, size_t p, char *sign) {
    p = skip_space(j, p);
    *sign = char_at(j, p) == '-' || char_at(j, p) == '+' ? char_at(j, p) : '\0';
    if (*sign != '\0') p++;
    return at(j, p, "%}") ? p + 2 : 0;
}

/* {% raw %} text {% endraw %}; p is behind the word raw. Nothing in the text is a tag. */
static asc_status lex_raw(asc_jinja *j, size_t *i, size_t p, size_t begin) {
    char sign;
    size_t text = bare_end(j, p, &sign);
    if (text == 0 || sign == '+')
        return asc_jinja_fail(j, begin, ASC_INVALID_ARGUMENT, "raw takes no arguments and no '+'");
    if (sign == '-') text = skip_space(j, text); /* a line feed behind this tag stays */
    for (size_t k = text; k < j->src.len; k++) {
        if (!at(j, k, "{%")) continue;
        char left = char_at(j, k + 2);
        if (left != '-' && left != '+') left = '\0';
        size_t word = skip_space(j, k + (left != '\0' ? 3 : 2));
        size_t end = at(j, word, "endraw") ? bare_end(j, word + 6, &sign) : 0;
        if (end == 0) continue;
        size_t stop = text_end(j, text, k, left, false, text > 0 && j->src.ptr[text - 1] == '\n');
        if (stop > text) ASC_JINJA_DO(push(j, JT_TEXT, text, stop - text));
        *i = after_tag(j, end, sign, false);
        return ASC_OK;
    }
    return asc_jinja_fail(j, begin, ASC_INVALID_ARGUMENT, "this raw block is not closed by {%% endraw %%}");
}

/* The template with \r\n and \r as \n, and without its last line feed. */
static asc_status normalize(asc_jinja *j, asc_view source) {
    if (source.len > j->limits.template_bytes) {
        ASC_FAIL(j->ctx, ASC_RESOURCE_EXHAUSTED,
                 "its %zu bytes are over the limit ASC_JINJA_MAX_TEMPLATE = %zu", source.len,
                 j->limits.template_bytes);
        return asc_hint(j->ctx, "shorten the template");
    }
    char *p = asc_jinja_alloc(j, source.len + 1, 1);
    if (p == NULL) return ASC_RESOURCE_EXHAUSTED;
    size_t n = 0;
    for (size_t i = 0; i < source.len; i++) {
        char c = source.ptr[i];
        if (c == '\r') {
            c = '\n';
            if (i + 1 < source.len && source.ptr[i + 1] == '\n') i++;
        }
        p[n++] = c;
    }
    if (n > 0 && p[n - 1] == '\n') n--;
    j->src = asc_view_make(p, n);
    size_t bad = asc_utf8_check(j->src);
    if (bad != n) return asc_jinja_fail(j, bad, ASC_INVALID_ARGUMENT, "the template is not valid UTF-8");
    return ASC_OK;
}

asc_status asc_jinja_lex(asc_jinja *j, asc_view source) {
    ASC_JINJA_DO(normalize(j, source));
    size_t i = 0, n = j->src.len;
    bool line_start = true; /* whether position i is the start of a line */
    while (i < n) {
        size_t k = i;
        while (k < n && !(j->src.ptr[k] == '{' && (at(j, k, "{{") || at(j, k, "{%") || at(j, k, "{#")))) k++;
        if (k == n) {
            ASC_JINJA_DO(push(j, JT_TEXT, i, n - i));
            break;
        }
        char mark = j->src.ptr[k + 1], sign = char_at(j, k + 2);
        if (sign != '-' && sign != '+') sign = '\0';
        size_t e = text_end(j, i, k, sign, mark == '{', line_start);
        if (e > i) ASC_JINJA_DO(push(j, JT_TEXT, i, e - i));
        i = k + (sign != '\0' ? 3 : 2);
        if (mark == '#') {
            ASC_JINJA_DO(lex_comment(j, &i, k));
        } else {
            if (mark == '%') {
                size_t word = skip_space(j, i);
                if (at(j, word, "raw") && !is_name(char_at(j, word + 3))) {
                    ASC_JINJA_DO(lex_raw(j, &i, word + 3, k));
                    line_start = j->src.ptr[i - 1] == '\n';
                    continue;
                }
            }
            ASC_JINJA_DO(push(j, mark == '{' ? JT_VAR_BEGIN : JT_BLOCK_BEGIN, k, i - k));
            ASC_JINJA_DO(lex_tag(j, &i, mark == '{', k));
        }
        line_start = j->src.ptr[i - 1] == '\n';
    }
    return push(j, JT_EOF, n, 0);
}
