/* ask_scene.h - three small nets in C to ask questions about, and arrays to hand over: numbers and ids [B,3],
 * [B,2] -> [B,3]; bytes [B,2048] -> [B,3]; pictures [B,3,8,8] -> [B,4]. */
#ifndef ASC_TEST_ASK_SCENE_H
#define ASC_TEST_ASK_SCENE_H

#include "ask_parts.h"
#include "ops.h"
#include <stdio.h>

static const float scene_x[6] = {0.5f, -1, 2, 0.25f, 1.5f, -0.75f},
                   scene_table[15] = {0.1f,  -0.2f,  0.3f,  1, 0.5f, -1,    0.25f, 2,
                                      -0.5f, -1.25f, 0.75f, 0, 0.6f, -0.9f, 1.1f};
static const int32_t scene_ids[4] = {1, 4, 0, 3};

/* tanh(x + the rows of a table, summed) times a matrix: [B,3] and ids [B,2] -> [B,3] */
static inline void scene_two_inputs(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    static const float m[9] = {1, 2, -1, 0.5f, -0.25f, 3, 0, 1, -2};
    asc_ctx *ctx = asc_frame_ctx(f);
    int axis[] = {1};
    (void)self;
    asc_tensor *looked = asc_gather(ctx, asc_from_f32(ctx, ASC_SHAPE(5, 3), scene_table), in[1]);
    looked = asc_sum(ctx, asc_site(f, "looked", looked), 1, axis, false);
    asc_tensor *h = asc_site(f, "hidden", asc_tanh(ctx, asc_add(ctx, in[0], looked)));
    out[0] = asc_matmul(ctx, h, asc_from_f32(ctx, ASC_SHAPE(3, 3), m), false, true);
}

/* Bytes [B,2048] (256 = none): the mean of the looked-up rows -> [B,3]. */
static inline void scene_bytes(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float rows[257 * 3];
    int axis[] = {1};
    (void)self;
    for (int i = 0; i < 257 * 3; i++) rows[i] = scene_table[i % 15] * (float)(i % 7 - 3);
    asc_tensor *looked = asc_gather(ctx, asc_from_f32(ctx, ASC_SHAPE(257, 3), rows), in[0]);
    looked = asc_tanh(ctx, asc_site(f, "looked", looked));
    out[0] = asc_sum(ctx, looked, 1, axis, false);
}

/* A picture [B,3,8,8]: a map of its own size, and four sums over it -> [B,4]. */
static inline void scene_picture(asc_frame *f, void *self, asc_tensor *const *in, asc_tensor **out) {
    asc_ctx *ctx = asc_frame_ctx(f);
    float m[4 * 192];
    (void)self;
    for (int i = 0; i < 4 * 192; i++) m[i] = scene_table[i % 15] * (float)(i % 11 - 5);
    asc_tensor *map = asc_site(f, "map", asc_relu(ctx, asc_shift(ctx, in[0], 0.125)));
    map = asc_reshape(ctx, map, ASC_SHAPE(asc_tensor_shape(map).dims[0], 192));
    out[0] = asc_matmul(ctx, map, asc_from_f32(ctx, ASC_SHAPE(4, 192), m), false, true);
}

typedef enum scene_kind { SCENE_TWO, SCENE_BYTES, SCENE_PICTURE } scene_kind;
typedef struct scene {
    asc_ctx *ctx;
    asc_net *net;
    asc_subject *s;
} scene;

static inline asc_status scene_make(asc_ctx *ctx, scene_kind kind, scene *out) {
    const asc_port two[] = {{"x", ASC_ELEM_F32, {2, {-1, 3}}, true},
                            {"ids", ASC_ELEM_I32, {2, {-1, 2}}, true}},
                   bytes = {"data", ASC_ELEM_I32, {2, {-1, 2048}}, true},
                   picture = {"pixels", ASC_ELEM_F32, {4, {-1, 3, 8, 8}}, true};
    static const char *const names[] = {"scores"};
    static const asc_net_fn fns[] = {scene_two_inputs, scene_bytes, scene_picture};
    const asc_net_def d = {.struct_size = sizeof d,
                           .inputs = kind == SCENE_TWO     ? two
                                     : kind == SCENE_BYTES ? &bytes
                                                           : &picture,
                           .n_inputs = kind == SCENE_TWO ? 2 : 1,
                           .outputs = names,
                           .n_outputs = 1,
                           .forward = fns[kind]};
    *out = (scene){.ctx = ctx};
    asc_status st = asc_net_create(ctx, &d, &out->net);
    return st == ASC_OK ? asc_subject_of_net(ctx, out->net, &out->s) : st;
}

static inline void scene_end(scene *c) {
    asc_subject_close(c->s);
    asc_net_close(c->net);
}

static const asc_named_array scene_arrays[] = {
    {.name = "x1", .array = {ASC_ELEM_F32, {2, {1, 3}}, scene_x}},
    {.name = "x2", .array = {ASC_ELEM_F32, {2, {2, 3}}, scene_x}},
    {.name = "ids1", .array = {ASC_ELEM_I32, {2, {1, 2}}, scene_ids}},
    {.name = "ids2", .array = {ASC_ELEM_I32, {2, {2, 2}}, scene_ids}},
    {.name = "one", .array = {ASC_ELEM_I64, {0}, (const int64_t[]){1}}},
    {.name = "each", .array = {ASC_ELEM_I64, {1, {2}}, (const int64_t[]){0, 2}}},
    {.name = "none", .array = {ASC_ELEM_F32, {1, {3}}, NULL}},
    {.name = "odd", .array = {(asc_elem)77, {1, {3}}, scene_x}},
};
enum { SCENE_ARRAYS = sizeof scene_arrays / sizeof *scene_arrays };

static inline asc_status scene_parse(scene *c, const char *keys, asc_question **q) {
    char json[12000];
    snprintf(json, sizeof json, "{%s}", keys);
    return asc_question_parse(c->s, asc_view_of(json), scene_arrays, SCENE_ARRAYS, q);
}

#endif
