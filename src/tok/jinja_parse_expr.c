/* jinja_parse_expr.c - expressions, by precedence from loosest to tightest: inline if, or, and, not,
 * comparison,
 * + -, ~, * / // %, sign, then attributes, calls, filters and tests. Long chains are lists, not nested nodes,
 * so their length costs no depth. */
#include "jinja_ast.h"

static asc_status parse_kid(asc_jinja *j, asc_jinja_siblings *s) {
    asc_jinja_node *n = NULL;
    ASC_JINJA_DO(asc_jinja_parse_expr(j, &n));
    asc_jinja_push(s, n);
    return ASC_OK;
}

/* ---- primaries ---- */

/* Elements up to the closing bracket, which is consumed; the opening one already is. */
static asc_status parse_elements(asc_jinja *j, asc_jinja_node *n, const char *close, bool *trailing_comma) {
    asc_jinja_siblings s = {0};
    *trailing_comma = false;
    while (!asc_jinja_is(j, JT_OP, close)) {
        ASC_JINJA_DO(parse_kid(j, &s));
        *trailing_comma = asc_jinja_accept(j, JT_OP, ",");
        if (!*trailing_comma) break;
    }
    ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, close));
    n->kids = s.first;
    return ASC_OK;
}

static asc_status parse_dict(asc_jinja *j, asc_jinja_node *n) {
    asc_jinja_siblings s = {0};
    while (!asc_jinja_is(j, JT_OP, "}")) {
        ASC_JINJA_DO(parse_kid(j, &s));
        ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, ":"));
        ASC_JINJA_DO(parse_kid(j, &s));
        if (!asc_jinja_accept(j, JT_OP, ",")) break;
    }
    ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, "}"));
    n->kids = s.first;
    return ASC_OK;
}

static asc_status parse_bracketed(asc_jinja *j, asc_jinja_node **out) {
    size_t off = asc_jinja_peek(j, 0)->off;
    bool comma = false;
    asc_jinja_node_kind kind = asc_jinja_is(j, JT_OP, "[")   ? JN_LIST
                               : asc_jinja_is(j, JT_OP, "{") ? JN_DICT
                                                             : JN_TUPLE;
    j->at++;
    ASC_JINJA_DO(asc_jinja_node_new(j, kind, off, out));
    if (kind == JN_DICT) {
        ASC_JINJA_DO(parse_dict(j, *out));
    } else {
        ASC_JINJA_DO(parse_elements(j, *out, kind == JN_LIST ? "]" : ")", &comma));
        asc_jinja_node *only = (*out)->kids;
        if (kind == JN_TUPLE && only != NULL && only->next == NULL && !comma) { /* just parentheses */
            *out = only;
            return ASC_OK;
        }
    }
    return asc_jinja_node_done(j, *out);
}

static asc_status parse_primary(asc_jinja *j, asc_jinja_node **out) {
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    if (t->type == JT_STRING) return asc_jinja_parse_string(j, out);
    if (t->type == JT_INT || t->type == JT_FLOAT) return asc_jinja_parse_number(j, out);
    if (asc_jinja_is(j, JT_OP, "(") || asc_jinja_is(j, JT_OP, "[") || asc_jinja_is(j, JT_OP, "{"))
        return parse_bracketed(j, out);
    if (t->type != JT_NAME) return asc_jinja_unexpected(j, "an expression");
    asc_view v = asc_jinja_tok_text(j, t);
    bool yes = asc_view_eqs(v, "true") || asc_view_eqs(v, "True"),
         no = asc_view_eqs(v, "false") || asc_view_eqs(v, "False");
    bool none = asc_view_eqs(v, "none") || asc_view_eqs(v, "None");
    ASC_JINJA_DO(asc_jinja_node_new(j, yes || no ? JN_BOOL : none ? JN_NONE : JN_NAME, t->off, out));
    (*out)->num.i = yes;
    (*out)->text = v;
    j->at++;
    return asc_jinja_node_done(j, *out);
}

/* ---- what follows a primary ---- */

static asc_status wrap(asc_jinja *j, asc_jinja_node_kind kind, size_t off, asc_jinja_node **io) {
    asc_jinja_node *n = NULL;
    ASC_JINJA_DO(asc_jinja_node_new(j, kind, off, &n));
    n->a = *io;
    *io = n;
    return ASC_OK;
}

