/* scatter_elements, scatter_nd: a copy of data into which updates are written, or combined, in the
 * order of the indices, so that duplicates have one defined result.
 *   scatter_elements  data, indices (int32, int64), updates of one rank
 *   scatter_nd        indices [m..., q], updates [m..., data dims after q]
 * The ints are asc_scatter_elements_params and asc_scatter_nd_params. A reduction takes elements (float32, float64,
 * integers of a byte and more, bool, whose sum is or and whose product is and); NaN wins min and max, integers wrap. */
#include <string.h>

#include "asc_plan.h"
#include "indexing.h"
#include "movement/strided_copy.h"

static int combinable(int32_t dtype) {
    return (dtype >= ASC_FLOAT32 && dtype <= ASC_BOOL && dtype != ASC_STRING) ||
           (dtype >= ASC_FLOAT64 && dtype <= ASC_UINT64);
}

static int32_t check_common(asc_call *call, int64_t reduction) {
    const asc_tensor *data = &call->in[0], *updates = &call->in[2], *out = &call->out[0];
    ASC_REQUIRE(call, data->dtype == updates->dtype && data->dtype == out->dtype, "scatter: types differ");
    ASC_REQUIRE(call, asc_same_dims(data, out), "scatter: the output is not shaped like the data");
    ASC_REQUIRE(call, reduction >= ASC_SCATTER_NONE && reduction <= ASC_SCATTER_MAX, "scatter: no such reduction");
    ASC_REQUIRE(call, reduction == ASC_SCATTER_NONE || combinable(data->dtype),
                "scatter: no reduction of elements of this type");
    return ASC_OK;
}

/* Integers are combined as unsigned numbers where they may wrap. */
#define COMBINE(type, wrapping)                                                      \
    for (int64_t i = 0; i < n; i++) {                                                \
        type *t = (type *)to + i, u = ((const type *)from)[i];                       \
        if (reduction == ASC_SCATTER_ADD) *t = (type)((wrapping) * t + (wrapping)u); \
        if (reduction == ASC_SCATTER_MUL) *t = (type)((wrapping) * t * (wrapping)u); \
        if (reduction == ASC_SCATTER_MIN && (u < *t || u != u)) *t = u;              \
        if (reduction == ASC_SCATTER_MAX && (u > *t || u != u)) *t = u;              \
    }                                                                                \
    break

static void write_slice(char *to, const char *from, int64_t n, const asc_tensor *data, int64_t reduction) {
    if (reduction == ASC_SCATTER_NONE) {
        memcpy(to, from, (size_t)n * asc_dtype_bytes(data->dtype));
        return;
    }
    switch (data->dtype) {
        case ASC_FLOAT32: COMBINE(float, float);
        case ASC_FLOAT64: COMBINE(double, double);
        case ASC_INT8: COMBINE(int8_t, uint32_t);
        case ASC_UINT8: COMBINE(uint8_t, uint32_t);
        case ASC_BOOL:
            for (int64_t i = 0; i < n; i++) {
                int either = reduction == ASC_SCATTER_ADD || reduction == ASC_SCATTER_MAX;
                to[i] = (char)(either ? to[i] | from[i] : to[i] & from[i]);
            }
            break;
        case ASC_INT16: COMBINE(int16_t, uint32_t);
        case ASC_UINT16: COMBINE(uint16_t, uint32_t);
        case ASC_INT32: COMBINE(int32_t, uint32_t);
        case ASC_UINT32: COMBINE(uint32_t, uint32_t);
        case ASC_UINT64: COMBINE(uint64_t, uint64_t);
        default: COMBINE(int64_t, uint64_t);
    }
}

static void copy_data(const asc_call *call) {
    const asc_tensor *data = &call->in[0];
    if (data->data == call->out[0].data) return;
    asc_block block = {.from = data->data, .to = call->out[0].data, .rank = 1};
    block.size = (int64_t)asc_dtype_bytes(data->dtype);
    block.dims[0] = asc_numel(data);
    block.from_strides[0] = block.to_strides[0] = 1;
    ASC_FN(asc_copy_block)(call, &block);
}

static const asc_scatter_elements_params *elements_params(const asc_call *call) {
    return ASC_INTS_AS(asc_scatter_elements_params, call);
}

