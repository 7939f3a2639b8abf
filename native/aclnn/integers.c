/* integers.c - products whose weight is of small integers that stand for floats, and products of groups of rows. */
#include <math.h>
#include <string.h>

#include "operator.h"

/* A weight of numbers of 4 bits, eight in each int32, the first in the lowest bits, along the axis that lies together:
 * as int8. Any other as it is. */
static tensor unpacked(asc_run *run, tensor w) {
    if (w.dtype != ASC_INT32) return w;
    int along = w.rank - 1;
    if (w.rank > 1 && w.strides[along] != 1 && w.strides[along - 1] == 1) along--;
    tensor made = w;
    made.dims[along] *= 8;
    made = asc_new(run, ASC_INT8, made.rank, made.dims);
    tensor from = asc_cast(run, along == w.rank - 1 ? w : asc_swap(w, along, along + 1), ASC_INT32);
    tensor packed = asc_new(run, ASC_INT8, 1, (int64_t[]){asc_elements(from) * 8});
    for (int64_t i = 0; i < asc_elements(packed); i++) {
        uint32_t word = ((const uint32_t *)from.data)[i / 8];
        ((int8_t *)packed.data)[i] = (int8_t)((int8_t)((word >> i % 8 * 4 & 15) << 4) >> 4);
    }
    from.dims[from.rank - 1] *= 8;
    packed = asc_reshape(run, packed, from.rank, from.dims);
    asc_store(run, made, along == w.rank - 1 ? packed : asc_swap(packed, along, along + 1));
    return made;
}

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

/* (weight + offset) * scale, [k, n] in float32. */
static tensor weight_of(asc_run *run, tensor w, const tensor *scale, const tensor *offset, int64_t each) {
    w = unpacked(run, w);
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
    tensor w = weight_of(run, asc_in(run, 1), &scale, asc_given_at(run, 3) ? &offset : NULL, asc_int(run, 7));
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

/* ---- groups ------------------------------------------------------------------------------------------------- */

/* Where each group's rows end, from a list of ends or, `counts`, of lengths. */
static int64_t *ends_of(asc_run *run, int i, bool counts, int64_t rows, int *n) {
    tensor list = asc_of(run, i, ASC_INT64);
    int64_t *ends = list.data, at = 0;
    *n = (int)asc_elements(list);
    for (int k = 0; k < *n; k++) {
        ends[k] += counts ? at : 0;
        ASC_STOP_UNLESS(run, ends[k] >= at && ends[k] <= rows, "group %d ends at %lld of %lld rows", k,
                        (long long)ends[k], (long long)rows);
        at = ends[k];
    }
    return ends;
}

/* The tensor of group k: of a list, or of the first axis of a single one. */
static tensor of_group(asc_run *run, int i, int k, int rank) {
    const asc_argument *a = asc_arg(run, i);
    if (a->count == 1 && a->tensors[0].rank == rank + 1) {
        ASC_STOP_UNLESS(run, k < a->tensors[0].dims[0], "%s has nothing for group %d", asc_run_row(run)->names[i], k);
        return asc_select(a->tensors[0], 0, k);
    }
    ASC_STOP_UNLESS(run, k < a->count, "%s has nothing for group %d", asc_run_row(run)->names[i], k);
    return a->tensors[k];
}

/* x, weight, bias, scale, offset, antiquantScale, antiquantOffset: of group k. */
static tensor product_of_group(asc_run *run, tensor x, int k) {
    tensor w = of_group(run, 1, k, 2), scale, offset;
    if (asc_given_at(run, 5)) {
        scale = of_group(run, 5, k, 1);
        if (asc_given_at(run, 6)) offset = of_group(run, 6, k, 1);
        w = weight_of(run, w, &scale, asc_given_at(run, 6) ? &offset : NULL, 0);
    }
    tensor y = asc_multiply(run, x, w);
    if (asc_given_at(run, 2)) y = ASC_COMPUTE(run, ASC_FLOAT32, "a + b", y, of_group(run, 2, k, 1));
    return y;
}

/* Rows of x in turn are each group's: they meet its weight. */
static void groups_of_rows(asc_run *run, int list, bool counts, int out) {
    const asc_argument *x = asc_arg(run, 0), *y = asc_arg(run, out);
    int n = x->count, one_y = y->count == 1;
    int64_t *ends = NULL, start = 0, written = 0;
    if (x->count == 1) {
        ASC_STOP_UNLESS(run, asc_given_at(run, list), "groups of the rows of one x need groupList");
        ends = ends_of(run, list, counts, x->tensors[0].dims[0], &n);
    }
    for (int k = 0; k < n; k++) {
        tensor in = x->count == 1 ? asc_narrow(x->tensors[0], 0, start, ends[k] - start) : x->tensors[k];
        int64_t rows = in.dims[0];
        start = ends ? ends[k] : 0;
        if (!one_y) ASC_STOP_UNLESS(run, k < y->count, "there is no output for group %d", k);
        tensor to = one_y ? y->tensors[0] : y->tensors[k];
        ASC_STOP_UNLESS(run, to.rank == 2 && written + rows <= to.dims[0], "the output has no room for group %d", k);
        if (one_y) to = asc_narrow(to, 0, written, rows);
        written += one_y ? rows : 0;
        if (rows) asc_store(run, to, product_of_group(run, in, k));
    }
}

/* Columns of x, and rows of the weight, in turn are each group's: a matrix each. */
static void groups_of_columns(asc_run *run, int list, bool counts, int out) {
    tensor x = asc_in(run, 0), w = asc_in(run, 1);
    ASC_STOP_UNLESS(run, x.rank == 2 && w.rank == 2 && asc_given_at(run, list), "groups of columns need groupList");
    int n;
    int64_t *ends = ends_of(run, list, counts, x.dims[1], &n), start = 0;
    for (int k = 0; k < n; start = ends[k++])
        asc_store(
            run, of_group(run, out, k, 2),
            asc_multiply(run, asc_narrow(x, 1, start, ends[k] - start), asc_narrow(w, 0, start, ends[k] - start)));
}

/* x, weight, bias, scale, offset, antiquantScale, antiquantOffset, groupList, splitItem, groupType, y. */
void asc_op_grouped_product(asc_run *run, int split) {
    int64_t type = asc_int(run, split + 1);
    ASC_STOP_UNLESS(run, !asc_given_at(run, 3) && !asc_given_at(run, 4), "results in 8-bit integers are not there");
    ASC_STOP_UNLESS(run, type == -1 || type == 0 || type == 2, "groupType %lld is none of -1, 0, 2", (long long)type);
    if (type == 2)
        groups_of_columns(run, 7, false, split + 2);
    else if (type == 0)
        groups_of_rows(run, 7, false, split + 2);
    else
        for (int k = 0; k < asc_arg(run, 0)->count; k++) {
            ASC_STOP_UNLESS(run, k < asc_arg(run, split + 2)->count, "there is no output for group %d", k);
            asc_store(run, asc_arg(run, split + 2)->tensors[k], product_of_group(run, asc_arg(run, 0)->tensors[k], k));
        }
}
