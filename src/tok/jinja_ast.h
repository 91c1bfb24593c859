/* jinja_ast.h - tokens, syntax tree and the calls between the jinja_*.c files. */
#ifndef ASC_JINJA_AST_H
#define ASC_JINJA_AST_H

#include "jinja.h"

typedef enum asc_jinja_tok {
    JT_EOF,
    JT_TEXT,
    JT_VAR_BEGIN,
    JT_VAR_END,
    JT_BLOCK_BEGIN,
    JT_BLOCK_END,
    JT_NAME,
    JT_STRING, /* with its quotes */
    JT_INT,
    JT_FLOAT,
    JT_OP
} asc_jinja_tok;
typedef struct asc_jinja_token {
    asc_jinja_tok type;
    uint32_t off, len; /* bytes in the template */
} asc_jinja_token;

typedef enum asc_jinja_node_kind {
    /* statements */
    JN_TEXT,   /* text */
    JN_OUTPUT, /* a */
    JN_IF,     /* kids: JN_BRANCH in order */
    JN_BRANCH, /* a = condition or NULL for else; kids = body */
    JN_FOR,    /* a = iterable, b = filter or NULL, c = else branch or NULL; target; kids = body;
                  num.i = recursive */
    JN_SET,    /* target; a = value, or NULL and kids = body whose output is the value,
                  through the filters b (as JN_FILTER_BLOCK) when there are some */
    JN_MACRO,  /* text = name; target = parameters (JN_NAME, a = default or NULL); kids = body; num.i =
                  ASC_JINJA_USES_* */
    JN_BREAK,
    JN_CONTINUE,
    JN_SCOPE,        /* kids = body whose assignments stay inside */
    JN_WITH,         /* target = names (JN_NAME, a = value), all values first; kids = body */
    JN_FILTER_BLOCK, /* a = the filters, JN_FILTER around a JN_BODY; kids = body */
    JN_BODY,         /* stands for the text of the body that the filters around it belong to */
    JN_CALL_BLOCK,   /* a = the call; target = parameters of caller, as a macro's; kids = body */
    /* expressions */
    JN_NONE,
    JN_BOOL,
    JN_INT,
    JN_FLOAT,
    JN_STRING,  /* text, escapes resolved */
    JN_NAME,    /* text */
    JN_LIST,    /* kids */
    JN_TUPLE,   /* kids */
    JN_DICT,    /* kids: key, value, key, value */
    JN_ATTR,    /* a . text */
    JN_INDEX,   /* a [ b ] */
    JN_SLICE,   /* a [ b : c : target ], each may be NULL */
    JN_CALL,    /* a ( kids ), keyword arguments are JN_KEYWORD */
    JN_KEYWORD, /* text = a */
    JN_FILTER,  /* a | text ( kids ) */
    JN_TEST,    /* a is text ( kids ) */
    JN_NOT,     /* a */
    JN_NEG,
    JN_POS,
    JN_CHAIN,   /* a, then kids JN_OPERAND applied from the left: + - * / // % */
    JN_OPERAND, /* op, a */
    JN_COMPARE, /* a, then kids JN_OPERAND; a < b < c compares neighbours */
    JN_AND,     /* kids */
    JN_OR,      /* kids */
    JN_CONCAT,  /* kids, ~ */
    JN_COND     /* b if a else c (c may be NULL) */
} asc_jinja_node_kind;

/* What a macro's body says anywhere: then it takes what is left over under that name. */
enum { ASC_JINJA_USES_CALLER = 1, ASC_JINJA_USES_VARARGS = 2, ASC_JINJA_USES_KWARGS = 4 };

typedef enum asc_jinja_op {
    JO_ADD,
    JO_SUB,
    JO_MUL,
    JO_DIV,
    JO_FLOORDIV,
    JO_MOD,
    JO_EQ,
    JO_NE,
    JO_LT,
    JO_LE,
    JO_GT,
    JO_GE,
    JO_IN,
    JO_NOT_IN
} asc_jinja_op;

