/* bags.c - rows of a table put together by bags: sums, means and largest values. */
#include <math.h>
#include <string.h>

#include "operator.h"

enum { SUM, MEAN, MAX };

typedef struct bag {
    int64_t begin, end, size; /* size: without those of the padding */
} bag;

/* Adds row to the bag; of MAX keeps where the largest came from. */
static void take(int64_t mode, bool first, const float *row, float weight, int64_t width, float *to, int64_t index,
                 int64_t *from) {
    for (int64_t k = 0; k < width; k++) {
        float value = row[k] * weight;
        if (mode != MAX)
            to[k] += value;
        else if (first || value > to[k]) /* as PyTorch: a first NaN stays, a later one isn't larger */
            to[k] = value, from[k] = index;
    }
}

/* weight, indices, offsets, scaleGradByFreq, mode, sparse, perSampleWeights, includeLastOffset, paddingIdx, output,
 * offset2bag, bagSize, maxIndices. */
void asc_op_embedding_bag(asc_run *run) {
    tensor table = asc_f32(run, 0), index = asc_flat(run, asc_of(run, 1, ASC_INT64));
    tensor offsets = asc_flat(run, asc_of(run, 2, ASC_INT64)), weights = {0};
    int64_t mode = asc_int(run, 4), n = asc_elements(index), padding = asc_int(run, 8);
    int64_t bags = asc_elements(offsets) - (asc_int(run, 7) != 0);
    ASC_STOP_UNLESS(run, table.rank == 2 && bags >= 0 && mode >= SUM && mode <= MAX, "%lld bags, mode %lld",
                    (long long)bags, (long long)mode);
    int64_t rows = table.dims[0], width = table.dims[1], dims[2] = {bags, width};
    if (padding < -1) padding += rows; /* -1 is none, as in PyTorch's own call */
    if (asc_given_at(run, 6)) weights = asc_f32(run, 6);
    ASC_STOP_UNLESS(run, !weights.data || asc_elements(weights) == n, "a weight for each index is needed");
    tensor made = asc_new(run, ASC_FLOAT32, 2, dims), from = asc_new(run, ASC_INT64, 2, dims);
    tensor of = asc_new(run, ASC_INT64, 1, &n), sizes = asc_new(run, ASC_INT64, 1, &bags);
    asc_fill(run, made, 0);
    asc_fill(run, from, 0);
    asc_fill(run, of, 0);
    for (int64_t i = 0; i < bags; i++) {
        const int64_t *at = offsets.data;
        bag b = {at[i], i + 1 < asc_elements(offsets) ? at[i + 1] : n, 0};
        ASC_STOP_UNLESS(run, b.begin >= 0 && b.begin <= b.end && b.end <= n, "bag %lld is %lld to %lld of %lld indices",
                        (long long)i, (long long)b.begin, (long long)b.end, (long long)n);
        float *to = (float *)made.data + i * width;
        for (int64_t k = b.begin; k < b.end; k++) {
            int64_t row = ((int64_t *)index.data)[k];
            ASC_STOP_UNLESS(run, row >= 0 && row < rows, "index %lld is none of %lld rows", (long long)row,
                            (long long)rows);
            ((int64_t *)of.data)[k] = i;
            if (row == padding) continue;
            take(mode, b.size == 0, (const float *)table.data + row * width,
                 weights.data ? ((float *)weights.data)[k] : 1, width, to, row, (int64_t *)from.data + i * width);
            b.size++;
        }
        for (int64_t k = 0; k < width && mode == MEAN && b.size; k++) to[k] /= (float)b.size;
        ((int64_t *)sizes.data)[i] = b.size;
    }
    asc_put(run, 9, made);
    if (asc_given_at(run, 10) && asc_elements(asc_in(run, 10)) == n) asc_put(run, 10, of);
    if (asc_given_at(run, 11) && asc_elements(asc_in(run, 11)) == bags) asc_put(run, 11, sizes);
    if (mode == MAX && asc_given_at(run, 12) && asc_elements(asc_in(run, 12)) == bags * width) asc_put(run, 12, from);
}