/* Arguments in parentheses; the opening one is next. */
static asc_status parse_args(asc_jinja *j, asc_jinja_node *n) {
    asc_jinja_siblings s = {0};
    size_t count = 0;
    bool keyword = false;
    ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, "("));
    while (!asc_jinja_is(j, JT_OP, ")")) {
        const asc_jinja_token *t = asc_jinja_peek(j, 0), *eq = asc_jinja_peek(j, 1);
        if (asc_jinja_is(j, JT_OP, "*") || asc_jinja_is(j, JT_OP, "**"))
            return asc_jinja_refuse(j, t->off, "argument unpacking", asc_jinja_tok_text(j, t));
        if (++count > ASC_JINJA_MAX_ARGS)
            return asc_jinja_fail(j, t->off, ASC_RESOURCE_EXHAUSTED,
                                  "more arguments than ASC_JINJA_MAX_ARGS = %d", (int)ASC_JINJA_MAX_ARGS);
        if (t->type == JT_NAME && eq->type == JT_OP && asc_view_eqs(asc_jinja_tok_text(j, eq), "=")) {
            asc_jinja_node *k = NULL;
            ASC_JINJA_DO(asc_jinja_node_new(j, JN_KEYWORD, t->off, &k));
            k->text = asc_jinja_tok_text(j, t);
            j->at += 2;
            ASC_JINJA_DO(asc_jinja_parse_expr(j, &k->a));
            ASC_JINJA_DO(asc_jinja_node_done(j, k));
            asc_jinja_push(&s, k);
            keyword = true;
        } else if (keyword) {
            return asc_jinja_unexpected(j, "a keyword argument");
        } else {
            ASC_JINJA_DO(parse_kid(j, &s));
        }
        if (!asc_jinja_accept(j, JT_OP, ",")) break;
    }
    n->kids = s.first;
    return asc_jinja_expect(j, JT_OP, ")");
}

/* Part of a slice, absent before ':' and ']'. */
static asc_status slice_part(asc_jinja *j, asc_jinja_node **out) {
    *out = NULL;
    if (asc_jinja_is(j, JT_OP, ":") || asc_jinja_is(j, JT_OP, "]")) return ASC_OK;
    return asc_jinja_parse_expr(j, out);
}

static asc_status parse_subscript(asc_jinja *j, asc_jinja_node **io) {
    size_t off = asc_jinja_peek(j, 0)->off;
    if (asc_jinja_accept(j, JT_OP, ".")) {
        const asc_jinja_token *t = asc_jinja_peek(j, 0);
        if (t->type == JT_INT) {
            ASC_JINJA_DO(wrap(j, JN_INDEX, off, io));
            ASC_JINJA_DO(asc_jinja_parse_number(j, &(*io)->b));
            return asc_jinja_node_done(j, *io);
        }
        if (t->type != JT_NAME) return asc_jinja_unexpected(j, "a name after '.'");
        ASC_JINJA_DO(wrap(j, JN_ATTR, t->off, io));
        (*io)->text = asc_jinja_tok_text(j, t);
        j->at++;
        return asc_jinja_node_done(j, *io);
    }
    ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, "["));
    asc_jinja_node *first = NULL, *n;
    ASC_JINJA_DO(slice_part(j, &first));
    bool slice = asc_jinja_accept(j, JT_OP, ":");
    if (!slice && first == NULL) return asc_jinja_unexpected(j, "an index");
    ASC_JINJA_DO(wrap(j, slice ? JN_SLICE : JN_INDEX, off, io));
    n = *io;
    n->b = first;
    if (slice) {
        ASC_JINJA_DO(slice_part(j, &n->c));
        if (asc_jinja_accept(j, JT_OP, ":")) ASC_JINJA_DO(slice_part(j, &n->target));
    }
    if (asc_jinja_is(j, JT_OP, ","))
        return asc_jinja_refuse(j, off, "subscript with", asc_view_of("several indices"));
    ASC_JINJA_DO(asc_jinja_expect(j, JT_OP, "]"));
    return asc_jinja_node_done(j, n);
}

static asc_status parse_call(asc_jinja *j, asc_jinja_node **io) {
    ASC_JINJA_DO(wrap(j, JN_CALL, (*io)->off, io));
    ASC_JINJA_DO(parse_args(j, *io));
    return asc_jinja_node_done(j, *io);
}

