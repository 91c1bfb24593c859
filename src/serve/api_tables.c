/* api_tables.c - the fields of each body. A table is read three times: by the reader (api_body.c), by
 * /openapi.json (api_schema.c) and by people; so they cannot differ. */
#include "api.h"

#define FIELD(name, type, least, most, choices, required, doc)                                               \
    {name, API_##type, least, most, choices, required, doc},

static const api_field chat[] = {
#include "api_chat.def"
};
static const api_field completion[] = {
#include "api_completion.def"
};
static const api_field embeddings[] = {
#include "api_embeddings.def"
};
static const api_field tokenize[] = {
#include "api_tokenize.def"
};
static const api_field explain[] = {
#include "api_explain.def"
};

#define TABLE(name, path, fields, question)                                                                  \
    { name, "POST", path, fields, sizeof(fields) / sizeof *(fields), question }

const api_table api_tables[API_N_BODIES] = {
    [API_CHAT] = TABLE("ChatRequest", "/v1/chat/completions", chat, false),
    [API_COMPLETION] = TABLE("CompletionRequest", "/v1/completions", completion, false),
    [API_EMBEDDINGS] = TABLE("EmbeddingsRequest", "/v1/embeddings", embeddings, false),
    [API_TOKENIZE] = TABLE("TokenizeRequest", "/v1/tokenize", tokenize, false),
    [API_EXPLAIN] = TABLE("ExplainRequest", "/v1/explain", explain, true),
};
