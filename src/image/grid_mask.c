/* grid_mask.c - a mask of rectangular patches. */
#include "image.h"

asc_status asc_mask_grid(asc_ctx *ctx, int64_t rows, int64_t cols, int64_t patch_rows, int64_t patch_cols,
                         asc_array *out, int64_t *n) {
    *out = (asc_array){0};
    *n = 0;
    asc_status st = asc_image_check_size(ctx, cols, rows);
    if (st != ASC_OK) return st;
    if (patch_rows < 1 || patch_cols < 1) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT, "patches of %lld x %lld pixels", (long long)patch_rows,
                 (long long)patch_cols);
        return asc_hint(ctx, "a patch has at least one row and one column");
    }
    int64_t down = (rows - 1) / patch_rows + 1, across = (cols - 1) / patch_cols + 1;
    int32_t *id = asc_calloc(ctx, ASC_MEM_GENERAL, (size_t)(rows * cols), sizeof *id);
    if (id == NULL) return ASC_RESOURCE_EXHAUSTED;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x++)
            id[y * cols + x] = (int32_t)(y / patch_rows * across + x / patch_cols);
    *out = (asc_array){.elem = ASC_ELEM_I32, .shape = ASC_SHAPE(rows, cols), .data = id};
    *n = down * across;
    return ASC_OK;
}
