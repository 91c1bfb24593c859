/* jinja_parse.c - statements, and the token and node helpers both parser files use. */
#include "jinja_ast.h"

/* ---- helpers ---- */

asc_status asc_jinja_node_new(asc_jinja *j, asc_jinja_node_kind kind, size_t off, asc_jinja_node **out) {
    *out = asc_jinja_alloc(j, 1, sizeof **out);
    if (*out == NULL) return ASC_RESOURCE_EXHAUSTED;
    (*out)->kind = kind;
    (*out)->off = (uint32_t)off;
    return ASC_OK;
}

static asc_status too_deep(asc_jinja *j, size_t off) {
    return asc_jinja_fail(j, off, ASC_RESOURCE_EXHAUSTED,
                          "nesting is over the limit ASC_JINJA_MAX_DEPTH = %zu", j->limits.depth);
}

static uint32_t depth_of(const asc_jinja_node *n) { return n != NULL ? n->depth : 0; }

asc_status asc_jinja_node_done(asc_jinja *j, asc_jinja_node *n) {
    uint32_t d = 0;
    const asc_jinja_node *const kids[] = {n->a, n->b, n->c, n->target};
    for (size_t i = 0; i < 4; i++) {
        if (depth_of(kids[i]) > d) d = depth_of(kids[i]);
    }
    for (const asc_jinja_node *k = n->kids; k != NULL; k = k->next) {
        if (k->depth > d) d = k->depth;
    }
    for (const asc_jinja_node *k = n->target; k != NULL; k = k->next) { /* parameters of a macro */
        if (k->depth > d) d = k->depth;
    }
    n->depth = d + 1;
    return n->depth > j->limits.depth ? too_deep(j, n->off) : ASC_OK;
}

void asc_jinja_push(asc_jinja_siblings *s, asc_jinja_node *n) {
    if (s->last != NULL) s->last->next = n;
    if (s->first == NULL) s->first = n;
    s->last = n;
}

asc_status asc_jinja_enter(asc_jinja *j) {
    if (++j->depth > j->limits.depth) return too_deep(j, asc_jinja_peek(j, 0)->off);
    return ASC_OK;
}

void asc_jinja_leave(asc_jinja *j) { j->depth--; }

const asc_jinja_token *asc_jinja_peek(const asc_jinja *j, size_t ahead) {
    size_t i = j->at + ahead;
    return &j->tok[i < j->n_tok ? i : j->n_tok - 1]; /* the last one is JT_EOF */
}

asc_view asc_jinja_tok_text(const asc_jinja *j, const asc_jinja_token *t) {
    return asc_view_make(j->src.ptr + t->off, t->len);
}

bool asc_jinja_is(const asc_jinja *j, asc_jinja_tok type, const char *text) {
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    return t->type == type && (text == NULL || asc_view_eqs(asc_jinja_tok_text(j, t), text));
}

bool asc_jinja_accept(asc_jinja *j, asc_jinja_tok type, const char *text) {
    if (!asc_jinja_is(j, type, text)) return false;
    j->at++;
    return true;
}

asc_status asc_jinja_unexpected(asc_jinja *j, const char *wanted) {
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    if (t->type == JT_EOF)
        return asc_jinja_fail(j, t->off, ASC_INVALID_ARGUMENT, "expected %s, the template ends here", wanted);
    asc_view v = asc_view_cut(asc_jinja_tok_text(j, t), 40);
    return asc_jinja_fail(j, t->off, ASC_INVALID_ARGUMENT, "expected %s, found '" ASC_VIEW_FMT "'", wanted,
                          ASC_VIEW_ARG(v));
}

asc_status asc_jinja_expect(asc_jinja *j, asc_jinja_tok type, const char *text) {
    if (asc_jinja_accept(j, type, text)) return ASC_OK;
    char wanted[40] = "the end of the tag";
    if (text != NULL) snprintf(wanted, sizeof wanted, "'%s'", text);
    return asc_jinja_unexpected(j, wanted);
}

