/* padding.c - pads made of the elements at the edge: mirrored, or repeated; forwards and backwards. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* Where element i of a padded axis comes from, in an axis of n. */
static int64_t source(int64_t i, int64_t n, bool mirrored) {
    if (!mirrored) return i < 0 ? 0 : i < n ? i : n - 1;
    if (i < 0) i = -i;
    return i < n ? i : 2 * (n - 1) - i;
}

/* An axis and its pads: pads count from the last axis on. */
static void read_pads(asc_run *run, int i, int axis, int rank, int64_t *before, int64_t *behind) {
    const asc_argument *pad = asc_arg(run, i);
    int k = 2 * (rank - 1 - axis);
    *before = k + 1 < pad->count ? pad->ints[k] : 0;
    *behind = k + 1 < pad->count ? pad->ints[k + 1] : 0;
}

static void check(asc_run *run, int64_t n, int64_t before, int64_t behind, bool mirrored) {
    ASC_STOP_UNLESS(run, n > 0, "an axis without elements has no edge");
    ASC_STOP_UNLESS(run, !mirrored || (before < n && behind < n), "pads of %lld and %lld mirror an axis of %lld",
                    (long long)before, (long long)behind, (long long)n);
    ASC_STOP_UNLESS(run, n + before + behind >= 0, "pads of %lld and %lld take more than an axis has",
                    (long long)before, (long long)behind);
}

/* How many rows of axis `axis` there are, and how many elements each of its elements has. */
static void around(tensor t, int axis, int64_t *outer, int64_t *inner) {
    *outer = *inner = 1;
    for (int i = 0; i < ASC_MAX_RANK && i < t.rank; i++) *(i < axis ? outer : inner) *= i == axis ? 1 : t.dims[i];
}

/* Of the same dims but one, not filled. */
static tensor resized(asc_run *run, tensor t, int axis, int64_t length) {
    t.dims[axis] = length;
    return asc_like(run, t, t.dtype);
}

/* self, padding, out. */
void asc_op_edge_pad(asc_run *run, int mirrored) {
    tensor given = asc_in(run, 0), x = asc_cast(run, given, given.dtype);
    for (int axis = x.rank - 1; axis >= 0; axis--) {
        int64_t before, behind, n = x.dims[axis], outer, inner;
        read_pads(run, 1, axis, x.rank, &before, &behind);
        if (!before && !behind) continue;
        check(run, n, before, behind, mirrored);
        tensor y = resized(run, x, axis, n + before + behind);
        around(x, axis, &outer, &inner);
        size_t bytes = asc_dtype_bytes(x.dtype) * (size_t)inner;
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < y.dims[axis]; i++)
                memcpy((char *)y.data + (size_t)(o * y.dims[axis] + i) * bytes,
                       (char *)x.data + (size_t)(o * n + source(i - before, n, mirrored)) * bytes, bytes);
        x = y;
    }
    asc_put(run, 2, x);
}

/* gradOutput, self, padding, gradInput. */
void asc_op_edge_pad_backward(asc_run *run, int mirrored) {
    tensor g = asc_f32(run, 0), self = asc_in(run, 1);
    ASC_STOP_UNLESS(run, g.rank == self.rank, "the gradient has %d axes, not %d", g.rank, self.rank);
    for (int axis = g.rank - 1; axis >= 0; axis--) {
        int64_t before, behind, n = self.dims[axis], outer, inner;
        read_pads(run, 2, axis, g.rank, &before, &behind);
        ASC_STOP_UNLESS(run, g.dims[axis] == n + before + behind, "the gradient isn't as large as the padded tensor");
        if (!before && !behind) continue;
        check(run, n, before, behind, mirrored);
        tensor made = resized(run, g, axis, n);
        asc_fill(run, made, 0);
        around(g, axis, &outer, &inner);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < g.dims[axis]; i++) {
                const float *from = (const float *)g.data + (o * g.dims[axis] + i) * inner;
                float *to = (float *)made.data + (o * n + source(i - before, n, mirrored)) * inner;
                for (int64_t j = 0; j < inner; j++) to[j] += from[j];
            }
        g = made;
    }
    asc_put(run, 3, g);
}
