/* tiny_vocab.h - test side: small vocabularies written in code, of both kinds, for fuzz targets and property
 * tests. */
#ifndef TEST_TINY_VOCAB_H
#define TEST_TINY_VOCAB_H

#include "view.h"
#include "vocab.h"
#include <stdio.h>

typedef struct tiny_vocab {
    struct {
        char text[16];
        size_t len;
        int32_t type;
    } token[320];
    char merge[16][32];
    asc_vocab_spec spec;
} tiny_vocab;

static inline asc_view tiny_token(void *self, size_t i) {
    tiny_vocab *t = self;
    return (asc_view){t->token[i].text, t->token[i].len};
}
static inline int32_t tiny_type(void *self, size_t i) { return ((tiny_vocab *)self)->token[i].type; }
static inline float tiny_score(void *self, size_t i) { return (void)self, -(float)i; }
static inline asc_view tiny_merge(void *self, size_t i) {
    return asc_view_of(((tiny_vocab *)self)->merge[i]);
}

static inline void tiny_add(tiny_vocab *t, const char *text, int32_t type) {
    size_t i = t->spec.n_tokens++;
    t->token[i].len = strlen(text);
    memcpy(t->token[i].text, text, t->token[i].len + 1);
    t->token[i].type = type;
    t->spec.n_types = t->spec.n_tokens;
}

static inline void tiny_common(tiny_vocab *t, const char *model) {
    *t = (tiny_vocab){.spec = asc_vocab_spec_empty()};
    t->spec.self = t;
    t->spec.token = tiny_token;
    t->spec.type = tiny_type;
    t->spec.score = tiny_score;
    t->spec.merge = tiny_merge;
    t->spec.model = asc_view_of(model);
    tiny_add(t, "<unk>", ASC_TOKEN_UNKNOWN);
    tiny_add(t, "<|a|>", ASC_TOKEN_CONTROL);
    tiny_add(t, "<|a|><|b|>", ASC_TOKEN_CONTROL);
    tiny_add(t, "<tool>", ASC_TOKEN_USER_DEFINED);
    t->spec.unk = 0;
    t->spec.bos = t->spec.eos = 1;
}

/* All 256 bytes, but for 04 and FF when `holes`; merges that overlap. */
static inline void tiny_bpe(tiny_vocab *t, const char *pre, bool holes) {
    tiny_common(t, "gpt2");
    t->spec.pre = asc_view_of(pre);
    uint32_t next = 0x100;
    for (uint32_t b = 0; b < 256; b++) {
        bool itself = (b > 0x20 && b < 0x7F) || (b > 0xA0 && b < 0xAD) || b > 0xAD;
        char text[5] = {0};
        text[asc_utf8_encode(itself ? b : next, text)] = '\0';
        if (!itself) next++;
        if (!holes || (b != 0x04 && b != 0xFF)) tiny_add(t, text, ASC_TOKEN_NORMAL);
    }
    static const char *const merges[] = {"a a",
                                         "aa aa",
                                         "a b",
                                         "\xC4\xA0 t",
                                         "h e",
                                         "\xC4\xA0t he",
                                         "\xC4\xA0 \xC4\xA0",
                                         "\xC3\x83 \xC2\xA9",
                                         "1 2",
                                         "\xC4\x8A \xC4\x8A"};
    t->spec.has_merges = true;
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
        char joined[32];
        size_t n = 0;
        for (const char *p = merges[i]; *p != '\0'; p++) {
            if (*p != ' ') joined[n++] = *p;
        }
        joined[n] = '\0';
        tiny_add(t, joined, ASC_TOKEN_NORMAL);
        memcpy(t->merge[i], merges[i], strlen(merges[i]) + 1);
        t->spec.n_merges++;
    }
}

/* Byte tokens when `bytes`, else only the unknown token for what is not listed. */
static inline void tiny_spm(tiny_vocab *t, bool prefix, bool bytes) {
    tiny_common(t, "llama");
    t->spec.add_space_prefix = prefix;
    for (int b = 0; b < 256 && bytes; b++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)b);
        tiny_add(t, text, ASC_TOKEN_BYTE);
    }
    static const char *const words[] = {"\xE2\x96\x81t",
                                        "he",
                                        "\xE2\x96\x81the",
                                        "aa",
                                        "aaaa",
                                        "ab",
                                        "\xE2\x96\x81\xE2\x96\x81",
                                        "\xE2\x96\x81",
                                        "t",
                                        "h",
                                        "e",
                                        "a",
                                        "b",
                                        "\xC3\xA9",
                                        "\n\n"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) tiny_add(t, words[i], ASC_TOKEN_NORMAL);
    t->spec.n_scores = t->spec.n_tokens;
}

#endif