typedef struct asc_jinja_node asc_jinja_node;
struct asc_jinja_node {
    asc_jinja_node_kind kind;
    asc_jinja_op op;
    uint32_t off; /* byte in the template, for messages */
    uint32_t depth;
    asc_jinja_node *a, *b, *c, *target, *kids, *next;
    asc_view text;
    union {
        int64_t i;
        double f;
    } num;
};

/* Collects siblings in order. */
typedef struct asc_jinja_siblings {
    asc_jinja_node *first, *last;
} asc_jinja_siblings;

typedef struct asc_jinja_var {
    asc_view name;
    asc_jinja_value value;
} asc_jinja_var;
typedef struct asc_jinja_scope asc_jinja_scope;
struct asc_jinja_scope {
    asc_jinja_scope *up;
    asc_jinja_var *v;
    size_t n, cap;
    bool kept; /* a macro was defined here and may use it later */
};
struct asc_jinja_loop {
    const asc_jinja_list *items;
    size_t index0, depth;
    const asc_jinja_node *node; /* of a recursive loop, which may be called; else NULL */
    asc_jinja_scope *scope;     /* around it */
    asc_jinja_value seen;       /* by loop.changed; a list, or undefined */
};
struct asc_jinja_macro {
    const asc_jinja_node *node;
    asc_jinja_scope *scope; /* where it was defined */
};

/* Arguments of a filter, test, function or method, bound to the parameters of its table row. */
enum { ASC_JINJA_MAX_PARAMS = 4 }; /* of a table row */
typedef struct asc_jinja_call {
    asc_view name;
    size_t off;
    asc_jinja_value self;                             /* what the filter, test or method is applied to */
    const asc_jinja_value *arg[ASC_JINJA_MAX_PARAMS]; /* by parameter; NULL = not given */
    /* As written, for rows whose parameters are "*": */
    size_t n_pos, n_kw;
    asc_jinja_value *pos, *kw;
    asc_view *kw_name;
} asc_jinja_call;
typedef asc_status (*asc_jinja_fn)(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out);

/* A row of a table of filters, tests, functions or methods. */
typedef struct asc_jinja_builtin {
    const char *name;
    const char *params; /* comma-separated names; "*" = the function looks at pos and kw itself */
    int required;       /* how many of them must be given */
    asc_jinja_fn fn;
    asc_jinja_type self; /* methods: the type they belong to */
} asc_jinja_builtin;

/* Splits the template into j->tok. */
ASC_MUST_USE asc_status asc_jinja_lex(asc_jinja *j, asc_view source);
/* Bytes of the white space character at p[0..n), 0 if it is none; the set is Python's str.isspace. */
size_t asc_jinja_space(const char *p, size_t n);
asc_view asc_jinja_rstrip(asc_view v);

/* Parser. *out is the first of the siblings, NULL when empty. */
ASC_MUST_USE asc_status asc_jinja_parse(asc_jinja *j, asc_jinja_node **out);
ASC_MUST_USE asc_status asc_jinja_parse_expr(asc_jinja *j, asc_jinja_node **out);
/* An expression without a trailing inline if, as in `for x in EXPR if ...`; a, b without parentheses is a
 * tuple. */
ASC_MUST_USE asc_status asc_jinja_parse_tuple(asc_jinja *j, bool with_cond, asc_jinja_node **out);
/* f | g(x) | ... around *io; the first name is next. */
ASC_MUST_USE asc_status asc_jinja_parse_filter_chain(asc_jinja *j, asc_jinja_node **io);
ASC_MUST_USE asc_status asc_jinja_parse_string(asc_jinja *j, asc_jinja_node **out); /* one or more literals */
ASC_MUST_USE asc_status asc_jinja_parse_number(asc_jinja *j, asc_jinja_node **out);
ASC_MUST_USE asc_status asc_jinja_node_new(asc_jinja *j, asc_jinja_node_kind kind, size_t off,
                                           asc_jinja_node **out);
