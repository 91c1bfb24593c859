/* csv.c - tables of numbers with a header, RFC 4180. Every complaint has the line of the file and the column
 * by number and name; nothing is guessed: no other separators, no decimal commas, no missing values. */
#include "alloc.h"
#include "ascribe/inputs.h"
#include "file.h"
#include "plain.h"
#include "strbuf.h"
#include "view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOT_WANTED = -1 };

typedef struct table_reader {
    asc_ctx *ctx;
    const char *p, *end;
    size_t line;      /* of the file, from 1 */
    asc_strbuf field; /* the last one, without quotes */
    bool row_ended;   /* it was the last one of its row */
    char **names;     /* of all columns of the file */
    size_t n, cap;
    int32_t *place; /* where a column goes, or NOT_WANTED */
    double *values;
    size_t rows, values_cap, n_wanted;
} table_reader;

static asc_status bad(table_reader *r, size_t column, const char *what, asc_view shown) {
    shown = asc_view_cut(shown, 40);
    if (column < r->n)
        return ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "line %zu, column %zu '%.60s': %s '" ASC_VIEW_FMT "'",
                        r->line, column + 1, r->names[column], what, ASC_VIEW_ARG(shown));
    return ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "line %zu, column %zu: %s '" ASC_VIEW_FMT "'", r->line,
                    column + 1, what, ASC_VIEW_ARG(shown));
}

/* At a line break (LF, CRLF or CR): goes behind it. */
static void end_line(table_reader *r) {
    if (r->p < r->end && *r->p == '\r') r->p++;
    if (r->p < r->end && *r->p == '\n') r->p++;
    r->line++;
}

static bool at_line_end(const table_reader *r) { return r->p == r->end || *r->p == '\n' || *r->p == '\r'; }

static asc_status read_quoted(table_reader *r, size_t column) {
    size_t start = r->line;
    r->p++;
    for (;; r->p++) {
        if (r->p == r->end) {
            ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "line %zu, column %zu: a quote that nothing closes", start,
                     column + 1);
            return asc_hint(r->ctx, "inside quotes, a quote is written twice");
        }
        if (*r->p == '"') {
            if (r->p + 1 == r->end || r->p[1] != '"') break;
            r->p++;
        }
        if (*r->p == '\n') r->line++;
        asc_strbuf_addc(&r->field, *r->p);
    }
    r->p++;
    if (at_line_end(r) || *r->p == ',') return ASC_OK;
    bad(r, column, "text behind a closing quote:",
        asc_view_make(r->p, (size_t)(r->end - r->p) < 10 ? (size_t)(r->end - r->p) : 10));
    return asc_hint(r->ctx, "quotes enclose a whole field; inside them a quote is written twice");
}

static asc_status read_field(table_reader *r, size_t column) {
    asc_strbuf_clear(&r->field);
    if (r->p < r->end && *r->p == '"') {
        asc_status st = read_quoted(r, column);
        if (st != ASC_OK) return st;
    } else {
        const char *from = r->p;
        while (!at_line_end(r) && *r->p != ',' && *r->p != '"') r->p++;
        if (!at_line_end(r) && *r->p == '"') {
            bad(r, column, "a quote in the middle of", asc_view_make(from, (size_t)(r->p - from)));
            return asc_hint(r->ctx, "quotes enclose a whole field");
        }
        asc_strbuf_add(&r->field, from, (size_t)(r->p - from));
    }
    asc_status st = asc_strbuf_status(&r->field);
    if (st != ASC_OK)
        return asc_hint(r->ctx, "a field has at most %d bytes; is a quote left open?", ASC_CSV_MAX_FIELD);
    if (memchr(r->field.len > 0 ? r->field.ptr : "", '\0', r->field.len) != NULL) {
        bad(r, column, "a NUL byte in", asc_view_of(r->field.ptr));
        return asc_hint(r->ctx, "store the table as UTF-8 text");
    }
    r->row_ended = at_line_end(r);
    if (r->row_ended)
        end_line(r);
    else
        r->p++;
    return ASC_OK;
}

static asc_view field_view(const table_reader *r) {
    asc_view v = asc_strbuf_view(&r->field);
    while (v.len > 0 && (*v.ptr == ' ' || *v.ptr == '\t')) v.ptr++, v.len--;
    while (v.len > 0 && (v.ptr[v.len - 1] == ' ' || v.ptr[v.len - 1] == '\t')) v.len--;
    return v;
}

