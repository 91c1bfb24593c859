/* encoder_names.c - a table: the families of text encoders and the names in their files; see
 * encoder_family.h. The names are those of the models in the transformers library. */
#include "encoder_family.h"

#define BERT_LAYER                                                                                           \
    .layer = "encoder.layer.%lld.", .q = "attention.self.query", .k = "attention.self.key",                  \
    .v = "attention.self.value", .o = "attention.output.dense", .attn_norm = "attention.output.LayerNorm",   \
    .up = "intermediate.dense", .down = "output.dense", .mlp_norm = "output.LayerNorm"
#define BERT_WORDS                                                                                           \
    .word = "embeddings.word_embeddings", .position = "embeddings.position_embeddings",                      \
    .embed_norm = "embeddings.LayerNorm"
#define BERT_ENTRY BERT_WORDS, .type = "embeddings.token_type_embeddings"
#define DENSE_HEAD .head_dense = "classifier.dense", .head = "classifier.out_proj"

#define LM_HEAD                                                                                              \
    .words_dense = "lm_head.dense", .words_norm = "lm_head.layer_norm", .words = "lm_head.decoder",          \
    .words_bias = "lm_head", .span = "qa_outputs"

static const asc_encoder_names bert = {.prefix = "bert.",
                                       BERT_ENTRY,
                                       BERT_LAYER,
                                       .head_dense = "^pooler.dense",
                                       .head = "classifier",
                                       .words_dense = "cls.predictions.transform.dense",
                                       .words_norm = "cls.predictions.transform.LayerNorm",
                                       .words = "cls.predictions.decoder",
                                       .words_bias = "cls.predictions",
                                       .span = "qa_outputs"};
/* jinaai/jina-embeddings-v2: BERT without positions, its MLP gated and in one piece */
static const asc_encoder_names jina = {.prefix = "bert.",
                                       .word = "embeddings.word_embeddings",
                                       .type = "embeddings.token_type_embeddings",
                                       .embed_norm = "embeddings.LayerNorm",
                                       .layer = "encoder.layer.%lld.",
                                       .q = "attention.self.query",
                                       .k = "attention.self.key",
                                       .v = "attention.self.value",
                                       .o = "attention.output.dense",
                                       .attn_norm = "attention.output.LayerNorm",
                                       .up = "mlp.gated_layers",
                                       .down = "mlp.wo",
                                       .mlp_norm = "mlp.layernorm",
                                       .head_dense = "^pooler.dense",
                                       .head = "classifier",
                                       .words_dense = "cls.predictions.transform.dense",
                                       .words_norm = "cls.predictions.transform.LayerNorm",
                                       .words = "cls.predictions.decoder",
                                       .words_bias = "cls.predictions",
                                       .span = "qa_outputs"};
static const asc_encoder_names roberta = {.prefix = "roberta.", BERT_ENTRY, BERT_LAYER, DENSE_HEAD, LM_HEAD};
static const asc_encoder_names electra = {.prefix = "electra.",
                                          .project = "embeddings_project",
                                          BERT_ENTRY,
                                          BERT_LAYER,
                                          DENSE_HEAD,
                                          .words_dense = "generator_predictions.dense",
                                          .words_norm = "generator_predictions.LayerNorm",
                                          .words = "generator_lm_head",
                                          .span = "qa_outputs"};
#define ALBERT "encoder.albert_layer_groups.%lld.albert_layers.%lld."
static const asc_encoder_names albert = {.prefix = "albert.",
                                         BERT_ENTRY,
                                         .project = "encoder.embedding_hidden_mapping_in",
                                         .layer = ALBERT,
                                         .q = "attention.query",
                                         .k = "attention.key",
                                         .v = "attention.value",
                                         .o = "attention.dense",
                                         .attn_norm = "attention.LayerNorm",
                                         .up = "ffn",
                                         .down = "ffn_output",
                                         .mlp_norm = "full_layer_layer_norm",
                                         .head_dense = "^pooler",
                                         .head = "classifier",
                                         .words_dense = "predictions.dense",
                                         .words_norm = "predictions.LayerNorm",
                                         .words = "predictions.decoder",
                                         .words_bias = "predictions",
                                         .span = "qa_outputs"};
