/* jinja.h - the template engine behind chat templates: values that remember where their bytes came from, and
 * one call that renders. Internal; users see chat.h. A template is data from a model file, hence untrusted:
 * every size has a limit, no template can reach a file, the clock or the environment.
 *
 * Use: asc_jinja_init, build values and hand them over with asc_jinja_set_global, asc_jinja_render, read
 * `out` and `spans`, asc_jinja_deinit. Everything that is made for one rendering lives in one arena. */
#ifndef ASC_JINJA_H
#define ASC_JINJA_H

#include "strbuf.h"
#include "view.h"
#include <stdio.h>

/* Limits; reaching one is RESOURCE_EXHAUSTED with the name in the message. asc_jinja_init copies them into
 * `limits`, where a caller may lower them. */
enum {
    ASC_JINJA_MAX_TEMPLATE = 1 << 20, /* bytes of the template; those in use have 0.2 to 30 KB */
    ASC_JINJA_MAX_DEPTH = 200,        /* nested statements, expressions, macro calls, lists in lists */
    ASC_JINJA_MAX_STEPS = 4000000, /* nodes evaluated, plus one per 64 bytes of text that is looked through */
    ASC_JINJA_MAX_OUTPUT = 1 << 25, /* bytes of the result, and of any one string */
    ASC_JINJA_MAX_MEMORY = 1 << 27, /* bytes of the arena: syntax tree and values */
    ASC_JINJA_MAX_ARGS = 32,        /* arguments of one call */
    ASC_JINJA_MAX_CALLS = 1000      /* tree levels of all running macros: a bound for the C stack */
};
typedef struct asc_jinja_limits {
    size_t template_bytes, depth, steps, output_bytes, memory_bytes;
} asc_jinja_limits;

/* Where bytes came from. */
typedef enum asc_jinja_kind {
    ASC_JINJA_FROM_TEMPLATE, /* the template, or a value computed by it (numbers, repr) */
    ASC_JINJA_FROM_FIELD,    /* another field of a message, such as its role */
    ASC_JINJA_FROM_CONTENT,  /* the content of a message */
    ASC_JINJA_FROM_DATA      /* what else the caller gave: tools, calls of tools, variables */
} asc_jinja_kind;

typedef struct asc_jinja_piece {
    const char *ptr;
    size_t len;
    int32_t message; /* index of the message the bytes are from, -1 for the template */
    asc_jinja_kind kind;
} asc_jinja_piece;

/* A string is a run of pieces. The first `n` pieces of a rope never change, so values share it; appending
 * writes behind them when nobody else has (n == used), else copies. */
typedef struct asc_jinja_rope {
    asc_jinja_piece *v;
    size_t used, cap;
} asc_jinja_rope;
typedef struct asc_jinja_str {
    asc_jinja_rope *rope; /* NULL when empty */
    size_t n, len;        /* pieces, bytes */
} asc_jinja_str;

typedef enum asc_jinja_type {
    ASC_JINJA_UNDEFINED,
    ASC_JINJA_NONE,
    ASC_JINJA_BOOL,
    ASC_JINJA_INT,
    ASC_JINJA_FLOAT,
    ASC_JINJA_STRING,
    ASC_JINJA_LIST,
    ASC_JINJA_DICT,
    ASC_JINJA_LOOP,
    ASC_JINJA_FUNCTION,
    ASC_JINJA_MACRO,
    ASC_JINJA_NAMESPACE
} asc_jinja_type;

struct asc_jinja_node;
struct asc_jinja_scope;
struct asc_jinja_macro;
struct asc_jinja_loop;
struct asc_jinja_builtin;
typedef struct asc_jinja_list asc_jinja_list;
typedef struct asc_jinja_dict asc_jinja_dict;

typedef struct asc_jinja_value {
    asc_jinja_type type;
    bool safe; /* a string from the filter safe or escape: '+' escapes what is joined to it */
    union {
        bool b;
        int64_t i;
        double f;
        asc_jinja_str s;
        asc_jinja_list *list; /* never changed after it is built, but that a lazy one runs dry */
        asc_jinja_dict *dict; /* DICT is never changed after it is built; NAMESPACE is */
        struct asc_jinja_loop *loop;
        const struct asc_jinja_builtin *function;
        const struct asc_jinja_macro *macro;
        struct {
            asc_view name;     /* the name that was looked up, for the message */
            const char *owner; /* type it was looked up in; NULL = a variable */
        } undefined;
    } u;
} asc_jinja_value;

struct asc_jinja_list {
    asc_jinja_value *v;
    size_t n;
    bool tuple;
    bool group;   /* (grouper, list) of groupby, which has these attributes */
    bool lazy;    /* what a filter such as map gives: loops once, is true, has no length */
    size_t depth; /* 1 + the deepest element */
};
typedef struct asc_jinja_pair {
    asc_jinja_value key, value;
} asc_jinja_pair;
struct asc_jinja_dict {
    asc_jinja_pair *v;
    size_t n, cap;
    int32_t message; /* index when this dict is a chat message, else -1 */
    size_t depth;
};

/* A run of the result: bytes [start, end) are of one kind and belong to one message. */
typedef struct asc_jinja_span {
    size_t start, end;
    int32_t message; /* whose bytes, or for template bytes whose loop iteration wrote them; -1 = none */
    asc_jinja_kind kind;
} asc_jinja_span;

typedef enum asc_jinja_flow { ASC_JINJA_GO, ASC_JINJA_BREAK, ASC_JINJA_CONTINUE } asc_jinja_flow;