/* Digits, one point, an exponent; no "nan", "inf", hexadecimal. */
static bool looks_like_number(asc_view v) {
    size_t i = 0, digits = 0;
    if (i < v.len && (v.ptr[i] == '+' || v.ptr[i] == '-')) i++;
    for (; i < v.len && v.ptr[i] >= '0' && v.ptr[i] <= '9'; i++) digits++;
    if (i < v.len && v.ptr[i] == '.') i++;
    for (; i < v.len && v.ptr[i] >= '0' && v.ptr[i] <= '9'; i++) digits++;
    if (digits == 0) return false;
    if (i == v.len) return true;
    if (v.ptr[i] != 'e' && v.ptr[i] != 'E') return false;
    i++;
    if (i < v.len && (v.ptr[i] == '+' || v.ptr[i] == '-')) i++;
    size_t from = i;
    while (i < v.len && v.ptr[i] >= '0' && v.ptr[i] <= '9') i++;
    return i == v.len && i > from;
}

static asc_status read_number(table_reader *r, size_t column, double *out) {
    asc_view v = field_view(r);
    size_t line = r->line;
    r->line -= r->row_ended; /* of the field, not of what comes behind it */
    asc_status st = ASC_OK;
    if (v.len == 0) {
        bad(r, column, "a missing value", v);
        st = asc_hint(r->ctx, "fill it in, or leave the column or the row out; no value is made up here");
    } else if (!looks_like_number(v)) {
        bad(r, column, "not a number:", v);
        st = asc_hint(
            r->ctx, "numbers are written like -1.5e-3; name the columns you want to leave text columns out");
    } else {
        *out = asc_strtod(v.ptr, NULL); /* ends at the blank or NUL behind the number */
        if (!isfinite(*out)) st = bad(r, column, "too large a number:", v);
    }
    r->line = line;
    return st;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static asc_status check_twice(table_reader *r) {
    const char **sorted = asc_calloc(r->ctx, ASC_MEM_SCRATCH, r->n, sizeof *sorted);
    asc_status st = ASC_OK;
    if (sorted == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r->n; i++) sorted[i] = r->names[i];
    qsort(sorted, r->n, sizeof *sorted, by_text);
    for (size_t i = 1; i < r->n && st == ASC_OK; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "two columns are called '%.60s'", sorted[i]);
            st = asc_hint(r->ctx, "give every column a name of its own");
        }
    asc_free(r->ctx, sorted);
    return st;
}

static asc_status add_name(table_reader *r) {
    asc_view v = field_view(r);
    char numbered[32];
    if (v.len == 0) { /* a table's unnamed index column */
        snprintf(numbered, sizeof numbered, "column %zu", r->n + 1);
        v = asc_view_of(numbered);
    }
    if (r->n >= ASC_CSV_MAX_COLUMNS)
        return ASC_FAIL(r->ctx, ASC_RESOURCE_EXHAUSTED, "more than %d columns", ASC_CSV_MAX_COLUMNS);
    asc_status st =
        asc_grow(r->ctx, ASC_MEM_GENERAL, (void **)&r->names, &r->cap, r->n + 1, sizeof *r->names);
    if (st != ASC_OK) return st;
    char *name = asc_strdup_view(r->ctx, ASC_MEM_GENERAL, v);
    if (name == NULL) return ASC_RESOURCE_EXHAUSTED;
    r->names[r->n++] = name;
    return ASC_OK;
}

static asc_status read_header(table_reader *r) {
    bool all_numbers = true;
    if (r->end - r->p >= 3 && memcmp(r->p, "\xef\xbb\xbf", 3) == 0) r->p += 3;
    while (r->p < r->end && at_line_end(r)) end_line(r);
    if (r->p == r->end) {
        ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "an empty table");
        return asc_hint(r->ctx, "the first line names the columns, the others hold numbers");
    }
    do {
        asc_status st = read_field(r, r->n);
        if (st != ASC_OK) return st;
        all_numbers = all_numbers && looks_like_number(field_view(r));
        st = add_name(r);
        if (st != ASC_OK) return st;
    } while (!r->row_ended);
    if (all_numbers) {
        ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "the first line holds numbers only, not names of columns");
        return asc_hint(r->ctx, "put a line with the columns' names on top");
    }
    if (r->n == 1 && strpbrk(r->names[0], ";\t|") != NULL) {
        ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "the columns are not separated by commas: '%.60s'",
                 r->names[0]);
        return asc_hint(r->ctx, "store the table with commas between the fields");
    }
    return check_twice(r);
}

