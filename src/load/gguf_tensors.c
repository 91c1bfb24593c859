/* gguf_tensors.c - reads the tensor list and proves that the data of every tensor lies in the file, aligned,
 * and in nobody else's place. */
#include "gguf_parts.h"

/* Message about one tensor: INVALID_ARGUMENT, or another code when given. */
static asc_status bad_tensor(asc_ctx *ctx, const asc_gguf *g, asc_status code, const asc_gguf_tensor *t,
                             const char *text) {
    asc_view name = asc_view_cut(t->name, ASC_GGUF_MAX_NAME_BYTES);
    ASC_FAIL(ctx, code, "'%s': tensor '" ASC_VIEW_FMT "' %s", g->name, ASC_VIEW_ARG(name), text);
    return asc_hint(ctx, "the file is damaged or was written wrongly; fetch or convert it again");
}

static asc_status read_dims(asc_ctx *ctx, asc_gguf *g, asc_gguf_tensor *t, int64_t *elements) {
    asc_status st = ASC_OK;
    uint32_t rank;
    ASC_TRY(asc_gguf_read_u32(ctx, g, "the rank", t->name, &rank));
    if (rank < 1 || rank > ASC_GGUF_MAX_RANK) {
        asc_view name = asc_view_cut(t->name, ASC_GGUF_MAX_NAME_BYTES);
        st = asc_gguf_bad(ctx, g, g->pos - 4, "tensor '" ASC_VIEW_FMT "' has rank %u, not 1 to %d",
                          ASC_VIEW_ARG(name), rank, ASC_GGUF_MAX_RANK);
        goto done;
    }
    t->rank = (int)rank;
    *elements = 1;
    for (int i = t->rank - 1; i >= 0; i--) { /* the file's first dimension is the innermost */
        uint64_t d;
        ASC_TRY(asc_gguf_read_u64(ctx, g, "a dimension", t->name, &d));
        if (d == 0 || d > INT64_MAX || __builtin_mul_overflow(*elements, (int64_t)d, elements)) {
            asc_view name = asc_view_cut(t->name, ASC_GGUF_MAX_NAME_BYTES);
            st =
                asc_gguf_bad(ctx, g, g->pos - 8, "tensor '" ASC_VIEW_FMT "' has a dimension of %llu%s",
                             ASC_VIEW_ARG(name), (unsigned long long)d, d == 0 ? "" : ", which is too large");
            goto done;
        }
        t->dims[i] = (int64_t)d;
    }
done:
    return st;
}

static asc_status read_tensor(asc_ctx *ctx, asc_gguf *g, asc_gguf_tensor *t) {
    asc_status st = ASC_OK;
    uint32_t type;
    int64_t elements = 0;
    ASC_TRY(asc_gguf_read_name(ctx, g, "a tensor name", ASC_GGUF_MAX_NAME_BYTES, &t->name));
    ASC_TRY(read_dims(ctx, g, t, &elements));
    ASC_TRY(asc_gguf_read_u32(ctx, g, "the type", t->name, &type));
    int dtype = asc_dtype_from_ggml(type);
    if (dtype < 0) {
        ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
                 "'%s': tensor '" ASC_VIEW_FMT "' has type number %u, which is not supported", g->name,
                 ASC_VIEW_ARG(t->name), type);
        st = asc_hint(ctx, "use a file quantised to a common type such as Q8_0, Q4_K_M or Q4_1");
        goto done;
    }
    t->dtype = (asc_dtype)dtype;
    const asc_dtype_info *info = asc_dtype_of(t->dtype);
    if (t->dims[t->rank - 1] % info->block_elems != 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': tensor '" ASC_VIEW_FMT
                 "' has rows of %lld elements, not a multiple of %d as its type %s needs",
                 g->name, ASC_VIEW_ARG(t->name), (long long)t->dims[t->rank - 1], info->block_elems,
                 info->name);
        st = asc_hint(ctx, "the file is damaged or was quantised wrongly; convert it again");
        goto done;
    }
    if (!asc_dtype_bytes(t->dtype, elements, &t->bytes)) {
        st = bad_tensor(ctx, g, ASC_INVALID_ARGUMENT, t, "is larger than memory can be");
        goto done;
    }
    ASC_TRY(asc_gguf_read_u64(ctx, g, "the data offset", t->name,
                              &t->file_offset)); /* from the data section so far */