/* Sets depth from the children. Errors: RESOURCE_EXHAUSTED past the depth limit. */
ASC_MUST_USE asc_status asc_jinja_node_done(asc_jinja *j, asc_jinja_node *n);
void asc_jinja_push(asc_jinja_siblings *s, asc_jinja_node *n);
ASC_MUST_USE asc_status asc_jinja_enter(asc_jinja *j); /* one level deeper; pair with asc_jinja_leave */
void asc_jinja_leave(asc_jinja *j);
const asc_jinja_token *asc_jinja_peek(const asc_jinja *j, size_t ahead);
asc_view asc_jinja_tok_text(const asc_jinja *j, const asc_jinja_token *t);
bool asc_jinja_is(const asc_jinja *j, asc_jinja_tok type, const char *text); /* of the next token */
bool asc_jinja_accept(asc_jinja *j, asc_jinja_tok type, const char *text);
ASC_MUST_USE asc_status asc_jinja_expect(asc_jinja *j, asc_jinja_tok type, const char *text);
asc_status asc_jinja_unexpected(asc_jinja *j, const char *wanted);

/* Evaluation. */
ASC_MUST_USE asc_status asc_jinja_exec(asc_jinja *j, const asc_jinja_node *first);
ASC_MUST_USE asc_status asc_jinja_eval(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_assign(asc_jinja *j, asc_view name, const asc_jinja_value *v);
ASC_MUST_USE asc_status asc_jinja_scope_push(asc_jinja *j, asc_jinja_scope *up);
bool asc_jinja_lookup(const asc_jinja *j, asc_view name, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_get_attr(asc_jinja *j, const asc_jinja_value *v, asc_view name, size_t off,
                                           asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_get_item(asc_jinja *j, const asc_jinja_value *v, const asc_jinja_value *key,
                                           size_t off, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_slice(asc_jinja *j, const asc_jinja_value *v,
                                        const asc_jinja_value range[3], size_t off, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_arith(asc_jinja *j, asc_jinja_op op, const asc_jinja_value *a,
                                        const asc_jinja_value *b, size_t off, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_compare(asc_jinja *j, asc_jinja_op op, const asc_jinja_value *a,
                                          const asc_jinja_value *b, size_t off, bool *out);
/* INVALID_ARGUMENT saying what is undefined. */
asc_status asc_jinja_fail_undefined(asc_jinja *j, const asc_jinja_value *v, size_t off);
/* The elements a for loop sees: list, characters, keys; none for undefined. */
ASC_MUST_USE asc_status asc_jinja_iterate(asc_jinja *j, const asc_jinja_value *v, size_t off,
                                          const asc_jinja_list **out);
/* What {{ v }} writes, keeping where the bytes came from. */
ASC_MUST_USE asc_status asc_jinja_to_str(asc_jinja *j, const asc_jinja_value *v, asc_jinja_str *out);
ASC_MUST_USE asc_status asc_jinja_repr(asc_jinja *j, const asc_jinja_value *v,
                                       asc_jinja_str *out); /* appends */
/* Upper or lower case, piece by piece. */
ASC_MUST_USE asc_status asc_jinja_recase(asc_jinja *j, asc_jinja_str s, bool upper, asc_jinja_str *out);
/* String methods that filters share (jinja_strings.c). `chars` NULL = white space. */
ASC_MUST_USE asc_status asc_jinja_strip(asc_jinja *j, asc_jinja_str s, const asc_jinja_value *chars,
                                        bool left, bool right, asc_jinja_str *out);
ASC_MUST_USE asc_status asc_jinja_replace(asc_jinja *j, const asc_jinja_call *c, asc_jinja_str s,
                                          asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_capitalize(asc_jinja *j, asc_jinja_str s, asc_jinja_value *out);
ASC_MUST_USE asc_status asc_jinja_join(asc_jinja *j, asc_jinja_str sep, const asc_jinja_list *l,
                                       asc_jinja_value *out);
asc_jinja_value asc_jinja_from_str(asc_jinja_str s);
/* The keys, values or (key, value) tuples of a dict as a list. */
ASC_MUST_USE asc_status asc_jinja_dict_part(asc_jinja *j, const asc_jinja_dict *d, bool keys, bool values,
                                            asc_jinja_value *out);
/* A macro of this node, in the scope that is open. */
ASC_MUST_USE asc_status asc_jinja_new_macro(asc_jinja *j, const asc_jinja_node *n, asc_jinja_value *out);
/* loop(items) of a recursive loop. */
ASC_MUST_USE asc_status asc_jinja_call_loop(asc_jinja *j, const struct asc_jinja_loop *l,
                                            const asc_jinja_value *items, size_t off, asc_jinja_value *out);
/* Runs a macro with the evaluated arguments in c; caller NULL = it is not called by a call block. */
ASC_MUST_USE asc_status asc_jinja_call_macro(asc_jinja *j, const struct asc_jinja_macro *m,
                                             const asc_jinja_call *c, const asc_jinja_value *caller,
                                             asc_jinja_value *out);
/* Evaluates a JN_CALL; the macro it calls takes `caller`, which may be NULL. */
ASC_MUST_USE asc_status asc_jinja_eval_call_with(asc_jinja *j, const asc_jinja_node *n,
                                                 const asc_jinja_value *caller, asc_jinja_value *out);
/* Length in characters; an ill-formed run counts as one character. */
size_t asc_jinja_chars(asc_view v);
/* A copy in the arena of text written by the engine itself, as a template string. */
ASC_MUST_USE asc_status asc_jinja_own(asc_jinja *j, asc_jinja_str *s, asc_view text);

/* item.a.b for an attribute "a.b"; parts that are numbers index. */
ASC_MUST_USE asc_status asc_jinja_path(asc_jinja *j, const asc_jinja_call *c, const asc_jinja_value *item,
                                       const asc_jinja_value *attr, asc_jinja_value *out);
asc_status asc_jinja_sort(asc_jinja *j, asc_jinja_call *c,
                          asc_jinja_value *out); /* filters of jinja_sort.c */
asc_status asc_jinja_dictsort(asc_jinja *j, asc_jinja_call *c, asc_jinja_value *out);
extern const asc_jinja_builtin asc_jinja_list_filters[];  /* jinja_filters_list.c */
extern const asc_jinja_builtin asc_jinja_group_filters[]; /* jinja_filters_group.c */
extern const asc_jinja_builtin asc_jinja_text_filters[];  /* jinja_filters_text.c */
extern const asc_jinja_builtin asc_jinja_more_methods[];  /* jinja_methods_more.c */
/* The string with & < > " ' as HTML has them. */
ASC_MUST_USE asc_status asc_jinja_escape(asc_jinja *j, asc_jinja_str s, asc_jinja_str *out);
/* The lines of a string as Python's splitlines cuts them. */
ASC_MUST_USE asc_status asc_jinja_lines(asc_jinja *j, asc_jinja_str s, bool keep_ends, asc_jinja_value *out);
/* n copies of a character. */
ASC_MUST_USE asc_status asc_jinja_pad(asc_jinja *j, asc_jinja_str *s, const char *c, int64_t n);
extern const asc_jinja_builtin asc_jinja_methods[]; /* jinja_methods.c */
extern const asc_jinja_builtin asc_jinja_strftime;  /* may be called, but is not "defined" */
const asc_jinja_builtin *asc_jinja_find_filter(asc_view name);
const asc_jinja_builtin *asc_jinja_find_test(asc_view name);
const asc_jinja_builtin *asc_jinja_find_function(asc_view name);
const asc_jinja_builtin *asc_jinja_find_method(asc_jinja_type self, asc_view name);
/* Looks a name up in a table that ends with a NULL name. */
const asc_jinja_builtin *asc_jinja_find(const asc_jinja_builtin *table, asc_view name);
/* Binds c->pos and c->kw to the row's parameters and runs it. `what` is for messages ("filter"). */
ASC_MUST_USE asc_status asc_jinja_invoke(asc_jinja *j, const asc_jinja_builtin *row, const char *what,
                                         asc_jinja_call *c, asc_jinja_value *out);

#endif