/* ---- statements ---- */

static asc_status parse_body(asc_jinja *j, const char *const *ends, size_t n_ends, asc_jinja_node **out);

/* Whether the next tokens are {% WORD. */
static bool block_word(const asc_jinja *j, const char *word) {
    const asc_jinja_token *t = asc_jinja_peek(j, 1);
    return asc_jinja_is(j, JT_BLOCK_BEGIN, NULL) && t->type == JT_NAME &&
           asc_view_eqs(asc_jinja_tok_text(j, t), word);
}

/* {% WORD %} */
static asc_status end_tag(asc_jinja *j) {
    j->at += 2;
    return asc_jinja_expect(j, JT_BLOCK_END, NULL);
}

static asc_status parse_if(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"elif", "else", "endif"};
    asc_jinja_siblings s = {0};
    bool more = true, has_cond = true;
    while (more) {
        asc_jinja_node *br = NULL;
        ASC_JINJA_DO(asc_jinja_node_new(j, JN_BRANCH, asc_jinja_peek(j, 0)->off, &br));
        if (has_cond) ASC_JINJA_DO(asc_jinja_parse_tuple(j, true, &br->a));
        ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
        ASC_JINJA_DO(parse_body(j, has_cond ? ends : ends + 2, has_cond ? 3 : 1, &br->kids));
        ASC_JINJA_DO(asc_jinja_node_done(j, br));
        asc_jinja_push(&s, br);
        more = !block_word(j, "endif");
        has_cond = block_word(j, "elif");
        if (more) j->at += 2;
    }
    n->kids = s.first;
    return end_tag(j);
}

/* NAME, or NAME.NAME when `attr` is allowed. */
static asc_status parse_target_name(asc_jinja *j, bool attr, asc_jinja_node **out) {
    static const char *const reserved[] = {"true", "True", "false", "False", "none", "None"};
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    if (t->type != JT_NAME) return asc_jinja_unexpected(j, "a name to assign to");
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (asc_jinja_is(j, JT_NAME, reserved[i])) return asc_jinja_unexpected(j, "a name to assign to");
    }
    ASC_JINJA_DO(asc_jinja_node_new(j, JN_NAME, t->off, out));
    (*out)->text = asc_jinja_tok_text(j, t);
    j->at++;
    ASC_JINJA_DO(asc_jinja_node_done(j, *out));
    if (!attr || !asc_jinja_accept(j, JT_OP, ".")) return ASC_OK;
    asc_jinja_node *obj = *out;
    t = asc_jinja_peek(j, 0);
    if (t->type != JT_NAME) return asc_jinja_unexpected(j, "a name after '.'");
    ASC_JINJA_DO(asc_jinja_node_new(j, JN_ATTR, t->off, out));
    (*out)->a = obj;
    (*out)->text = asc_jinja_tok_text(j, t);
    j->at++;
    return asc_jinja_node_done(j, *out);
}

/* NAME, or a tuple of names with or without parentheses. */
static asc_status parse_target(asc_jinja *j, bool attr, asc_jinja_node **out) {
    asc_jinja_siblings s = {0};
    size_t off = asc_jinja_peek(j, 0)->off;
    bool paren = asc_jinja_accept(j, JT_OP, "("), comma = false;
    do {
        asc_jinja_node *n = NULL;
        if (comma &&
            (asc_jinja_is(j, JT_OP, ")") || asc_jinja_is(j, JT_OP, "=") || asc_jinja_is(j, JT_NAME, "in")))
            break;
        ASC_JINJA_DO(parse_target_name(j, attr, &n));
        asc_jinja_push(&s, n);
    } while (asc_jinja_accept(j, JT_OP, ",") && (comma = true));
    if (paren) ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, ")"));
    *out = s.first;
    if (!comma) return ASC_OK;
    ASC_JINJA_DO(asc_jinja_node_new(j, JN_TUPLE, off, out));
    (*out)->kids = s.first;
    return asc_jinja_node_done(j, *out);
}