done:
    return st;
}

/* Turns the offset into one from the start of the file and checks that all bytes are there. */
static asc_status place_tensor(asc_ctx *ctx, asc_gguf *g, asc_gguf_tensor *t) {
    uint64_t offset = t->file_offset, room = g->size > g->data_start ? g->size - g->data_start : 0;
    if (offset % g->alignment != 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': tensor '" ASC_VIEW_FMT "' has offset %llu, not a multiple of %zu", g->name,
                 ASC_VIEW_ARG(t->name), (unsigned long long)offset, g->alignment);
        return asc_hint(ctx, "the file is damaged or was written wrongly; fetch or convert it again");
    }
    if (offset > room || t->bytes > room - offset) {
        ASC_FAIL(ctx, ASC_DATA_LOSS,
                 "'%s': tensor '" ASC_VIEW_FMT
                 "' takes %zu bytes at offset %llu of the data, which has %llu bytes",
                 g->name, ASC_VIEW_ARG(t->name), t->bytes, (unsigned long long)offset,
                 (unsigned long long)room);
        return asc_hint(ctx, "the file is cut short or damaged; fetch it again");
    }
    t->file_offset = g->data_start + offset;
    t->data = g->data + t->file_offset;
    return ASC_OK;
}

static bool before(const asc_gguf *g, uint32_t a, uint32_t b) {
    return g->tensors[a].file_offset < g->tensors[b].file_offset;
}

static void sift(const asc_gguf *g, uint32_t *heap, size_t n, size_t i) {
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(g, heap[child], heap[child + 1])) child++;
        if (!before(g, heap[i], heap[child])) return;
        uint32_t t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
    }
}

/* Orders the tensors by where their data lies. Heap sort, since the C library's qsort may allocate; files are
 * nearly always in order already. */
static uint32_t *offset_order(const asc_gguf *g, asc_arena *arena) {
    size_t n = g->n_tensors;
    uint32_t *order = asc_arena_alloc(arena, n * sizeof *order);
    if (order == NULL) return NULL;
    bool sorted = true;
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        sorted = sorted && (i == 0 || before(g, (uint32_t)i - 1, (uint32_t)i));
    }
    if (sorted) return order;
    for (size_t i = n / 2; i-- > 0;) sift(g, order, n, i);
    for (size_t i = n; i-- > 1;) {
        uint32_t t = order[0];
        order[0] = order[i];
        order[i] = t;
        sift(g, order, i, 0);
    }
    return order;
}

/* The data must be packed: each tensor begins where the last one ended, rounded up to the alignment, and the
 * file ends with the last. An overlap is an error by itself; a gap means that a count, a dimension or a type
 * is not what the writer meant, and then every tensor behind it would silently be read from the wrong place.
 */
static asc_status check_packing(asc_ctx *ctx, asc_gguf *g) {
    uint32_t *order = offset_order(g, &g->arena);
    if (order == NULL) return ASC_RESOURCE_EXHAUSTED;
    uint64_t end = g->data_start; /* where the next tensor belongs */
    asc_view last = asc_view_make("the header", 10);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const asc_gguf_tensor *t = &g->tensors[order[i]];
        if (t->file_offset != end) {
            ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                     "'%s': the data of tensor '" ASC_VIEW_FMT "' begins at byte %llu, %s '" ASC_VIEW_FMT
                     "', whose place ends at %llu",
                     g->name, ASC_VIEW_ARG(t->name), (unsigned long long)t->file_offset,
                     t->file_offset < end ? "overlapping" : "with a gap behind", ASC_VIEW_ARG(last),
                     (unsigned long long)end);
            return asc_hint(ctx, "the file is damaged or was written wrongly; fetch or convert it again");
        }
        end = (t->file_offset + t->bytes + g->alignment - 1) & ~(uint64_t)(g->alignment - 1);
        last = t->name;
    }
    if (g->size > end) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': %llu bytes follow the data of the last tensor, '" ASC_VIEW_FMT "'", g->name,
                 (unsigned long long)(g->size - end), ASC_VIEW_ARG(last));
        return asc_hint(ctx, "the tensor count or a tensor's size is wrong; fetch or convert the file again");
    }
    return ASC_OK;
}

