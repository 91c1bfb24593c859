/* api_model.c - what the served model is called: its file's or folder's name without its ending, in the
 * characters that a path of this server may have. */
#include "api.h"
#include <stdio.h>
#include <string.h>

static const char *const endings[] = {".gguf", ".onnx", ".safetensors"};

void api_model_id(const server *s, char out[API_ID_BYTES]) {
    const char *path = server_options(s)->model_path;
    size_t end = strlen(path), n = 0;
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t k = strlen(endings[i]);
        if (end - start > k && strncmp(path + end - k, endings[i], k) == 0) {
            end -= k;
            break;
        }
    }
    for (size_t i = start; i < end && n + 1 < API_ID_BYTES; i++) {
        const char c = path[i];
        const bool upper = c >= 'A' && c <= 'Z', plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!upper && !plain && (n == 0 || out[n - 1] == '-')) continue;
        out[n++] = upper ? (char)(c - 'A' + 'a') : plain ? c : '-';
    }
    while (n > 0 && out[n - 1] == '-') n--;
    out[n] = '\0';
    if (n == 0) snprintf(out, API_ID_BYTES, "model");
}

bool api_check_model(const server *s, const api_body *b, serve_fault *fault) {
    char id[API_ID_BYTES], message[200], hint[120];
    const asc_view given = api_text(b, "model");
    api_model_id(s, id);
    if (given.ptr == NULL || (given.len == strlen(id) && memcmp(given.ptr, id, given.len) == 0)) return true;
    snprintf(message, sizeof message, "there is no model \"%.60s\" here", given.ptr);
    snprintf(hint, sizeof hint, "leave \"model\" out or write \"%s\"", id);
    serve_fault_set(fault, 404, "model_not_found", "model", message, hint);
    return false;
}

bool api_need_decoder(const serve_bench *b, serve_fault *fault) {
    const asc_subject_kind kind = asc_subject_get_kind(b->subject);
    if (kind == ASC_SUBJECT_DECODER) return true;
    return api_bad(fault, "model_cannot_generate", "model",
                   kind == ASC_SUBJECT_ENCODER ? "POST /v1/embeddings and /v1/explain work with it"
                                               : "POST /v1/explain works with it",
                   "this model is %s; it continues no text",
                   kind == ASC_SUBJECT_ENCODER ? "a text encoder" : "a net");
}

bool api_need_encoder(const serve_bench *b, serve_fault *fault) {
    if (asc_subject_get_kind(b->subject) == ASC_SUBJECT_ENCODER) return true;
    return api_bad(
        fault, "model_has_no_embeddings", "model", "serve a text encoder's folder, such as all-MiniLM-L6-v2",
        "this model is %s; it has no embeddings of texts",
        asc_subject_get_kind(b->subject) == ASC_SUBJECT_DECODER ? "a language model that continues texts"
                                                                : "a net");
}

bool api_need_tokens(const serve_bench *b, serve_fault *fault) {
    asc_model *m = asc_subject_model(b->subject);
    if (m == NULL || asc_model_tokenizer(m) == NULL)
        return api_bad(fault, "model_has_no_tokens", "model", "serve a language model or a text encoder",
                       "this model has no tokenizer");
    return true;
}