static const asc_encoder_names distilbert = {.prefix = "distilbert.",
                                             BERT_WORDS,
                                             .layer = "transformer.layer.%lld.",
                                             .q = "attention.q_lin",
                                             .k = "attention.k_lin",
                                             .v = "attention.v_lin",
                                             .o = "attention.out_lin",
                                             .attn_norm = "sa_layer_norm",
                                             .up = "ffn.lin1",
                                             .down = "ffn.lin2",
                                             .mlp_norm = "output_layer_norm",
                                             .head_dense = "pre_classifier",
                                             .head = "classifier",
                                             .words_dense = "vocab_transform",
                                             .words_norm = "vocab_layer_norm",
                                             .words = "vocab_projector",
                                             .span = "qa_outputs"};
static const asc_encoder_names mpnet = {.prefix = "mpnet.",
                                        BERT_WORDS,
                                        .relative = "encoder.relative_attention_bias",
                                        .layer = "encoder.layer.%lld.",
                                        .q = "attention.attn.q",
                                        .k = "attention.attn.k",
                                        .v = "attention.attn.v",
                                        .o = "attention.attn.o",
                                        .attn_norm = "attention.LayerNorm",
                                        .up = "intermediate.dense",
                                        .down = "output.dense",
                                        .mlp_norm = "output.LayerNorm",
                                        DENSE_HEAD,
                                        LM_HEAD};
static const asc_encoder_names modernbert = {.prefix = "model.",
                                             .word = "embeddings.tok_embeddings",
                                             .embed_norm = "embeddings.norm",
                                             .final_norm = "final_norm",
                                             .layer = "layers.%lld.",
                                             .qkv = "attn.Wqkv",
                                             .o = "attn.Wo",
                                             .attn_norm = "attn_norm",
                                             .up = "mlp.Wi",
                                             .down = "mlp.Wo",
                                             .mlp_norm = "mlp_norm",
                                             .head_dense = "head.dense",
                                             .head_norm = "head.norm",
                                             .head = "classifier",
                                             .token_dense = "head.dense",
                                             .token_norm = "head.norm",
                                             .words_dense = "head.dense",
                                             .words_norm = "head.norm",
                                             .words = "decoder",
                                             .span = "classifier"};

#define DEBERTA                                                                                              \
    .prefix = "deberta.", BERT_ENTRY, .relative = "encoder.rel_embeddings", .layer = "encoder.layer.%lld.",  \
    .o = "attention.output.dense", .attn_norm = "attention.output.LayerNorm", .up = "intermediate.dense",    \
    .down = "output.dense", .mlp_norm = "output.LayerNorm", .head_dense = "pooler.dense",                    \
    .head = "classifier", .words_dense = "cls.predictions.transform.dense",                                  \
    .words_norm = "cls.predictions.transform.LayerNorm", .words = "cls.predictions.decoder",                 \
    .words_bias = "cls.predictions", .later_dense = "lm_predictions.lm_head.dense",                          \
    .later_norm = "lm_predictions.lm_head.LayerNorm", .later_bias = "lm_predictions.lm_head",                \
    .span = "qa_outputs"
static const asc_encoder_names deberta = {DEBERTA,
                                          .relative_norm = "encoder.LayerNorm",
                                          .q = "attention.self.query_proj",
                                          .k = "attention.self.key_proj",
                                          .v = "attention.self.value_proj",
                                          .pos_k = "attention.self.pos_key_proj",
                                          .pos_q = "attention.self.pos_query_proj"};
static const asc_encoder_names deberta_v1 = {DEBERTA,
                                             .qkv = "attention.self.in_proj",
                                             .q_bias = "attention.self.q_bias",
                                             .v_bias = "attention.self.v_bias",
                                             .pos_k = "attention.self.pos_proj",
                                             .pos_q = "attention.self.pos_q_proj"};
static const asc_encoder_names nomic = {.prefix = "nomic_bert.",
                                        .word = "embeddings.word_embeddings",
                                        .type = "embeddings.token_type_embeddings",
                                        .embed_norm = "emb_ln",
                                        .layer = "encoder.layers.%lld.",
                                        .qkv = "attn.Wqkv",
                                        .o = "attn.out_proj",
                                        .attn_norm = "norm1",
                                        .gate = "mlp.fc12",
                                        .up = "mlp.fc11",
                                        .plain_up = "mlp.fc1",
                                        .down = "mlp.fc2",
                                        .router = "mlp.router.layer",
                                        .up_exps = "mlp.experts.mlp.w1",
                                        .down_exps = "mlp.experts.mlp.w2",
                                        .exps_bias = "mlp.experts.bias",
                                        .mlp_norm = "norm2",
                                        .head_dense = "^pooler.dense",
                                        .head = "classifier",
                                        .words_dense = "cls.predictions.transform.dense",
                                        .words_norm = "cls.predictions.transform.layer_norm",
                                        .words = "cls.predictions.decoder",
                                        .words_bias = "cls.predictions"};