int32_t ASC_FN(scatter_elements_prepare)(asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1], *updates = &call->in[2];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_scatter_elements_params),
                "scatter_elements takes two ints: axis and reduction");
    int64_t axis = elements_params(call)->axis;
    ASC_REQUIRE(call, axis >= 0 && axis < data->rank, "scatter_elements: the axis is outside the rank");
    ASC_REQUIRE(call, asc_same_dims(indices, updates), "scatter_elements: indices and updates differ in shape");
    ASC_REQUIRE(call, indices->rank == data->rank, "scatter_elements: ranks differ");
    for (int i = 0; i < data->rank; i++)
        ASC_REQUIRE(call, i == axis || indices->dims[i] <= data->dims[i],
                    "scatter_elements: the indices are longer than the data off the axis");
    return check_common(call, elements_params(call)->reduction);
}

int32_t ASC_FN(scatter_elements_run)(const asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1];
    int axis = (int)elements_params(call)->axis, rank = data->rank;
    int64_t strides[ASC_MAX_RANK] = {0}, at[ASC_MAX_RANK] = {0}, size = (int64_t)asc_dtype_bytes(data->dtype);
    int64_t count = asc_numel(indices), n = data->dims[axis], base = 0;
    asc_row_major(data->dims, rank, strides);
    int64_t axis_stride = strides[axis];
    strides[axis] = 0;
    copy_data(call);
    for (int64_t i = 0; i < count; i++) {
        int64_t index = asc_index_at(indices, i), given = index;
        if (!asc_wrap_index(&index, n)) return asc_fail_index(call, given, n);
        write_slice((char *)call->out[0].data + (base + index * axis_stride) * size,
                    (const char *)call->in[2].data + i * size, 1, data, elements_params(call)->reduction);
        for (int d = rank - 1; d >= 0; d--) {
            base += strides[d];
            if (++at[d] < indices->dims[d]) break;
            base -= strides[d] * at[d];
            at[d] = 0;
        }
    }
    return ASC_OK;
}

int32_t ASC_FN(scatter_nd_prepare)(asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1], *updates = &call->in[2];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_scatter_nd_params), "scatter_nd takes one int: the reduction");
    ASC_REQUIRE(call, indices->rank >= 1, "scatter_nd: the indices are a scalar");
    int lead = indices->rank - 1;
    int64_t q = indices->dims[lead];
    ASC_REQUIRE(call, q >= 1 && q <= data->rank, "scatter_nd: the index tuples are longer than the rank");
    int after = data->rank - (int)q;
    ASC_REQUIRE(call, updates->rank == lead + after, "scatter_nd: the rank of the updates is wrong");
    ASC_REQUIRE(call,
                asc_dims_match(updates, 0, indices, 0, lead) && asc_dims_match(updates, lead, data, (int)q, after),
                "scatter_nd: the dims of the updates are wrong");
    return check_common(call, ASC_INTS_AS(asc_scatter_nd_params, call)->reduction);
}

int32_t ASC_FN(scatter_nd_run)(const asc_call *call) {
    const asc_tensor *data = &call->in[0], *indices = &call->in[1];
    int lead = indices->rank - 1, q = (int)indices->dims[lead];
    int64_t strides[ASC_MAX_RANK] = {0}, tuples = asc_count(indices, 0, lead), slice = asc_count(data, q, data->rank);
    int64_t size = (int64_t)asc_dtype_bytes(data->dtype);
    asc_row_major(data->dims, data->rank, strides);
    copy_data(call);
    if (slice == 0) return ASC_OK;
    for (int64_t t = 0; t < tuples; t++) {
        int64_t offset = 0;
        for (int i = 0; i < q; i++) {
            int64_t index = asc_index_at(indices, t * q + i), given = index, n = data->dims[i];
            if (!asc_wrap_index(&index, n)) return asc_fail_index(call, given, n);
            offset += index * strides[i];
        }
        write_slice((char *)call->out[0].data + offset * size, (const char *)call->in[2].data + t * slice * size, slice,
                    data, ASC_INTS_AS(asc_scatter_nd_params, call)->reduction);
    }
    return ASC_OK;
}
