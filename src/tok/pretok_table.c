/* pretok_table.c - the names of tokenizer.ggml.pre, as llama.cpp writes them, and what they cut by: the
 * patterns are those of the models' own tokenizer files. (?i:...) also folds U+017F to s, as there. */
#include "pretok.h"
#include "view.h"

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LINES "\\s*[\\r\\n]+|"
#define SPACES "\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES
/* One foreign character may lead a word. */
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"
#define OTHERS " ?[^\\s\\p{L}\\p{N}]+"
/* Words with capitals first: AbCd is Ab and Cd. */
#define HIGH "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOW "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(tail) LEAD HIGH "*" LOW "+" tail "|" LEAD HIGH "+" LOW "*" tail "|"
#define GPT4O CASED(CONTRACTION "?") "\\p{N}{1,3}|" OTHERS "[\\r\\n/]*|" LINES SPACES
#define QWEN2 LEAD "\\p{L}+|\\p{N}|" OTHERS "[\\r\\n]*|" LINES SPACES
/* The same for all but Han, which stand by themselves. */
#define HIGH_NOT_HAN "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
#define LOW_NOT_HAN "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
#define KIMI                                                                                                 \
    "\\p{Han}+|" LEAD HIGH_NOT_HAN "*" LOW_NOT_HAN "+" CONTRACTION "?|" LEAD HIGH_NOT_HAN "+" LOW_NOT_HAN    \
    "*" CONTRACTION "?|\\p{N}{1,3}|" OTHERS "[\\r\\n]*|" LINES SPACES
/* DeepSeek's first models: letters with case, of the blocks that their file lists. */
#define DEEPSEEK_CASED                                                                                       \
    "[\\p{Lu}\\p{Ll}\\p{Lt}&&[^\\x{0560}-\\x{0588}\\x{10C7}\\x{10CD}\\x{10D0}-\\x{10FF}\\x{1C80}-\\x{1C8A}"  \
    "\\x{2D00}-\\x{2D2D}\\x{A790}-\\x{A7FA}\\x{AB30}-\\x{AB68}\\x{10570}-\\x{105BC}\\x{10D50}-\\x{10D85}"    \
    "\\x{16E40}-\\x{16E7F}\\x{1D400}-\\x{1D7CB}\\x{1DF00}-\\x{1DF2A}]]"
#define DEEPSEEK_CJK "[\\x{0800}-\\x{9FA5}\\x{AC00}-\\x{D7FF}]+"
#define KANA_HAN "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{30FF}]+"
#define DEEPSEEK3_WORDS                                                                                      \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
#define DEEPSEEK3 DEEPSEEK3_WORDS " ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINES SPACES
#define SPARK DEEPSEEK3_WORDS " ?[\\p{P}\\p{S}]+|[\\r\\n]|" SPACES
#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{0964}\\x{06D4}\\x{060C})]+"

