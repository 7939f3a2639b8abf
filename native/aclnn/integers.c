/* integers.c - products whose operands are small integers that stand for floats. */
#include <math.h>
#include <string.h>

#include "quantised.h"

/* Rows of scales for groups of `each` rows of a weight [k, n]: a view or copy that broadcasts to [k, n]. One row, one
 * number, or a vector of n is for all rows. */
static tensor of_rows(asc_run *run, tensor t, int64_t k, int64_t n, int64_t each) {
    t = asc_cast(run, t, ASC_FLOAT32);
    if (asc_elements(t) == 1) return asc_reshape(run, t, 2, (int64_t[]){1, 1});
    if (asc_elements(t) == n && (t.rank < 2 || t.dims[0] == 1 || t.dims[t.rank - 1] == 1))
        return asc_reshape(run, t, 2, (int64_t[]){1, n});
    ASC_STOP_UNLESS(run, each > 0 && t.rank == 2 && t.dims[0] == (k + each - 1) / each && t.dims[1] == n,
                    "scales of [%lld, %lld] for groups of %lld rows of a weight [%lld, %lld]",
                    (long long)(t.rank == 2 ? t.dims[0] : 0), (long long)(t.rank == 2 ? t.dims[1] : asc_elements(t)),
                    (long long)each, (long long)k, (long long)n);
    tensor made = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){k, n});
    for (int64_t i = 0; i < k; i++)
        memcpy((float *)made.data + i * n, (const float *)t.data + i / each * n, (size_t)n * sizeof(float));
    return made;
}

tensor asc_weight_of(asc_run *run, tensor w, const tensor *scale, const tensor *offset, int64_t each) {
    w = asc_unpacked(run, w);
    ASC_STOP_UNLESS(run, w.rank == 2, "a weight has two axes, not %d", w.rank);
    int64_t k = w.dims[0], n = w.dims[1];
    tensor s = of_rows(run, *scale, k, n, each);
    if (!offset) return ASC_COMPUTE(run, ASC_FLOAT32, "a * b", w, s);
    return ASC_COMPUTE(run, ASC_FLOAT32, "(a + c) * b", w, s, of_rows(run, *offset, k, n, each));
}

/* x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias, antiquantGroupSize, perhaps innerPrecise,
 * y. */
void asc_op_product_of_integers(asc_run *run, int out) {
    tensor scale = asc_in(run, 2), offset = {0};
    ASC_STOP_UNLESS(run, asc_is_float(scale.dtype), "antiquantScale is not of floats");
    if (asc_given_at(run, 3)) offset = asc_in(run, 3);
    tensor w = asc_weight_of(run, asc_in(run, 1), &scale, asc_given_at(run, 3) ? &offset : NULL, asc_int(run, 7));
    tensor y = asc_multiply(run, asc_f32(run, 0), w);
    if (asc_given_at(run, 6)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, 6));
    if (asc_given_at(run, 4)) {
        ASC_STOP_UNLESS(run, asc_is_float(asc_in(run, 4).dtype), "quantScale is not of floats");
        y = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", y, asc_in(run, 4));
        if (asc_given_at(run, 5)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, 5));
    }
    if (asc_in(run, out).dtype == ASC_INT8) y = ASC_COMPUTE(run, ASC_FLOAT32, "min(max(round(a), 0 - 128), 127)", y);
    asc_put(run, out, y);
}

/* mat2. */
void asc_op_keep_weight(asc_run *run) {
    tensor w = asc_in(run, 0);
    ASC_STOP_UNLESS(run, w.rank >= 2 && w.rank <= 6, "a weight has 2 to 6 axes, not %d", w.rank);
}

/* ---- both of integers ---------------------------------------------------------------------------------------- */

enum { EXACT = 1024 }; /* so many products of 8 bits are exact in a float32 */

tensor asc_exact_product(asc_run *run, tensor a, tensor b) {
    int last = a.rank - 1, first = b.rank - 2;
    int64_t k = a.dims[last];
    ASC_STOP_UNLESS(run, a.rank > 1 && b.rank > 1 && b.dims[first] == k, "%lld columns against %lld rows", (long long)k,
                    (long long)b.dims[first < 0 ? 0 : first]);
    tensor sum = {0};
    for (int64_t at = 0; at < k || at == 0; at += EXACT) {
        int64_t n = k - at < EXACT ? k - at : EXACT;
        tensor x = asc_cast(run, asc_narrow(a, last, at, n), ASC_FLOAT32);
        tensor part = asc_multiply(run, x, asc_cast(run, asc_narrow(b, first, at, n), ASC_FLOAT32));
        sum = at ? ASC_COMPUTE(run, ASC_FLOAT64, "a + b", sum, part) : part;
    }
    return sum;
}

tensor asc_scales_of(asc_run *run, tensor t) {
    if (asc_is_float(t.dtype)) return asc_cast(run, t, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, asc_dtype_bytes(t.dtype) == 8, "scales are floats, or have 64 bits");
    tensor bits = asc_cast(run, t, t.dtype), made = asc_like(run, t, ASC_FLOAT32);
    for (int64_t i = 0; i < asc_elements(made); i++) {
        uint32_t half = (uint32_t)((const uint64_t *)bits.data)[i];
        memcpy((float *)made.data + i, &half, sizeof half);
    }
    return made;
}

/* A value for groups of rows and columns, [k, n] of a tensor of fewer. */
static tensor spread(asc_run *run, tensor t, int64_t k, int64_t n) {
    t = asc_cast(run, t, ASC_FLOAT32);
    ASC_STOP_UNLESS(run, t.rank == 2 && t.dims[0] > 0 && t.dims[1] > 0, "scales of groups have two axes");
    int64_t down = (k + t.dims[0] - 1) / t.dims[0], across = (n + t.dims[1] - 1) / t.dims[1];
    tensor made = asc_new(run, ASC_FLOAT32, 2, (int64_t[]){k, n});
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
            ((float *)made.data)[i * n + j] = ((const float *)t.data)[i / down * t.dims[1] + j / across];
    return made;
}