static asc_status parse_for(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"else", "endfor"};
    ASC_JINJA_DO(parse_target(j, false, &n->target));
    if (n->target->kind == JN_NAME && asc_view_eqs(n->target->text, "loop"))
        return asc_jinja_fail(j, n->target->off, ASC_INVALID_ARGUMENT,
                              "'loop' cannot be the variable of a for");
    ASC_JINJA_DO(asc_jinja_expect(j, JT_NAME, "in"));
    ASC_JINJA_DO(asc_jinja_parse_tuple(j, false, &n->a));
    if (asc_jinja_accept(j, JT_NAME, "if")) ASC_JINJA_DO(asc_jinja_parse_expr(j, &n->b));
    n->num.i = asc_jinja_accept(j, JT_NAME, "recursive");
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    j->loops++;
    ASC_JINJA_DO(parse_body(j, ends, 2, &n->kids));
    j->loops--;
    if (block_word(j, "else")) {
        ASC_JINJA_DO(asc_jinja_node_new(j, JN_SCOPE, asc_jinja_peek(j, 0)->off, &n->c));
        ASC_JINJA_DO(end_tag(j));
        ASC_JINJA_DO(parse_body(j, ends + 1, 1, &n->c->kids));
        ASC_JINJA_DO(asc_jinja_node_done(j, n->c));
    }
    return end_tag(j);
}

/* The filters of a block: NAME(args) | NAME(args) ... around the text of its body. */
static asc_status parse_block_filters(asc_jinja *j, asc_jinja_node **out) {
    ASC_JINJA_DO(asc_jinja_node_new(j, JN_BODY, asc_jinja_peek(j, 0)->off, out));
    ASC_JINJA_DO(asc_jinja_node_done(j, *out));
    return asc_jinja_parse_filter_chain(j, out);
}

static asc_status parse_set(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"endset"};
    ASC_JINJA_DO(parse_target(j, true, &n->target));
    if (asc_jinja_accept(j, JT_OP, "=")) {
        ASC_JINJA_DO(asc_jinja_parse_tuple(j, true, &n->a));
        return asc_jinja_expect(j, JT_BLOCK_END, NULL);
    }
    if (asc_jinja_accept(j, JT_OP, "|")) ASC_JINJA_DO(parse_block_filters(j, &n->b));
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    ASC_JINJA_DO(parse_body(j, ends, 1, &n->kids));
    return end_tag(j);
}

static asc_status parse_loop_control(asc_jinja *j, asc_jinja_node *n) {
    if (j->loops == 0)
        return asc_jinja_fail(j, n->off, ASC_INVALID_ARGUMENT, "'" ASC_VIEW_FMT "' outside of a for",
                              ASC_VIEW_ARG(n->text));
    return asc_jinja_expect(j, JT_BLOCK_END, NULL);
}

/* ASC_JINJA_USES_* of the siblings n and all below them. */
static int64_t uses(const asc_jinja_node *n) {
    int64_t bits = 0;
    for (; n != NULL; n = n->next) {
        if (n->kind == JN_NAME && asc_view_eqs(n->text, "caller")) bits |= ASC_JINJA_USES_CALLER;
        if (n->kind == JN_NAME && asc_view_eqs(n->text, "varargs")) bits |= ASC_JINJA_USES_VARARGS;
        if (n->kind == JN_NAME && asc_view_eqs(n->text, "kwargs")) bits |= ASC_JINJA_USES_KWARGS;
        bits |= uses(n->a) | uses(n->b) | uses(n->c) | uses(n->target) | uses(n->kids);
    }
    return bits;
}

