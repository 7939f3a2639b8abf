/* slice: a cut of the input whose place comes with the data.
 *   in, starts, ends, optional axes, optional steps (int64, one element for each cut axis) -> out
 * Starts and ends are clamped to the axis, as Python does; but a start before the first element is the first,
 * backwards, too, as ONNX has it; and an end of INT32_MAX or INT64_MAX is the axis's end in both directions, as
 * onnxruntime has it. A cut of other lengths than the output's is an error of the run. */
#include <string.h>

#include "indexing.h"
#include "strided_copy.h"

int32_t ASC_FN(slice_prepare)(asc_call *call) {
    const asc_tensor *in = &call->in[0], *out = &call->out[0];
    ASC_REQUIRE(call, in->dtype == out->dtype && in->rank == out->rank, "slice: types or ranks differ");
    ASC_REQUIRE(call, call->n_ints == 0 && call->n_floats == 0, "slice takes no arguments");
    int64_t count = asc_numel(&call->in[1]);
    ASC_REQUIRE(call, count <= in->rank, "slice: more starts than axes");
    for (int i = 1; i < call->n_in; i++)
        ASC_REQUIRE(call, !asc_has_input(call, i) || (call->in[i].rank <= 1 && asc_numel(&call->in[i]) == count),
                    "slice: starts, ends, axes and steps differ in length");
    return ASC_OK;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
}

/* Where in an axis of n elements a cut begins, and its length. */
static int64_t cut(int64_t n, int64_t start, int64_t end, int64_t step, int64_t *first) {
    int64_t least = step > 0 ? 0 : -1, most = step > 0 ? n : n - 1;
    if (start < 0) start = start < -n ? 0 : start + n;
    if (step < 0 && (end == INT32_MAX || end == INT64_MAX)) end = INT64_MIN;
    if (end < 0) end = end < -n ? least : end + n;
    start = clamp(start, 0, most);
    end = clamp(end, least, most);
    *first = start;
    int64_t span = step > 0 ? end - start : start - end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return span > 0 ? (int64_t)(((uint64_t)span - 1) / stride) + 1 : 0;
}

static int32_t cut_axis(const asc_call *call, int axis, int place, asc_block *block, int64_t *offset) {
    int64_t step = asc_has_input(call, 4) ? asc_index_at(&call->in[4], place) : 1, first;
    if (step == 0) return asc_fail(call->status, ASC_E_RUN, "slice: a step is 0");
    int64_t start = asc_index_at(&call->in[1], place), end = asc_index_at(&call->in[2], place);
    int64_t length = cut(call->in[0].dims[axis], start, end, step, &first);
    if (length != call->out[0].dims[axis])
        return asc_failn(call->status, ASC_E_DECLARED, "slice: axis % gets % elements where the model declares %", 3,
                         (int64_t[]){axis, length, call->out[0].dims[axis]});
    if (length == 0) return ASC_OK;
    *offset += first * block->from_strides[axis];
    block->from_strides[axis] *= length == 1 ? 1 : step;
    return ASC_OK;
}

int32_t ASC_FN(slice_run)(const asc_call *call) {
    const asc_tensor *in = &call->in[0], *out = &call->out[0];
    asc_block block = {.to = out->data, .size = (int64_t)asc_dtype_bytes(in->dtype), .rank = in->rank};
    int places[ASC_MAX_RANK];
    int64_t offset = 0;
    for (int i = 0; i < in->rank; i++) places[i] = i < asc_numel(&call->in[1]) ? i : -1;
    int32_t code = asc_has_input(call, 3) ? asc_read_axes(call, &call->in[3], in->rank, places, ASC_E_RUN) : ASC_OK;
    memcpy(block.dims, out->dims, sizeof block.dims);
    memcpy(block.from_strides, in->strides, sizeof block.from_strides);
    asc_row_major(out->dims, out->rank, block.to_strides);
    for (int i = 0; i < in->rank && code == ASC_OK; i++) {
        if (places[i] >= 0)
            code = cut_axis(call, i, places[i], &block, &offset);
        else if (in->dims[i] != out->dims[i])
            code = asc_fail(call->status, ASC_E_DECLARED, "slice: an axis that isn't cut has another length");
    }
    if (code != ASC_OK || asc_numel(out) == 0) return code;
    block.from = (const char *)in->data + offset * block.size;
    ASC_FN(asc_copy_block)(call, &block);
    return ASC_OK;
}
