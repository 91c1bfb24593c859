/* fused.h - a fused region (src/ir/region.h) prepared for the cpu device. Private to src/backends/cpu/.
 *
 * Every node of the region is a step that treats a tile of rows, or a part of a matrix product's result, by
 * the kernel that would have run the whole node: as a strip, or as a call on the tile's shape. So the bits
 * are those of the single nodes, whatever the tiles. */
#ifndef ASC_FUSED_H
#define ASC_FUSED_H

#include "cpu_device.h"
#include "region.h"

/* An array as a step sees it. */
typedef struct asc_fused_array {
    int32_t node;
    bool in_tile;     /* in the thread's tile storage, at `offset`; else data[node] */
    size_t offset;    /* bytes */
    size_t row_bytes; /* from one row to the next; 0 = the same for every row */
    bool fetch;       /* behind a product: worth asking for before its row's turn */
    int64_t step;     /* elements from one element of a row to the next: 1, or 0 for one that repeats */
} asc_fused_array;

typedef enum asc_fused_kind {
    ASC_FUSED_STRIP, /* by the kernel's strip */
    ASC_FUSED_CALL,  /* by its run, on a call of the tile's shape */
    ASC_FUSED_COPY   /* a reshape whose result has storage */
} asc_fused_kind;

typedef struct asc_fused_step {
    asc_fused_kind kind;
    bool flat; /* a strip over all rows of the tile at once */
    void (*strip)(const asc_strip *a);
    void (*run)(const asc_kargs *a);
    int n_in;
    asc_fused_array in[ASC_MAX_IN], out;
    int64_t width;          /* elements of a row of the result */
    size_t half;            /* bytes between the two halves of swiglu_grad's result */
    const asc_attrs *attrs; /* read by every run */
    int slot[2];            /* of the attributes that strip reads; -1 = none */
    asc_call call, rest;    /* CALL: a tile, and the last one */
} asc_fused_step;

typedef struct asc_fused {
    int64_t rows, tile_rows, n_tiles;
    int64_t width;   /* columns of the product that leads; 0 = none does */
    bool by_columns; /* behind a product: some step has no strip */
    int n_threads;
    size_t tile_bytes; /* tile storage of a thread, scratch of its calls included */
    size_t scratch_at; /* where that scratch starts */
    size_t n_steps;    /* the product that leads is none */
    asc_fused_step steps[];
} asc_fused;

/* Makes the region's steps; the lead of a product region is left to the caller. RESOURCE_EXHAUSTED; *out is
 * freed with asc_free. Tile storage for all threads: n_threads * tile_bytes. */
ASC_MUST_USE asc_status asc_fused_make(asc_ctx *ctx, const asc_kernel_index *index, const asc_program *p,
                                       const asc_plan *plan, const asc_region *region, asc_fused **out);

/* Runs all tiles. */
void asc_fused_run(const asc_fused *f, void *const *data, void *tiles);

/* The epilogue that runs the steps behind a product; the struct lives as long as the product's run. */
typedef struct asc_fused_post {
    asc_epilogue base;
    const asc_fused *fused;
    void *const *data;
    void *tiles;
} asc_fused_post;
asc_fused_post asc_fused_post_of(const asc_fused *f, void *const *data, void *tiles);
/* Calls the epilogue over tiles of rows, for kernels that do not call it. */
void asc_fused_post_all(const asc_fused_post *post);

#endif
