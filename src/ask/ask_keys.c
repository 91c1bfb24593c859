/* ask_keys.c - the table of keys, and finding one in it. */
#include "ask_parts.h"
#include "nearest.h"
#include <stdio.h>

enum { PROMPTS = ASC_KEY_PROMPTS, ENCODERS = ASC_KEY_ENCODERS, NETS = ASC_KEY_NETS };

static const asc_question_key keys[] = {
#define KEY(id, name, type, subjects, choices, option, doc)                                                  \
    {name, ASC_KEY_##type, subjects, choices, option, doc},
#include "question_keys.def"
#undef KEY
};

const asc_question_key *asc_question_key_at(size_t i) { return i < ASC_N_KEYS ? &keys[i] : NULL; }

const char *asc_key_type_name(asc_key_type t) {
    static const char *const names[] = {
        "text",   "choice",   "count",  "number",       "bytes",  "true or false", "ids",
        "texts",  "messages", "values", "passages",     "sizes",  "index",         "array",
        "arrays", "picture",  "rules",  "whole number", "tokens", "base64",        "json"};
    return (size_t)t < sizeof names / sizeof *names ? names[t] : "unknown";
}

const char *asc_ask_name(asc_key_id id) { return keys[id].name; }

unsigned asc_ask_kind_bit(asc_subject_kind kind) {
    return kind == ASC_SUBJECT_NET ? NETS : kind == ASC_SUBJECT_ENCODER ? ENCODERS : PROMPTS;
}

static const char *kinds_of(unsigned subjects) {
    switch (subjects) {
    case PROMPTS:
        return "language models";
    case ENCODERS:
        return "text encoders";
    case PROMPTS | ENCODERS:
        return "language models and text encoders";
    case NETS:
        return "nets";
    default:
        return "other models";
    }
}

static const char *this_is(asc_subject_kind kind) {
    return kind == ASC_SUBJECT_NET       ? "a net"
           : kind == ASC_SUBJECT_ENCODER ? "a text encoder"
                                         : "a language model";
}

int asc_ask_key_find(asc_ctx *ctx, asc_view name, asc_subject_kind kind) {
    const char *known[ASC_N_KEYS], *near;
    unsigned bit = asc_ask_kind_bit(kind), others = 0;
    asc_view cut = asc_view_cut(name, 60);
    for (int i = 0; i < ASC_N_KEYS; i++) {
        bool same = asc_view_eqs(name, keys[i].name);
        if (same && (keys[i].subjects & bit) != 0) return i;
        if (same) others |= keys[i].subjects;
        known[i] = (keys[i].subjects & bit) != 0 ? keys[i].name : NULL;
    }
    if (others != 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "\"" ASC_VIEW_FMT "\" is for %s; this model is %s",
                 ASC_VIEW_ARG(cut), kinds_of(others), this_is(kind));
        asc_hint(ctx, "leave it out; docs/formats/question.md says which models know which keys");
        return -1;
    }
    ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "a question has no key \"" ASC_VIEW_FMT "\"", ASC_VIEW_ARG(cut));
    if ((near = asc_nearest_meant(known, ASC_N_KEYS, name)) != NULL)
        asc_hint(ctx, "did you mean \"%s\"? docs/formats/question.md lists the keys", near);
    else
        asc_hint(ctx, "docs/formats/question.md has all keys");
    return -1;
}

/* The key of an option that text begins with, and how long the option's name is; NULL: none. */
static const char *key_of(const char *text, size_t *len) {
    *len = strspn(text, "abcdefghijklmnopqrstuvwxyz-0123456789");
    for (int i = 0; i < ASC_N_KEYS; i++)
        if (*len > 0 && strlen(keys[i].option) == *len && memcmp(keys[i].option, text, *len) == 0)
            return keys[i].name;
    return NULL;
}

static void rewrite(char *text, size_t size) {
    char out[1024];
    size_t n = 0, len;
    for (const char *p = text; *p != '\0' && n + 1 < size && n + 1 < sizeof out;) {
        const char *key = p[0] == '-' && p[1] == '-' ? key_of(p + 2, &len) : NULL;
        if (key != NULL && n + strlen(key) + 3 < size && n + strlen(key) + 3 < sizeof out) {
            n += (size_t)snprintf(out + n, sizeof out - n, "\"%s\"", key);
            p += 2 + len;
        } else {
            out[n++] = *p++;
        }
    }
    out[n] = '\0';
    memcpy(text, out, n + 1);
}

void asc_ask_say_keys(asc_ctx *ctx) {
    rewrite(ctx->error.message, sizeof ctx->error.message);
    rewrite(ctx->error.hint, sizeof ctx->error.hint);
}
