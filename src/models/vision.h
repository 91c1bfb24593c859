/* vision.h - image classifiers from Hugging Face folders (ViT, DeiT) as nets, so that every method on nets
 * works on them. Sites have the names of the model's modules:
 * "vit.encoder.layer.0.attention.attention.query". */
#ifndef ASC_VISION_H
#define ASC_VISION_H

#include "ascribe/image.h"
#include "hf_folder.h"
#include "layers.h"
#include "net.h"

/* What the forward pass needs. */
typedef struct asc_vision_config {
    const char *base; /* "vit" or "deit": what tensors' names begin with */
    int64_t n_layers, d_model, n_heads, d_ff, n_classes;
    int64_t height, width, patch_height, patch_width, n_channels;
    double eps;
    asc_mlp_act act;
    bool distilled; /* a second token, whose own classifier's scores are averaged with the first's (DeiT) */
    bool qkv_bias;
    bool has_second_token;
} asc_vision_config;

/* Reads config.json. INVALID_ARGUMENT or UNIMPLEMENTED names the key. */
ASC_MUST_USE asc_status asc_vision_configure(asc_ctx *ctx, const asc_hf_folder *f, asc_vision_config *out);
/* Records one run of x [B,C,H,W] -> scores [B,classes]. */
void asc_vision_forward(asc_frame *f, const asc_vision_config *c, asc_tensor *const *in, asc_tensor **out);
/* preprocessor_config.json: how a picture becomes the input; false in *found when there is none. mean and
 * deviation are put into room [6], which the result borrows. */
ASC_MUST_USE asc_status asc_vision_read_prep(asc_ctx *ctx, const asc_hf_folder *f, const asc_vision_config *c,
                                             double room[6], asc_image_prep *out, bool *found);

#endif
