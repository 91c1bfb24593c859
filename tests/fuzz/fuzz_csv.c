/* fuzz_csv.c - any bytes as a table, whole and by a column's name. */
#include "ascribe/inputs.h"
#include "ctx.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const one[] = {"a"};
    asc_ctx_options o = {.struct_size = sizeof o};
    asc_ctx *ctx = NULL;
    asc_table t;
    if (asc_ctx_create_base(&o, &ctx) != ASC_OK) abort();
    for (size_t n = 0; n < 2; n++) {
        asc_status st = asc_csv_parse(ctx, (asc_view){(const char *)data, size}, one, n, &t);
        if (st == ASC_OK) {
            const double *v = t.values.data;
            if (t.n_columns == 0 || (n == 1 && strcmp(t.names[0], "a") != 0)) abort();
            for (int64_t i = 0; i < t.values.shape.dims[0] * t.values.shape.dims[1]; i++)
                if (!isfinite(v[i])) abort();
        } else if (t.values.data != NULL || asc_error_message(ctx)[0] == '\0') {
            abort();
        }
        asc_table_free(ctx, &t);
    }
    if (asc_memory(ctx).live_allocs != 0) abort();
    asc_ctx_destroy(ctx);
    return 0;
}