/* The engine; fields are for the jinja_*.c files. */
typedef struct asc_jinja {
    asc_ctx *ctx;
    asc_arena arena;
    size_t used; /* bytes asked from the arena */
    asc_jinja_limits limits;
    asc_view src; /* the template, line ends made \n */
    struct asc_jinja_token *tok;
    size_t n_tok, cap_tok, at, depth, loops, calls;
    struct asc_jinja_scope *scope, *globals;
    size_t steps;
    int32_t message;        /* message whose iteration is running */
    asc_jinja_str *capture; /* where output goes instead of `out`, for macros and block assignments */
    asc_jinja_flow flow;
    const asc_jinja_value *body; /* text of the block whose filters are running */
    asc_strbuf out;
    asc_jinja_span *spans;
    size_t n_spans, cap_spans;
} asc_jinja;

void asc_jinja_init(asc_jinja *j, asc_ctx *ctx);
void asc_jinja_deinit(asc_jinja *j);
/* Defines a variable for the template; the name must outlive the engine. */
ASC_MUST_USE asc_status asc_jinja_set_global(asc_jinja *j, const char *name, const asc_jinja_value *v);
/* Parses and renders once, with block trimming on both sides as chat templates expect. Errors:
 * INVALID_ARGUMENT (syntax, types, raise_exception), UNIMPLEMENTED (names the construct), RESOURCE_EXHAUSTED
 * (names the limit), CANCELLED; messages carry line and column. */
ASC_MUST_USE asc_status asc_jinja_render(asc_jinja *j, asc_view source);
/* Parses alone; the errors of the text itself. */
ASC_MUST_USE asc_status asc_jinja_check(asc_jinja *j, asc_view source);

/* Records an error at byte `off` of the template: "line L, column C: ...". */
asc_status asc_jinja_fail(asc_jinja *j, size_t off, asc_status code, const char *fmt, ...) ASC_PRINTF(4, 5);
/* UNIMPLEMENTED for `what` ("filter", "statement") called `name`. */
asc_status asc_jinja_refuse(asc_jinja *j, size_t off, const char *what, asc_view name);
/* Counts n steps; RESOURCE_EXHAUSTED past the limit, CANCELLED when asked to stop. */
ASC_MUST_USE asc_status asc_jinja_charge(asc_jinja *j, size_t n);
/* Zeroed memory from the arena, or NULL with the error recorded. */
ASC_MUST_USE void *asc_jinja_alloc(asc_jinja *j, size_t n, size_t size);

/* Returns early: for functions that own nothing outside the arena. */
#define ASC_JINJA_DO(expr)                                                                                   \
    do {                                                                                                     \
        asc_status asc_jinja_st = (expr);                                                                    \
        if (asc_jinja_st != ASC_OK) return asc_jinja_st;                                                     \
    } while (0)

/* ---- values (jinja_value.c) ---- */
asc_jinja_value asc_jinja_bool(bool b);
asc_jinja_value asc_jinja_int(int64_t i);
asc_jinja_value asc_jinja_float(double f);
asc_jinja_value asc_jinja_undefined(asc_view name, const char *owner);
/* A string of one piece; the bytes are borrowed and must outlive the engine. */
ASC_MUST_USE asc_status asc_jinja_string(asc_jinja *j, asc_view text, int32_t message, asc_jinja_kind kind,
                                         asc_jinja_value *out);
/* Appends borrowed bytes, another string, or bytes [a, b) of one. `s` starts as all zero. */
ASC_MUST_USE asc_status asc_jinja_str_add(asc_jinja *j, asc_jinja_str *s, const asc_jinja_piece *p);
ASC_MUST_USE asc_status asc_jinja_str_addz(asc_jinja *j, asc_jinja_str *s, const char *literal);
ASC_MUST_USE asc_status asc_jinja_str_cat(asc_jinja *j, asc_jinja_str *s, asc_jinja_str t);
ASC_MUST_USE asc_status asc_jinja_str_slice(asc_jinja *j, asc_jinja_str *s, asc_jinja_str t, size_t a,
                                            size_t b);
/* The bytes in one run (borrowed, or copied into the arena when there are several pieces). */
ASC_MUST_USE asc_status asc_jinja_str_flat(asc_jinja *j, asc_jinja_str s, asc_view *out);
ASC_MUST_USE asc_status asc_jinja_list_new(asc_jinja *j, size_t n, asc_jinja_list **out);
/* Sets the depth from the elements and wraps: call once the list is filled. */
ASC_MUST_USE asc_status asc_jinja_list_done(asc_jinja *j, asc_jinja_list *l, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_dict_new(asc_jinja *j, size_t cap, asc_jinja_dict **out);
/* Adds or replaces. Errors: INVALID_ARGUMENT for a list or dict as key. */
ASC_MUST_USE asc_status asc_jinja_dict_set(asc_jinja *j, asc_jinja_dict *d, const asc_jinja_value *key,
                                           const asc_jinja_value *value, size_t off);
ASC_MUST_USE asc_status asc_jinja_dict_setz(asc_jinja *j, asc_jinja_dict *d, const char *key,
                                            const asc_jinja_value *value);
/* *out is NULL when the key is absent. */
ASC_MUST_USE asc_status asc_jinja_dict_get(asc_jinja *j, const asc_jinja_dict *d, const asc_jinja_value *key,
                                           const asc_jinja_value **out);
asc_jinja_value asc_jinja_from_dict(asc_jinja_dict *d);
bool asc_jinja_truth(const asc_jinja_value *v);
const char *asc_jinja_type_name(const asc_jinja_value *v); /* Python's name: "str", "dict" */
ASC_MUST_USE asc_status asc_jinja_equal(asc_jinja *j, const asc_jinja_value *a, const asc_jinja_value *b,
                                        bool *out);

#endif
