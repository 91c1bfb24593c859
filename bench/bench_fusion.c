/* bench_fusion.c - what fused regions save: patterns of nodes as single nodes and as a region, in turns, and
 * the ratio of their processor times.
 *
 * usage: bench_fusion [--threads N] [--rounds N] [PATTERN ...]
 * Columns: pattern, microseconds as single nodes, microseconds fused (best of the rounds, processor time of
 * all threads), ratio fused / single. */
#include "alloc.h"
#include "exec.h"
#include "passes.h"
#include "view.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
    const char *name, *text;
} patterns[] = {
    {"residual addition behind a product, 448 rows", "%0 = input f32 [448,576]\n"
                                                     "%1 = input f32 [576,576]\n"
                                                     "%2 = input f32 [448,576]\n"
                                                     "%3 = matmul f32 [448,576] %0 %1 {ta=0 tb=1}\n"
                                                     "%4 = add f32 [448,576] %2 %3\n"
                                                     "return %4\n"},
    {"swiglu behind its second product, 448 rows", "%0 = input f32 [448,576]\n"
                                                   "%1 = input f32 [1536,576]\n"
                                                   "%2 = input f32 [448,1536]\n"
                                                   "%3 = matmul f32 [448,1536] %0 %1 {ta=0 tb=1}\n"
                                                   "%4 = swiglu f32 [448,1536] %2 %3\n"
                                                   "return %3 %4\n"},
    {"swiglu's gradient behind a product, 448 rows", "%0 = input f32 [448,576]\n"
                                                     "%1 = input f32 [576,1536]\n"
                                                     "%2 = input f32 [448,1536]\n"
                                                     "%3 = input f32 [448,1536]\n"
                                                     "%4 = matmul f32 [448,1536] %0 %1 {ta=0 tb=0}\n"
                                                     "%5 = swiglu_grad f32 [2,448,1536] %2 %3 %4\n"
                                                     "return %5\n"},
    {"gradient of rms_norm and addition, 448 rows", "%0 = input f32 [448,576]\n"
                                                    "%1 = input f32 [576]\n"
                                                    "%2 = input f32 [448,576]\n"
                                                    "%3 = input f32 [448,576]\n"
                                                    "%4 = rms_norm_grad f32 [448,576] %0 %1 %2 {eps=1e-05}\n"
                                                    "%5 = add f32 [448,576] %3 %4\n"
                                                    "return %5\n"},
    {"six pointwise ops, 2000 x 1000", "%0 = input f32 [2000,1000]\n"
                                       "%1 = input f32 [1000]\n"
                                       "%2 = input f32 [2000,1]\n"
                                       "%3 = add f32 [2000,1000] %0 %1\n"
                                       "%4 = mul f32 [2000,1000] %3 %2\n"
                                       "%5 = tanh f32 [2000,1000] %4\n"
                                       "%6 = scale f32 [2000,1000] %5 {factor=0.5}\n"
                                       "%7 = add f32 [2000,1000] %6 %0\n"
                                       "%8 = relu f32 [2000,1000] %7\n"
                                       "return %8\n"},
    {"softmax by hand, 4000 x 100", "%0 = input f32 [4000,100]\n"
                                    "%1 = max f32 [4000,1] %0 {axis=1 keep=1}\n"
                                    "%2 = sub f32 [4000,100] %0 %1\n"
                                    "%3 = exp f32 [4000,100] %2\n"
                                    "%4 = sum f32 [4000,1] %3 {axes=[1] keep=1}\n"
                                    "%5 = div f32 [4000,100] %3 %4\n"
                                    "return %5\n"},
    {"layer norm, scale and addition, 1000 x 768", "%0 = input f32 [1000,768]\n"
                                                   "%1 = input f32 [768]\n"
                                                   "%2 = input f32 [768]\n"
                                                   "%3 = input f32 [1000,768]\n"
                                                   "%4 = add f32 [1000,768] %0 %3\n"
                                                   "%5 = layer_norm f32 [1000,768] %4 %1 %2 {eps=1e-05}\n"
                                                   "%6 = scale f32 [1000,768] %5 {factor=0.1}\n"
                                                   "%7 = add f32 [1000,768] %6 %4\n"
                                                   "return %7\n"},
    {"a small net's layer: bias, tanh, 50 x 10", "%0 = input f32 [50,10]\n"
                                                 "%1 = input f32 [10,10]\n"
                                                 "%2 = input f32 [10]\n"
                                                 "%3 = matmul_bias f32 [50,10] %0 %1 %2 {ta=0 tb=1}\n"
                                                 "%4 = tanh f32 [50,10] %3\n"
                                                 "return %4\n"},
    {"a small chain: tanh's gradient, 50 x 10", "%0 = input f32 [50,10]\n"
                                                "%1 = input f32 [50,10]\n"
                                                "%2 = square f32 [50,10] %0\n"
                                                "%3 = neg f32 [50,10] %2\n"
                                                "%4 = shift f32 [50,10] %3 {addend=1}\n"
                                                "%5 = mul f32 [50,10] %1 %4\n"
                                                "return %5\n"},
};

static void check(asc_ctx *ctx, asc_status st) {
    if (st == ASC_OK) return;
    fprintf(stderr, "bench_fusion: %s\n", asc_error_message(ctx));
    exit(1);
}