#define BERT_KEYS                                                                                            \
    .width = "hidden_size", .layers = "num_hidden_layers", .heads = "num_attention_heads",                   \
    .ff = "intermediate_size", .act = "hidden_act", .eps = "layer_norm_eps", .default_eps = 1e-12

#define DEBERTA_KEYS                                                                                         \
    .width = "hidden_size", .layers = "num_hidden_layers", .heads = "num_attention_heads",                   \
    .ff = "intermediate_size", .act = "hidden_act", .eps = "layer_norm_eps", .default_eps = 1e-7,            \
    .deberta = true, .head_act = ASC_MLP_GELU, .words_act = "hidden_act", .class_act = "pooler_hidden_act"

const asc_encoder_family asc_encoder_families[] = {
    {.model_type = "bert", .names = &bert, BERT_KEYS, .head_act = ASC_MLP_TANH, .words_act = "hidden_act"},
    {.model_type = "bert",
     .names = &jina,
     BERT_KEYS,
     .alibi = true,
     .head_act = ASC_MLP_TANH,
     .words_act = "hidden_act"},
    {.model_type = "roberta", .names = &roberta, BERT_KEYS, .behind_pad = true, .head_act = ASC_MLP_TANH},
    {.model_type = "xlm-roberta", .names = &roberta, BERT_KEYS, .behind_pad = true, .head_act = ASC_MLP_TANH},
    {.model_type = "camembert", .names = &roberta, BERT_KEYS, .behind_pad = true, .head_act = ASC_MLP_TANH},
    {.model_type = "electra", .names = &electra, BERT_KEYS, .head_act = ASC_MLP_GELU},
    {.model_type = "albert",
     .names = &albert,
     BERT_KEYS,
     .default_act = "gelu_new",
     .grouped = true,
     .head_act = ASC_MLP_TANH,
     .words_act = "hidden_act"},
    {.model_type = "distilbert",
     .names = &distilbert,
     .width = "dim",
     .layers = "n_layers",
     .heads = "n_heads",
     .ff = "hidden_dim",
     .act = "activation",
     .default_eps = 1e-12,
     .head_act = ASC_MLP_RELU,
     .words_act = "activation"},
    {.model_type = "mpnet",
     .names = &mpnet,
     BERT_KEYS,
     .behind_pad = true,
     .fixed_pad = true,
     .head_act = ASC_MLP_TANH},
    {.model_type = "deberta", .names = &deberta_v1, DEBERTA_KEYS, .by_head = true},
    {.model_type = "deberta-v2", .names = &deberta, DEBERTA_KEYS},
    /* its own keys, and those of its first files, which are GPT-2's */
    {.model_type = "nomic_bert",
     .names = &nomic,
     BERT_KEYS,
     .default_act = "silu",
     .rotary = true,
     .head_act = ASC_MLP_TANH,
     .words_act = "hidden_act"},
    {.model_type = "nomic_bert",
     .names = &nomic,
     .width = "n_embd",
     .layers = "n_layer",
     .heads = "n_head",
     .ff = "n_inner",
     .positions = "n_positions",
     .eps = "layer_norm_epsilon",
     .default_eps = 1e-12,
     .rotary = true,
     .head_act = ASC_MLP_TANH},
    {.model_type = "modernbert",
     .names = &modernbert,
     .width = "hidden_size",
     .layers = "num_hidden_layers",
     .heads = "num_attention_heads",
     .ff = "intermediate_size",
     .act = "hidden_activation",
     .eps = "norm_eps",
     .default_eps = 1e-5,
     .modern = true,
     .head_act = ASC_MLP_GELU,
     .words_act = "classifier_activation"},
};
const size_t asc_n_encoder_families = sizeof asc_encoder_families / sizeof *asc_encoder_families;