static asc_status choose(table_reader *r, const char *const *columns, size_t n) {
    r->n_wanted = n > 0 ? n : r->n;
    r->place = asc_calloc(r->ctx, ASC_MEM_GENERAL, r->n, sizeof *r->place);
    if (r->place == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r->n; i++) r->place[i] = n > 0 ? NOT_WANTED : (int32_t)i;
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (i < r->n && strcmp(r->names[i], columns[k]) != 0) i++;
        if (i == r->n) {
            ASC_FAIL(r->ctx, ASC_NOT_FOUND, "there is no column '%.60s'", columns[k]);
            return asc_hint(r->ctx, "the table has %zu columns: '%.40s'%s%.40s%s", r->n, r->names[0],
                            r->n > 1 ? ", '" : "", r->n > 1 ? r->names[1] : "",
                            r->n > 2   ? "', ..."
                            : r->n > 1 ? "'"
                                       : "");
        }
        if (r->place[i] != NOT_WANTED)
            return ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "the column '%.60s' is asked for twice",
                            columns[k]);
        r->place[i] = (int32_t)k;
    }
    return ASC_OK;
}

static asc_status wrong_count(table_reader *r, size_t line, size_t n, bool more) {
    ASC_FAIL(r->ctx, ASC_INVALID_ARGUMENT, "line %zu has %s%zu fields, the header has %zu", line,
             more ? "at least " : "", n, r->n);
    return asc_hint(r->ctx, "give every row one field per column; a comma inside a field needs quotes");
}

static asc_status read_row(table_reader *r) {
    size_t need, first = r->line;
    if (!asc_mul_size(r->rows + 1, r->n_wanted, &need)) return ASC_RESOURCE_EXHAUSTED;
    asc_status st =
        asc_grow(r->ctx, ASC_MEM_GENERAL, (void **)&r->values, &r->values_cap, need, sizeof *r->values);
    if (st != ASC_OK) return st;
    double *row = r->values + r->rows * r->n_wanted;
    for (size_t c = 0; c < r->n; c++) {
        st = read_field(r, c);
        if (st == ASC_OK && r->place[c] != NOT_WANTED) st = read_number(r, c, &row[r->place[c]]);
        if (st != ASC_OK) return st;
        if (r->row_ended && c + 1 < r->n) return wrong_count(r, first, c + 1, false);
    }
    if (!r->row_ended) return wrong_count(r, first, r->n + 1, true);
    r->rows++;
    return r->rows % 4096 == 0 ? asc_poll_cancel(r->ctx) : ASC_OK;
}

/* Hands names and values over. */
static asc_status finish(table_reader *r, asc_table *out) {
    out->names = asc_calloc(r->ctx, ASC_MEM_GENERAL, r->n_wanted, sizeof *out->names);
    if (out->names == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < r->n; i++) {
        if (r->place[i] == NOT_WANTED) continue;
        out->names[r->place[i]] = r->names[i];
        r->names[i] = NULL;
    }
    out->n_columns = r->n_wanted;
    out->values = (asc_array){
        .elem = ASC_ELEM_F64, .shape = ASC_SHAPE((int64_t)r->rows, (int64_t)r->n_wanted), .data = r->values};
    r->values = NULL;
    return ASC_OK;
}

asc_status asc_csv_parse(asc_ctx *ctx, asc_view text, const char *const *columns, size_t n, asc_table *out) {
    table_reader r = {.ctx = ctx, .p = text.ptr, .end = text.ptr + text.len, .line = 1};
    asc_status st = ASC_OK;
    *out = (asc_table){0};
    asc_strbuf_init(&r.field, ctx);
    r.field.limit = ASC_CSV_MAX_FIELD;
    if (text.len == 0) r.p = r.end = "";
    ASC_TRY(read_header(&r));
    ASC_TRY(choose(&r, columns, n));
    while (r.p < r.end) {
        if (at_line_end(&r))
            end_line(&r);
        else
            ASC_TRY(read_row(&r));
    }
    if (r.rows == 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a table with a header and no rows");
        st = asc_hint(ctx, "add at least one row of numbers");
        goto done;
    }
    ASC_TRY(finish(&r, out));
done:
    for (size_t i = 0; i < r.n; i++) asc_free(ctx, r.names[i]);
    asc_free(ctx, r.names);
    asc_free(ctx, r.place);
    asc_free(ctx, r.values);
    asc_strbuf_deinit(&r.field);
    return st;
}

asc_status asc_csv_read(asc_ctx *ctx, const char *path, const char *const *columns, size_t n,
                        asc_table *out) {
    char *data = NULL;
    size_t len = 0;
    *out = (asc_table){0};
    asc_status st = asc_file_read(ctx, path, ASC_CSV_MAX_BYTES, &data, &len);
    if (st != ASC_OK) return st;
    st = asc_csv_parse(ctx, asc_view_make(data, len), columns, n, out);
    asc_free(ctx, data);
    return st == ASC_OK ? st : asc_fail_context(ctx, "%s", path);
}

void asc_table_free(asc_ctx *ctx, asc_table *t) {
    for (size_t i = 0; i < t->n_columns; i++) asc_free(ctx, t->names[i]);
    asc_free(ctx, t->names);
    asc_array_free(ctx, &t->values);
    *t = (asc_table){0};
}
