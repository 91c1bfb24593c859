/* unigram.c - see unigram.h. Scores are added as doubles from the left, as the program that writes these
 * files does, so that near ties fall the same way. */
#include "unigram.h"
#include <math.h>

asc_status asc_unigram_init(asc_ctx *ctx, asc_unigram *u, const asc_unigram_spec *spec) {
    asc_status st = ASC_OK;
    double least = INFINITY;
    size_t bytes = 0;
    *u = (asc_unigram){.unk = spec->unk, .has_bytes = spec->byte_id != NULL};
    if (u->has_bytes) memcpy(u->byte_id, spec->byte_id, sizeof u->byte_id);
    if (!asc_mul_size(spec->n_tokens, sizeof *u->scores, &bytes)) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(asc_byte_trie_init(ctx, &u->trie));
    u->scores = asc_alloc(ctx, ASC_MEM_TOKENIZER, bytes);
    if (u->scores == NULL) ASC_TRY(ASC_RESOURCE_EXHAUSTED);
    for (size_t i = 0; i < spec->n_tokens; i++) {
        u->scores[i] = 0.0;
        if (spec->usable != NULL && !spec->usable(spec->self, i)) continue;
        double score = spec->score(spec->self, i);
        if (isnan(score)) ASC_TRY(ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "score %zu is not a number", i));
        u->scores[i] = score;
        if (score < least) least = score;
        asc_view t = spec->token(spec->self, i);
        if (t.len > 0) ASC_TRY(asc_byte_trie_put(ctx, &u->trie, t, (int32_t)i));
    }
    u->unk_score = least - 10.0;
done:
    return st;
}

void asc_unigram_deinit(asc_ctx *ctx, asc_unigram *u) {
    asc_byte_trie_deinit(ctx, &u->trie);
    asc_free(ctx, u->scores);
}

void asc_unigram_scratch_deinit(asc_ctx *ctx, asc_unigram_scratch *s) {
    asc_free(ctx, s->best);
    *s = (asc_unigram_scratch){0};
}

/* Stands for a character that has only tokens which are not allowed, where there is no unknown token. */
enum { LEFT_OUT = INT32_MAX };

static void offer(asc_unigram_node *to, double score, size_t from, int32_t id) {
    if (to->id < 0 || score > to->score) *to = (asc_unigram_node){score, (uint32_t)from, 0, id};
}

static asc_status no_unk(asc_ctx *ctx) {
    return ASC_FAIL(ctx, ASC_FAILED_PRECONDITION,
                    "Unigram: a character is in no piece, and the vocabulary has no unknown token");
}

/* Fills best[0 .. word.len]. */
static asc_status forward(asc_ctx *ctx, const asc_unigram *u, asc_view word, const bool *banned,
                          asc_unigram_node *best) {
    for (size_t i = 0; i <= word.len; i++) best[i] = (asc_unigram_node){0.0, 0, 0, -1};
    for (size_t pos = 0, steps = 0; pos < word.len; steps++) {
        if ((steps & ASC_TOK_POLL_MASK) == 0 && asc_poll_cancel(ctx) != ASC_OK) return ASC_CANCELLED;
        uint32_t cp, node = ASC_TRIE_ROOT;
        size_t n = asc_utf8_decode(word.ptr + pos, word.len - pos, &cp, NULL);
        double here = best[pos].score;
        bool single = false; /* some piece is exactly this character */
        for (size_t i = pos; i < word.len;) {
            node = asc_byte_trie_step(&u->trie, node, (unsigned char)word.ptr[i++]);
            if (node == 0) break;
            int32_t id = u->trie.value[node];
            if (id < 0 || (banned != NULL && banned[id])) continue;
            offer(&best[i], u->scores[id] + here, pos, id);
            single |= i == pos + n;
        }
        if (!single) {
            asc_unigram_node *to = &best[pos + n];
            if (to->id < 0 || u->unk_score + here > to->score) {
                if (u->unk < 0 && banned == NULL) return no_unk(ctx);
                offer(to, u->unk_score + here, pos, u->unk < 0 ? LEFT_OUT : u->unk);
            }
        }
        pos += n;
    }
    return ASC_OK;
}

/* The token of a piece of the best path, or those of its bytes. */
static asc_status add_piece(asc_ctx *ctx, const asc_unigram *u, asc_view word, size_t start, size_t end,
                            const bool *banned, asc_word_tokens *out) {
    asc_status st = ASC_OK;
    int32_t id = asc_byte_trie_find(&u->trie, (asc_view){word.ptr + start, end - start});
    if (id >= 0 && (banned == NULL || !banned[id])) return asc_word_tokens_add(out, id, start, end, start);
    bool all = u->has_bytes;
    for (size_t i = start; i < end && all; i++) all = u->byte_id[(unsigned char)word.ptr[i]] >= 0;
    if (!all) return u->unk < 0 ? no_unk(ctx) : asc_word_tokens_add(out, u->unk, start, end, start);
    for (size_t i = start; i < end; i++)
        ASC_TRY(asc_word_tokens_add(out, u->byte_id[(unsigned char)word.ptr[i]], start, end, i));
done:
    return st;
}

asc_status asc_unigram_encode(asc_ctx *ctx, const asc_unigram *u, asc_view word, const bool *banned,
                              asc_unigram_scratch *s, asc_word_tokens *out) {
    asc_status st = ASC_OK;
    if (word.len == 0) return ASC_OK;
    ASC_TRY(asc_grow(ctx, ASC_MEM_TOKENIZER, (void **)&s->best, &s->cap, word.len + 1, sizeof *s->best));
    ASC_TRY(forward(ctx, u, word, banned, s->best));
    asc_unigram_node *best = s->best;
    for (size_t end = word.len; end > 0; end = best[end].from) best[best[end].from].to = (uint32_t)end;
    for (size_t pos = 0, end; pos < word.len; pos = end) {
        end = best[pos].to;
        while (best[end].id == u->unk && end < word.len && best[best[end].to].id == u->unk)
            end = best[end].to;
        if (best[end].id != LEFT_OUT) ASC_TRY(add_piece(ctx, u, word, pos, end, banned, out));
    }
done:
    return st;
}