static asc_status read_alignment(asc_ctx *ctx, asc_gguf *g) {
    uint64_t a;
    asc_status st = asc_gguf_get_u64_or(ctx, g, "general.alignment", 32, &a);
    if (st != ASC_OK) return st;
    if (a < ASC_GGUF_MIN_ALIGNMENT || a > ASC_GGUF_MAX_ALIGNMENT || (a & (a - 1)) != 0) {
        ASC_FAIL(ctx, ASC_INVALID_ARGUMENT,
                 "'%s': general.alignment is %llu, not a power of two from %d to %d", g->name,
                 (unsigned long long)a, ASC_GGUF_MIN_ALIGNMENT, ASC_GGUF_MAX_ALIGNMENT);
        return asc_hint(ctx, "the file is damaged or was written wrongly; fetch or convert it again");
    }
    g->alignment = (size_t)a;
    return ASC_OK;
}

static asc_status refuse_split(asc_ctx *ctx, const asc_gguf *g) {
    uint64_t count, part;
    asc_status st = asc_gguf_get_u64_or(ctx, g, "split.count", 1, &count);
    if (st == ASC_OK) st = asc_gguf_get_u64_or(ctx, g, "split.no", 0, &part);
    if (st != ASC_OK || count <= 1) return st;
    ASC_FAIL(ctx, ASC_UNIMPLEMENTED,
             "'%s' is one of %llu parts of a split model (split.no is %llu), not supported", g->name,
             (unsigned long long)count, (unsigned long long)part);
    return asc_hint(ctx, "join the parts with `llama-gguf-split --merge FIRST-PART OUTPUT`");
}

asc_status asc_gguf_read_tensors(asc_ctx *ctx, asc_gguf *g) {
    asc_status st = ASC_OK;
    ASC_TRY(refuse_split(ctx, g));
    ASC_TRY(read_alignment(ctx, g));
    /* The smallest entry: length of the name, one byte of it, rank, one dimension, type, offset. */
    ASC_TRY(asc_gguf_check_count(ctx, g, "the tensor count", g->tensor_count, 8 + 1 + 4 + 8 + 4 + 8,
                                 ASC_GGUF_MAX_TENSORS));
    g->n_tensors = (size_t)g->tensor_count;
    g->tensors = asc_arena_alloc(&g->arena, g->n_tensors * sizeof *g->tensors);
    if (g->tensors == NULL) return ASC_RESOURCE_EXHAUSTED;
    ASC_TRY(asc_name_index_init(&g->arena, &g->tensor_index, g->tensors, sizeof *g->tensors, g->n_tensors));
    for (size_t i = 0; i < g->n_tensors; i++) {
        ASC_TRY(read_tensor(ctx, g, &g->tensors[i]));
        if (!asc_name_index_add(&g->tensor_index, (uint32_t)i)) {
            st = bad_tensor(ctx, g, ASC_INVALID_ARGUMENT, &g->tensors[i], "appears twice");
            goto done;
        }
    }
    g->data_start =
        (g->pos + g->alignment - 1) & ~(g->alignment - 1); /* a header never comes near SIZE_MAX */
    for (size_t i = 0; i < g->n_tensors; i++) ASC_TRY(place_tensor(ctx, g, &g->tensors[i]));
    ASC_TRY(check_packing(ctx, g));
done:
    return st;
}