static asc_status parse_postfix(asc_jinja *j, asc_jinja_node **io) {
    for (;;) {
        if (asc_jinja_is(j, JT_OP, ".") || asc_jinja_is(j, JT_OP, "[")) {
            ASC_JINJA_DO(parse_subscript(j, io));
        } else if (asc_jinja_is(j, JT_OP, "(")) {
            ASC_JINJA_DO(parse_call(j, io));
        } else {
            return ASC_OK;
        }
    }
}

/* Whether the next token begins an argument of a test that is written without parentheses: `is divisibleby
 * 3`. */
static bool test_argument_follows(const asc_jinja *j) {
    static const char *const ends[] = {"else", "or", "and", "if", "in", "not", "is"};
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    if (t->type == JT_STRING || t->type == JT_INT || t->type == JT_FLOAT) return true;
    if (t->type == JT_OP) return asc_jinja_is(j, JT_OP, "[") || asc_jinja_is(j, JT_OP, "{");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (asc_view_eqs(asc_jinja_tok_text(j, t), ends[i])) return false;
    }
    return t->type == JT_NAME;
}

static asc_status parse_test(asc_jinja *j, asc_jinja_node **io) {
    bool negate = asc_jinja_accept(j, JT_NAME, "not");
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    if (t->type != JT_NAME) return asc_jinja_unexpected(j, "the name of a test");
    ASC_JINJA_DO(wrap(j, JN_TEST, t->off, io));
    asc_jinja_node *n = *io;
    n->text = asc_jinja_tok_text(j, t);
    j->at++;
    if (asc_jinja_is(j, JT_OP, "(")) {
        ASC_JINJA_DO(parse_args(j, n));
    } else if (test_argument_follows(j)) {
        ASC_JINJA_DO(parse_primary(j, &n->kids));
        ASC_JINJA_DO(parse_postfix(j, &n->kids));
    }
    if (asc_jinja_is(j, JT_NAME, "is"))
        return asc_jinja_unexpected(j, "no second test (tests cannot be chained)");
    ASC_JINJA_DO(asc_jinja_node_done(j, n));
    if (!negate) return ASC_OK;
    ASC_JINJA_DO(wrap(j, JN_NOT, n->off, io));
    return asc_jinja_node_done(j, *io);
}

/* NAME or NAME(arguments), around *io. */
static asc_status parse_filter_name(asc_jinja *j, asc_jinja_node **io) {
    const asc_jinja_token *t = asc_jinja_peek(j, 0);
    if (t->type != JT_NAME) return asc_jinja_unexpected(j, "the name of a filter");
    ASC_JINJA_DO(wrap(j, JN_FILTER, t->off, io));
    (*io)->text = asc_jinja_tok_text(j, t);
    j->at++;
    if (asc_jinja_is(j, JT_OP, "(")) ASC_JINJA_DO(parse_args(j, *io));
    return asc_jinja_node_done(j, *io);
}

asc_status asc_jinja_parse_filter_chain(asc_jinja *j, asc_jinja_node **io) {
    do {
        ASC_JINJA_DO(parse_filter_name(j, io));
    } while (asc_jinja_accept(j, JT_OP, "|"));
    return ASC_OK;
}

static asc_status parse_filters(asc_jinja *j, asc_jinja_node **io) {
    for (;;) {
        if (asc_jinja_accept(j, JT_OP, "|")) {
            ASC_JINJA_DO(parse_filter_name(j, io));
        } else if (asc_jinja_accept(j, JT_NAME, "is")) {
            ASC_JINJA_DO(parse_test(j, io));
        } else if (asc_jinja_is(j, JT_OP, "(")) { /* a filter's result may be called */
            ASC_JINJA_DO(parse_call(j, io));
        } else {
            return ASC_OK;
        }
    }
}

/* ---- operators ---- */