/* A scale of each row stands in a column. */
static tensor of_tokens(asc_run *run, tensor scale) {
    int64_t n = asc_elements(scale);
    return asc_reshape(run, asc_cast(run, scale, ASC_FLOAT32), 2, (int64_t[]){n, 1});
}

/* Positions of arguments, -1 where the operator has none. */
typedef struct bytes_places {
    int row_scale, scale, offset, shift, bias, turns, out; /* shift: of sums, before scales of rows */
} bytes_places;

/* With scales for groups along k, operands are floats before they meet. */
static tensor product_of_groups(asc_run *run, tensor a, tensor b, const bytes_places *at) {
    int64_t k = b.dims[b.rank - 2], n = b.dims[b.rank - 1];
    ASC_STOP_UNLESS(run, a.rank == 2 && b.rank == 2, "scales of groups are for matrices");
    b = asc_cast(run, b, ASC_FLOAT32);
    if (asc_has_at(run, at->offset))
        b = ASC_COMPUTE(run, ASC_FLOAT32, "a - b", b, spread(run, asc_in(run, at->offset), k, n));
    b = ASC_COMPUTE(run, ASC_FLOAT32, "a * b", b, spread(run, asc_scales_of(run, asc_in(run, at->scale)), k, n));
    if (!asc_has_at(run, at->row_scale)) return asc_multiply(run, a, b);
    tensor rows = asc_in(run, at->row_scale);
    /* A shift stands for what 8 more in each element of x would give: the chip takes these as two halves, the lower one
     * without a sign, less 8. */
    if (asc_has_at(run, at->shift)) a = ASC_COMPUTE(run, ASC_FLOAT32, "a - 8", a);
    if (rows.rank == 2 && rows.dims[1] > 1 && rows.dims[0] == a.dims[0])
        return asc_multiply(run, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", a, spread(run, rows, a.dims[0], k)), b);
    tensor y = asc_multiply(run, a, b);
    if (asc_has_at(run, at->shift)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, asc_in(run, at->shift));
    return ASC_COMPUTE(run, ASC_FLOAT32, "a * b", y, of_tokens(run, rows));
}

static void product_of_bytes(asc_run *run, bytes_places at) {
    tensor a = asc_unpacked(run, asc_in(run, 0)), b = asc_unpacked(run, asc_in(run, 1)), bias = {0};
    if (asc_int(run, at.turns)) a = asc_swap(a, a.rank - 1, a.rank - 2);
    if (asc_int(run, at.turns + 1)) b = asc_swap(b, b.rank - 1, b.rank - 2);
    ASC_STOP_UNLESS(run, a.dtype == ASC_INT8 && b.dtype == ASC_INT8, "operands of types that aren't int8 or int4");
    tensor scale = asc_in(run, at.scale);
    if (asc_has_at(run, at.bias)) bias = asc_in(run, at.bias);
    bool first = bias.data && asc_is_integer(bias.dtype); /* it is added to the sums of integers */
    if (scale.rank == 2 && scale.dims[0] > 1) {
        tensor y = product_of_groups(run, a, b, &at);
        asc_put(run, at.out, bias.data ? ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, bias) : y);
        return;
    }
    ASC_STOP_UNLESS(run, !asc_has_at(run, at.shift), "a shift of sums is for scales of groups");
    tensor y = asc_exact_product(run, a, b);
    if (first) y = ASC_COMPUTE(run, ASC_FLOAT64, "a + b", y, bias);
    if (asc_in(run, at.out).dtype != ASC_INT32) {
        y = ASC_COMPUTE(run, ASC_FLOAT64, "a * b", y, asc_flat(run, asc_scales_of(run, scale)));
        if (asc_has_at(run, at.row_scale))
            y = ASC_COMPUTE(run, ASC_FLOAT64, "a * b", y, of_tokens(run, asc_in(run, at.row_scale)));
        if (asc_has_at(run, at.offset)) y = ASC_COMPUTE(run, ASC_FLOAT64, "a + b", y, asc_in(run, at.offset));
        if (bias.data && !first) y = ASC_COMPUTE(run, ASC_FLOAT64, "a + b", y, bias);
    }
    asc_put(run, at.out, asc_in(run, at.out).dtype == ASC_INT8 ? asc_quantised(run, y, 127) : y);
}

/* x1, x2, scale, offset, bias, whether they lie transposed, out. */
void asc_op_product_of_bytes(asc_run *run) {
    product_of_bytes(
        run, (bytes_places){.row_scale = -1, .shift = -1, .scale = 2, .offset = 3, .bias = 4, .turns = 5, .out = 7});
}

/* x1, x2, scale, offset, scale of rows, bias, whether they lie transposed, out. */
void asc_op_product_of_scaled_rows(asc_run *run) {
    product_of_bytes(
        run, (bytes_places){.row_scale = 4, .shift = -1, .scale = 2, .offset = 3, .bias = 5, .turns = 6, .out = 8});
}

/* x1, x2, their scales, that of y, three offsets, bias, whether they lie transposed, size of groups, out. */
void asc_op_product_of_scaled_both(asc_run *run) {
    for (int i = 4; i <= 5; i++)
        ASC_STOP_UNLESS(run, !asc_has_at(run, i), "a product of bytes with %s isn't there", asc_run_row(run)->names[i]);
    product_of_bytes(
        run, (bytes_places){.row_scale = 2, .scale = 3, .offset = 6, .shift = 7, .bias = 8, .turns = 9, .out = 12});
}