static const asc_pretok table[] = {
    {"smollm", asc_scan_smollm, {0}, false, false},
    {"gpt-2", asc_scan_gpt2, {0}, false, false},
    {"llama-bpe", asc_scan_llama3, {0}, true, true},
    {"llama3", asc_scan_llama3, {0}, true, true},
    {"llama-v3", asc_scan_llama3, {0}, true, true},
    {"qwen2", asc_scan_qwen2, {0}, false, false},
    {"deepseek-r1-qwen", asc_scan_qwen2, {0}, false, false},
    {"default", asc_scan_gpt2, {0}, false, false},
    /* as smollm */
    {"starcoder", asc_scan_smollm, {0}, false, false},
    {"refact", asc_scan_smollm, {0}, false, false},
    {"command-r", asc_scan_smollm, {0}, false, false},
    {"codeshell", asc_scan_smollm, {0}, false, false},
    {"exaone", asc_scan_smollm, {0}, false, false},
    {"minerva-7b", asc_scan_smollm, {0}, false, false},
    {"mellum2", asc_scan_smollm, {0}, false, false},
    /* as gpt-2 */
    {"mpt", asc_scan_gpt2, {0}, false, false},
    {"olmo", asc_scan_gpt2, {0}, false, false},
    {"phi-2", asc_scan_gpt2, {0}, false, false},
    {"jina-es", asc_scan_gpt2, {0}, false, false},
    {"jina-de", asc_scan_gpt2, {0}, false, false},
    {"jina-v2-es", asc_scan_gpt2, {0}, false, false},
    {"jina-v2-de", asc_scan_gpt2, {0}, false, false},
    {"jina-v1-en", asc_scan_gpt2, {0}, false, false},
    {"jina-v2-code", asc_scan_gpt2, {0}, false, false},
    {"roberta-bpe", asc_scan_gpt2, {0}, false, false},
    {"gigachat", asc_scan_gpt2, {0}, false, false},
    {"a.x-4.0", asc_scan_gpt2, {0}, false, false},
    {"mellum", asc_scan_gpt2, {0}, false, false},
    {"modern-bert", asc_scan_gpt2, {0}, false, false},
    {"exaone4", asc_scan_gpt2, {0}, false, false},
    {"jais", asc_scan_gpt2, {0}, false, false},
    {"trillion", asc_scan_gpt2, {0}, false, false},
    {"granite-docling", asc_scan_gpt2, {0}, false, false},
    /* as llama-bpe */
    {"falcon3", asc_scan_llama3, {0}, true, true},
    {"falcon-h1", asc_scan_llama3, {0}, true, true},
    {"pixtral", asc_scan_llama3, {0}, true, true},
    {"midm-2.0", asc_scan_llama3, {0}, true, true},
    {"lfm2", asc_scan_llama3, {0}, true, true},
    {"jina-v5-nano", asc_scan_llama3, {0}, true, true},
    {"dbrx", asc_scan_llama3, {0}, false, false},
    {"smaug-bpe", asc_scan_llama3, {0}, false, false},
    {"chatglm-bpe", asc_scan_llama3, {0}, false, false},
    {"glm4", asc_scan_llama3, {0}, true, false},
    {"glm5", asc_scan_llama3, {0}, true, false},
    {"minicpm5",
     NULL,
     {"\\p{N}{1,3}", CONTRACTION "|" LEAD "\\p{L}+|\\p{N}+|" OTHERS "[\\r\\n]*|" LINES SPACES},
     true,
     false},
    {"jais-2", asc_scan_jais2, {0}, false, false},
    /* as qwen2 */
    {"stablelm2", asc_scan_qwen2, {0}, false, false},
    {"hunyuan", asc_scan_qwen2, {0}, false, false},
    {"solar-open", asc_scan_qwen2, {0}, false, false},
    {"grok-2", asc_scan_qwen2, {0}, false, false},
    {"kormo", asc_scan_qwen2, {0}, false, false},
    {"f2llmv2", asc_scan_qwen2, {0}, false, false},
    {"megrez", asc_scan_qwen2, {0}, false, false},
    {"ufakzeka", NULL, {QWEN2}, false, false},
    {"laguna", NULL, {"[^\\n]+|\\n+", CONTRACTION "|" QWEN2}, false, false},
    {"qwen35",
     NULL,
     {CONTRACTION "|" LEAD "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES SPACES},
     false,
     false},
    {"seed-coder",
     NULL,
     {CONTRACTION "|" LEAD "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" LINES SPACES},
     false,
     false},
    {"bailingmoe",
     NULL,
     {CONTRACTION "|" LEAD "\\p{L}+|\\p{N}|" OTHERS "[\\r\\n]*|\\s*[\\r\\n]|" SPACES},
     false,
     false},
    {"bailingmoe2",
     NULL,
     {CONTRACTION "|" LEAD "\\p{L}+|\\p{N}|" OTHERS "[\\r\\n]*|\\s*[\\r\\n]|" SPACES},
     false,
     false},
    {"llada-moe",
     NULL,
     {CONTRACTION "|" LEAD "\\p{L}+|\\p{N}|" OTHERS "[\\r\\n]*|\\s*[\\r\\n]|" SPACES},
     false,
     false},
    {"exaone-moe",
     NULL,
     {CONTRACTION "|" LEAD "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|" OTHERS
                  "[\\r\\n/]?|\\s*[\\r\\n]|" SPACES},
     false,
     false},
    /* capitals begin words */
    {"gpt-4o", NULL, {GPT4O}, false, false},
    {"llama4", NULL, {GPT4O}, false, false},
    {"kanana2", NULL, {GPT4O}, false, false},
    {"talkie", NULL, {GPT4O}, false, false},
    {"minimax-m2", NULL, {GPT4O}, false, false},
    {"granite-embed-multi-97m", NULL, {GPT4O}, true, false},
    {"tiny_aya", NULL, {"\\d{1,3}(?=(?:\\d{3})*\\b)", GPT4O}, false, false},
    {"cohere2moe", NULL, {"\\d{1,3}(?=(?:\\d{3})*\\b)", GPT4O}, false, false},
    {"tekken", NULL, {CASED("") "\\p{N}|" OTHERS "[\\r\\n/]*|" LINES SPACES}, true, false},
    {"kimi-k2", NULL, {KIMI}, false, false},
    {"youtu",
     NULL,
     {"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{"
      "2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+"
      "|" KANA_HAN,
      CASED(CONTRACTION "?") "\\p{N}|" OTHERS "[\\r\\n/]*|" LINES SPACES},
     true,
     false},
    /* several cuts */
    {"deepseek-llm",
     NULL,
     {"[\\r\\n]", "\\s?" DEEPSEEK_CASED "+",
      "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+", "\\s+$",
      DEEPSEEK_CJK, "\\p{N}+"},
     false,
     false},
    {"deepseek-coder",
     NULL,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", DEEPSEEK_CJK, "\\p{N}"},
     false,
     false},
    {"deepseek-v3", NULL, {"\\p{N}{1,3}", KANA_HAN, DEEPSEEK3}, false, false},
    {"hunyuan-dense", NULL, {"\\p{N}{1,3}", KANA_HAN, DEEPSEEK3}, false, false},
    {"joyai-llm", NULL, {"\\p{N}{1,3}", KANA_HAN, DEEPSEEK3}, false, false},
    {"hy_v4", NULL, {"\\p{N}{1,3}", KANA_HAN, DEEPSEEK3}, false, false},
    {"spark2_5", NULL, {"\\p{N}{1,3}", KANA_HAN, SPARK, "\\p{N}"}, false, false},
    {"falcon", NULL, {"[\\p{P}$+<=>^~|`]+", GPT2, "[0-9][0-9][0-9]"}, false, false},
    {"bloom", NULL, {BLOOM}, false, false},
    {"poro-chat", NULL, {BLOOM}, false, false},
    {"gpt3-finnish", NULL, {BLOOM}, false, false},
    {"viking", NULL, {BLOOM, "\\p{N}"}, false, false},
    {"superbpe", NULL, {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}, false, false},
    {"chameleon",
     NULL,
     {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", "\\p{N}",
      "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
     false,
     true},
};
const char asc_pretok_names[] = "smollm, gpt-2, llama-bpe, qwen2, default (= gpt-2), starcoder, refact, "
                                "command-r, falcon, mpt, olmo, stablelm2, "
                                "deepseek-llm, deepseek-coder, deepseek-v3, gpt-4o, llama4, tekken, qwen35 "
                                "and others (docs/formats/tokenizers.md)";

const asc_pretok *asc_pretok_find(asc_view name) {
    if (name.ptr == NULL) return asc_pretok_find(asc_view_of("gpt-2"));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (asc_view_eqs(name, table[i].name)) return &table[i];
    }
    return NULL;
}