/* A sign binds looser than attributes and calls, tighter than filters: -x.y|abs is (-(x.y))|abs. */
static asc_status parse_unary(asc_jinja *j, bool with_filter, asc_jinja_node **out) {
    size_t off = asc_jinja_peek(j, 0)->off;
    bool minus = asc_jinja_is(j, JT_OP, "-"), plus = asc_jinja_is(j, JT_OP, "+");
    ASC_JINJA_DO(asc_jinja_enter(j));
    if (minus || plus) {
        j->at++;
        ASC_JINJA_DO(parse_unary(j, false, out));
        ASC_JINJA_DO(wrap(j, minus ? JN_NEG : JN_POS, off, out));
        ASC_JINJA_DO(asc_jinja_node_done(j, *out));
    } else {
        ASC_JINJA_DO(parse_primary(j, out));
    }
    ASC_JINJA_DO(parse_postfix(j, out));
    if (with_filter) ASC_JINJA_DO(parse_filters(j, out));
    if (asc_jinja_is(j, JT_OP, "**"))
        return asc_jinja_refuse(j, asc_jinja_peek(j, 0)->off, "operator", asc_view_of("**"));
    asc_jinja_leave(j);
    return ASC_OK;
}

typedef struct op_row {
    const char *text;
    asc_jinja_op op;
} op_row;
typedef asc_status (*parse_fn)(asc_jinja *j, asc_jinja_node **out);

/* operand (op operand)* with the operators of one level. */
static asc_status parse_chain(asc_jinja *j, asc_jinja_node_kind kind, const op_row *ops, size_t n_ops,
                              parse_fn operand, asc_jinja_node **out) {
    asc_jinja_siblings s = {0};
    asc_jinja_node *chain = NULL;
    ASC_JINJA_DO(operand(j, out));
    for (;;) {
        size_t k = 0, off = asc_jinja_peek(j, 0)->off;
        while (k < n_ops && !asc_jinja_is(j, JT_OP, ops[k].text)) k++;
        if (k == n_ops) break;
        j->at++;
        if (chain == NULL) ASC_JINJA_DO(asc_jinja_node_new(j, kind, off, &chain));
        asc_jinja_node *o = NULL;
        ASC_JINJA_DO(asc_jinja_node_new(j, JN_OPERAND, off, &o));
        o->op = ops[k].op;
        ASC_JINJA_DO(operand(j, &o->a));
        ASC_JINJA_DO(asc_jinja_node_done(j, o));
        asc_jinja_push(&s, o);
    }
    if (chain == NULL) return ASC_OK;
    chain->a = *out;
    chain->kids = s.first;
    *out = chain;
    return asc_jinja_node_done(j, chain);
}

static asc_status parse_signed(asc_jinja *j, asc_jinja_node **out) { return parse_unary(j, true, out); }

static asc_status parse_product(asc_jinja *j, asc_jinja_node **out) {
    static const op_row ops[] = {{"*", JO_MUL}, {"/", JO_DIV}, {"//", JO_FLOORDIV}, {"%", JO_MOD}};
    return parse_chain(j, JN_CHAIN, ops, 4, parse_signed, out);
}

/* a ~ b ~ c, a and b and c, a or b or c: the operands become kids. `type` and `text` say the joining token.
 */
static asc_status parse_joined(asc_jinja *j, asc_jinja_node_kind kind, asc_jinja_tok type, const char *text,
                               parse_fn operand, asc_jinja_node **out) {
    asc_jinja_siblings s = {0};
    size_t off = asc_jinja_peek(j, 0)->off;
    ASC_JINJA_DO(operand(j, out));
    if (!asc_jinja_is(j, type, text)) return ASC_OK;
    asc_jinja_push(&s, *out);
    while (asc_jinja_accept(j, type, text)) {
        asc_jinja_node *n = NULL;
        ASC_JINJA_DO(operand(j, &n));
        asc_jinja_push(&s, n);
    }
    ASC_JINJA_DO(asc_jinja_node_new(j, kind, off, out));
    (*out)->kids = s.first;
    return asc_jinja_node_done(j, *out);
}

static asc_status parse_concat(asc_jinja *j, asc_jinja_node **out) {
    return parse_joined(j, JN_CONCAT, JT_OP, "~", parse_product, out);
}

static asc_status parse_sum(asc_jinja *j, asc_jinja_node **out) {
    static const op_row ops[] = {{"+", JO_ADD}, {"-", JO_SUB}};
    return parse_chain(j, JN_CHAIN, ops, 2, parse_concat, out);
}