static double cpu_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Whole huge pages, as in the arena of a large program. */
static void *block(asc_ctx *ctx, size_t bytes) {
    const size_t page = 2 << 20;
    if (bytes > page / 4) bytes = (bytes + 4096 + page - 1) / page * page - 4096;
    void *p = asc_alloc_buffer(ctx, ASC_MEM_SCRATCH, bytes);
    if (p == NULL) exit(1);
    memset(p, 0x3d, bytes); /* 0.046 as f32 */
    return p;
}

typedef struct side {
    asc_program p;
    asc_plan plan;
    void **data, *code, *arena, *scratch;
    double best;
} side;

static void make(asc_ctx *ctx, const char *text, bool fused, side *s) {
    const asc_device *dev = &asc_device_cpu;
    void *state = asc_exec_device_state(ctx);
    *s = (side){.best = 1e30};
    check(ctx, asc_program_parse(ctx, asc_view_of(text), &s->p));
    size_t n_done = 0;
    const asc_pass_env env = {.storage_bytes = dev->storage_bytes, .alias = true, .fuses = fused};
    check(ctx, asc_pass_fuse.run(ctx, &s->p, &env, &n_done));
    check(ctx, asc_plan_make_fused(ctx, &s->p, dev->storage_bytes, &s->plan));
    for (size_t i = 0; fused && n_done == 0 && i < s->p.n_nodes;
         i++) /* what the pass leaves alone, all the same */
        if (s->p.nodes[i].op != NULL) s->p.nodes[i].group = 1;
    s->data = calloc(s->p.n_nodes + 1, sizeof *s->data);
    s->arena = block(ctx, s->plan.arena_bytes);
    for (size_t i = 0; s->data != NULL && i < s->p.n_nodes; i++) {
        const asc_slot *slot = &s->plan.slots[i];
        asc_call c;
        if (slot->place == ASC_PLACE_INPUT || slot->place == ASC_PLACE_OUTPUT)
            s->data[i] = block(ctx, slot->bytes);
        if (slot->place == ASC_PLACE_ARENA) s->data[i] = (char *)s->arena + slot->offset;
        if (slot->place == ASC_PLACE_ALIAS || slot->place == ASC_PLACE_INPLACE)
            s->data[i] = (char *)s->data[slot->root] + slot->offset;
        if (s->p.nodes[i].op == NULL) continue;
        asc_node_call(&s->p, &s->p.nodes[i], &c);
        const size_t bytes = dev->scratch_bytes(ctx, state, &c);
        if (bytes > s->plan.scratch_bytes) s->plan.scratch_bytes = bytes;
    }
    s->scratch = block(ctx, s->plan.scratch_bytes);
    check(ctx, dev->prepare(ctx, state, &s->p, &s->plan, &s->code));
}

static void run(asc_ctx *ctx, side *s, int times) {
    const asc_run_args a = {
        .program = &s->p, .plan = &s->plan, .code = s->code, .data = s->data, .scratch = s->scratch};
    const double t0 = cpu_us();
    for (int i = 0; i < times; i++) check(ctx, asc_device_cpu.run(ctx, asc_exec_device_state(ctx), &a));
    const double us = (cpu_us() - t0) / times;
    if (us < s->best) s->best = us;
}

static void end(asc_ctx *ctx, side *s) {
    asc_device_cpu.discard(ctx, asc_exec_device_state(ctx), s->code);
    for (size_t i = 0; i < s->p.n_nodes; i++) {
        const asc_place place = s->plan.slots[i].place;
        if (place == ASC_PLACE_INPUT || place == ASC_PLACE_OUTPUT) asc_free(ctx, s->data[i]);
    }
    free(s->data);
    asc_free(ctx, s->arena);
    asc_free(ctx, s->scratch);
    asc_program_deinit(&s->p);
}

static bool wanted(const char *name, int n, char **names) {
    for (int i = 0; i < n; i++) {
        if (strstr(name, names[i]) != NULL) return true;
    }
    return n == 0;
}

int main(int argc, char **argv) {
    asc_ctx_options o = {.struct_size = sizeof o, .device = "cpu", .n_threads = 1};
    int rounds = 60, at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (strcmp(argv[at], "--threads") == 0) o.n_threads = atoi(argv[at + 1]);
        if (strcmp(argv[at], "--rounds") == 0) rounds = atoi(argv[at + 1]);
    }
    asc_ctx *ctx = NULL;
    if (asc_ctx_create(&o, &ctx) != ASC_OK) return 1;
    printf("%-50s %10s %10s %7s\n", "pattern", "single us", "fused us", "ratio");
    for (size_t k = 0; k < sizeof patterns / sizeof patterns[0]; k++) {
        if (!wanted(patterns[k].name, argc - at, argv + at)) continue;
        side single, fused;
        make(ctx, patterns[k].text, false, &single);
        make(ctx, patterns[k].text, true, &fused);
        run(ctx, &single, 1);
        const int times = single.best > 2000 ? 1 : (int)(2000 / single.best) + 1;
        for (int r = 0; r < rounds; r++) {
            run(ctx, &single, times);
            run(ctx, &fused, times);
        }
        printf("%-50s %10.2f %10.2f %7.3f\n", patterns[k].name, single.best, fused.best,
               fused.best / single.best);
        end(ctx, &single);
        end(ctx, &fused);
    }
    asc_ctx_destroy(ctx);
    return 0;
}