/* (a, b=1), of a macro or a call block. */
static asc_status parse_params(asc_jinja *j, asc_jinja_node *n) {
    asc_jinja_siblings params = {0};
    asc_jinja_node *p = NULL;
    bool optional = false;
    ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, "("));
    while (!asc_jinja_is(j, JT_OP, ")")) {
        ASC_JINJA_DO(parse_target_name(j, false, &p));
        if (asc_jinja_accept(j, JT_OP, "=")) {
            optional = true;
            ASC_JINJA_DO(asc_jinja_parse_expr(j, &p->a));
            ASC_JINJA_DO(asc_jinja_node_done(j, p));
        } else if (optional) {
            return asc_jinja_unexpected(j, "a default, as the parameter before has one");
        }
        asc_jinja_push(&params, p);
        if (!asc_jinja_accept(j, JT_OP, ",")) break;
    }
    n->target = params.first;
    return asc_jinja_expect(j, JT_OP, ")");
}

/* {% macro name(a, b=1) %} ... {% endmacro %} */
static asc_status parse_macro(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"endmacro"};
    asc_jinja_node *p = NULL;
    size_t loops = j->loops;
    ASC_JINJA_DO(parse_target_name(j, false, &p));
    n->text = p->text;
    ASC_JINJA_DO(parse_params(j, n));
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    j->loops = 0; /* a break inside cannot leave a loop around the macro */
    ASC_JINJA_DO(parse_body(j, ends, 1, &n->kids));
    j->loops = loops;
    n->num.i = uses(n->kids);
    return end_tag(j);
}

/* {% generation %} marks what an assistant wrote; for the text it is a plain block. */
static asc_status parse_generation(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"endgeneration"};
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    ASC_JINJA_DO(parse_body(j, ends, 1, &n->kids));
    return end_tag(j);
}

/* {% with a = 1, b = 2 %} ... {% endwith %} */
static asc_status parse_with(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"endwith"};
    asc_jinja_siblings names = {0};
    while (!asc_jinja_is(j, JT_BLOCK_END, NULL)) {
        asc_jinja_node *p = NULL;
        if (names.first != NULL) ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, ","));
        ASC_JINJA_DO(parse_target_name(j, false, &p));
        ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, "="));
        ASC_JINJA_DO(asc_jinja_parse_expr(j, &p->a));
        ASC_JINJA_DO(asc_jinja_node_done(j, p));
        asc_jinja_push(&names, p);
    }
    n->target = names.first;
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    ASC_JINJA_DO(parse_body(j, ends, 1, &n->kids));
    return end_tag(j);
}

/* {% filter upper %} ... {% endfilter %} */
static asc_status parse_filter(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"endfilter"};
    ASC_JINJA_DO(parse_block_filters(j, &n->a));
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    ASC_JINJA_DO(parse_body(j, ends, 1, &n->kids));
    return end_tag(j);
}

/* {% call(a) macro(...) %} ... {% endcall %}: the body is what caller(...) gives inside the macro. */
static asc_status parse_call_block(asc_jinja *j, asc_jinja_node *n) {
    static const char *const ends[] = {"endcall"};
    size_t loops = j->loops;
    if (asc_jinja_is(j, JT_OP, "(")) ASC_JINJA_DO(parse_params(j, n));
    ASC_JINJA_DO(asc_jinja_parse_expr(j, &n->a));
    if (n->a->kind != JN_CALL) return asc_jinja_unexpected(j, "a call");
    ASC_JINJA_DO(asc_jinja_expect(j, JT_BLOCK_END, NULL));
    n->text = asc_view_of("caller");
    j->loops = 0;
    ASC_JINJA_DO(parse_body(j, ends, 1, &n->kids));
    j->loops = loops;
    n->num.i = uses(n->kids);
    return end_tag(j);
}