static bool compare_op(asc_jinja *j, asc_jinja_op *op) {
    static const op_row ops[] = {{"==", JO_EQ}, {"!=", JO_NE}, {"<", JO_LT},
                                 {"<=", JO_LE}, {">", JO_GT},  {">=", JO_GE}};
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++) {
        if (asc_jinja_accept(j, JT_OP, ops[k].text)) {
            *op = ops[k].op;
            return true;
        }
    }
    *op = JO_IN;
    if (asc_jinja_accept(j, JT_NAME, "in")) return true;
    const asc_jinja_token *t = asc_jinja_peek(j, 1);
    if (!asc_jinja_is(j, JT_NAME, "not") || t->type != JT_NAME ||
        !asc_view_eqs(asc_jinja_tok_text(j, t), "in"))
        return false;
    *op = JO_NOT_IN;
    j->at += 2;
    return true;
}

static asc_status parse_compare(asc_jinja *j, asc_jinja_node **out) {
    asc_jinja_siblings s = {0};
    asc_jinja_node *cmp = NULL;
    ASC_JINJA_DO(parse_sum(j, out));
    for (;;) {
        asc_jinja_op op;
        size_t off = asc_jinja_peek(j, 0)->off;
        if (!compare_op(j, &op)) break;
        if (cmp == NULL) ASC_JINJA_DO(asc_jinja_node_new(j, JN_COMPARE, off, &cmp));
        asc_jinja_node *o = NULL;
        ASC_JINJA_DO(asc_jinja_node_new(j, JN_OPERAND, off, &o));
        o->op = op;
        ASC_JINJA_DO(parse_sum(j, &o->a));
        ASC_JINJA_DO(asc_jinja_node_done(j, o));
        asc_jinja_push(&s, o);
    }
    if (cmp == NULL) return ASC_OK;
    cmp->a = *out;
    cmp->kids = s.first;
    *out = cmp;
    return asc_jinja_node_done(j, cmp);
}

static asc_status parse_not(asc_jinja *j, asc_jinja_node **out) {
    size_t off = asc_jinja_peek(j, 0)->off;
    if (!asc_jinja_accept(j, JT_NAME, "not")) return parse_compare(j, out);
    ASC_JINJA_DO(asc_jinja_enter(j));
    ASC_JINJA_DO(parse_not(j, out));
    asc_jinja_leave(j);
    ASC_JINJA_DO(wrap(j, JN_NOT, off, out));
    return asc_jinja_node_done(j, *out);
}

static asc_status parse_and(asc_jinja *j, asc_jinja_node **out) {
    return parse_joined(j, JN_AND, JT_NAME, "and", parse_not, out);
}

static asc_status parse_or(asc_jinja *j, asc_jinja_node **out) {
    return parse_joined(j, JN_OR, JT_NAME, "or", parse_and, out);
}

asc_status asc_jinja_parse_expr(asc_jinja *j, asc_jinja_node **out) {
    ASC_JINJA_DO(asc_jinja_enter(j));
    ASC_JINJA_DO(parse_or(j, out));
    while (asc_jinja_is(j, JT_NAME, "if")) {
        asc_jinja_node *n = NULL;
        ASC_JINJA_DO(asc_jinja_node_new(j, JN_COND, asc_jinja_peek(j, 0)->off, &n));
        j->at++;
        n->b = *out;
        ASC_JINJA_DO(parse_or(j, &n->a));
        if (asc_jinja_accept(j, JT_NAME, "else")) ASC_JINJA_DO(asc_jinja_parse_expr(j, &n->c));
        ASC_JINJA_DO(asc_jinja_node_done(j, n));
        *out = n;
    }
    asc_jinja_leave(j);
    return ASC_OK;
}

asc_status asc_jinja_parse_tuple(asc_jinja *j, bool with_cond, asc_jinja_node **out) {
    asc_jinja_siblings s = {0};
    asc_jinja_node *n = NULL;
    size_t off = asc_jinja_peek(j, 0)->off;
    bool comma = false;
    do {
        const asc_jinja_tok type = asc_jinja_peek(j, 0)->type;
        if (comma && (type == JT_VAR_END || type == JT_BLOCK_END)) break;
        ASC_JINJA_DO(with_cond ? asc_jinja_parse_expr(j, &n) : parse_or(j, &n));
        asc_jinja_push(&s, n);
    } while (asc_jinja_accept(j, JT_OP, ",") && (comma = true));
    *out = s.first;
    if (!comma) return ASC_OK;
    ASC_JINJA_DO(asc_jinja_node_new(j, JN_TUPLE, off, out));
    (*out)->kids = s.first;
    return asc_jinja_node_done(j, *out);
}