/* The statements that are known; anything else is refused by name. */
typedef struct statement {
    const char *name;
    asc_jinja_node_kind kind;
    asc_status (*parse)(asc_jinja *j, asc_jinja_node *n);
} statement;
static const statement statements[] = {
    {"if", JN_IF, parse_if},
    {"for", JN_FOR, parse_for},
    {"set", JN_SET, parse_set},
    {"macro", JN_MACRO, parse_macro},
    {"generation", JN_SCOPE, parse_generation},
    {"with", JN_WITH, parse_with},
    {"filter", JN_FILTER_BLOCK, parse_filter},
    {"call", JN_CALL_BLOCK, parse_call_block},
    {"break", JN_BREAK, parse_loop_control},
    {"continue", JN_CONTINUE, parse_loop_control},
};

static asc_status parse_statement(asc_jinja *j, asc_jinja_node **out) {
    static const char *const closers[] = {"elif",     "else",          "endif",   "endfor",    "endset",
                                          "endmacro", "endgeneration", "endwith", "endfilter", "endcall"};
    const asc_jinja_token *t = asc_jinja_peek(j, 1);
    j->at++;
    if (t->type != JT_NAME) return asc_jinja_unexpected(j, "the name of a statement");
    asc_view word = asc_jinja_tok_text(j, t);
    for (size_t i = 0; i < sizeof closers / sizeof *closers; i++) {
        if (asc_view_eqs(word, closers[i]))
            return asc_jinja_fail(j, t->off, ASC_INVALID_ARGUMENT, "'%s' closes nothing that is open here",
                                  closers[i]);
    }
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        if (!asc_view_eqs(word, statements[i].name)) continue;
        ASC_JINJA_DO(asc_jinja_node_new(j, statements[i].kind, t->off, out));
        (*out)->text = word;
        j->at++;
        ASC_JINJA_DO(asc_jinja_enter(j));
        ASC_JINJA_DO(statements[i].parse(j, *out));
        asc_jinja_leave(j);
        return asc_jinja_node_done(j, *out);
    }
    return asc_jinja_refuse(j, t->off, "statement", word);
}

/* Statements up to {% END with one of the given words, which is not consumed, or the end of the template when
 * none is given. */
static asc_status parse_body(asc_jinja *j, const char *const *ends, size_t n_ends, asc_jinja_node **out) {
    asc_jinja_siblings s = {0};
    *out = NULL;
    for (;;) {
        const asc_jinja_token *t = asc_jinja_peek(j, 0);
        asc_jinja_node *n = NULL;
        if (t->type == JT_EOF) {
            char wanted[40];
            if (n_ends == 0) break;
            snprintf(wanted, sizeof wanted, "{%% %s %%}", ends[n_ends - 1]);
            return asc_jinja_unexpected(j, wanted);
        }
        if (t->type == JT_TEXT) {
            ASC_JINJA_DO(asc_jinja_node_new(j, JN_TEXT, t->off, &n));
            n->text = asc_jinja_tok_text(j, t);
            j->at++;
            ASC_JINJA_DO(asc_jinja_node_done(j, n));
        } else if (t->type == JT_VAR_BEGIN) {
            ASC_JINJA_DO(asc_jinja_node_new(j, JN_OUTPUT, t->off, &n));
            j->at++;
            ASC_JINJA_DO(asc_jinja_parse_tuple(j, true, &n->a));
            if (!asc_jinja_accept(j, JT_VAR_END, NULL)) return asc_jinja_unexpected(j, "an operator or '}}'");
            ASC_JINJA_DO(asc_jinja_node_done(j, n));
        } else {
            for (size_t i = 0; i < n_ends; i++) {
                if (block_word(j, ends[i])) {
                    *out = s.first;
                    return ASC_OK;
                }
            }
            ASC_JINJA_DO(parse_statement(j, &n));
        }
        asc_jinja_push(&s, n);
    }
    *out = s.first;
    return ASC_OK;
}

asc_status asc_jinja_parse(asc_jinja *j, asc_jinja_node **out) { return parse_body(j, NULL, 0, out); }
