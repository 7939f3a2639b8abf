/* reverse_sequence: the first elements of each batch row in reverse order.
 *   x [.., batch, .., time, ..] with batch and time as axes 0 and 1 in either order, lengths [batch] -> y like x
 *   ints: asc_reverse_sequence_params. A length outside [0, time] fails with ASC_E_RUN.
 * tensor_scatter: slabs of each batch row written at a place of their own, as a key-value cache is filled.
 *   past [B, .., n, ..], update [B, .., m, ..], places [B] int64 (absent: 0) -> y like past
 *   ints: asc_tensor_scatter_params. A place from which the update doesn't fit fails with ASC_E_RUN; circular ones
 * wrap. */
#include <string.h>

#include "asc_plan.h"
#include "axis_split.h"
#include "indexing.h"

int32_t ASC_FN(reverse_sequence_prepare)(asc_call *call) {
    const asc_reverse_sequence_params *p = ASC_INTS_AS(asc_reverse_sequence_params, call);
    const asc_tensor *x = &call->in[0], *lengths = &call->in[1], *y = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_reverse_sequence_params),
                "reverse_sequence takes two ints: batch and time axis");
    ASC_REQUIRE(call, (p->batch_axis == 0 && p->time_axis == 1) || (p->batch_axis == 1 && p->time_axis == 0),
                "reverse_sequence: batch and time are not the first two axes");
    ASC_REQUIRE(call, x->rank >= 2 && x->dtype == y->dtype && asc_same_dims(x, y), "reverse_sequence: shapes differ");
    ASC_REQUIRE(call, lengths->rank == 1 && lengths->dims[0] == x->dims[p->batch_axis],
                "reverse_sequence: not one length for each batch row");
    return ASC_OK;
}

int32_t ASC_FN(reverse_sequence_run)(const asc_call *call) {
    const asc_tensor *x = &call->in[0];
    const asc_reverse_sequence_params *p = ASC_INTS_AS(asc_reverse_sequence_params, call);
    int time_first = p->time_axis == 0;
    int64_t rows = x->dims[p->batch_axis], steps = x->dims[p->time_axis];
    int64_t bytes = asc_count(x, 2, x->rank) * (int64_t)asc_dtype_bytes(x->dtype);
    int64_t row_step = (time_first ? 1 : steps) * bytes, time_step = (time_first ? rows : 1) * bytes;
    for (int64_t b = 0; b < rows; b++) {
        int64_t length = asc_index_at(&call->in[1], b);
        if (length < 0 || length > steps) return asc_fail_index(call, length, steps);
        const char *from = (const char *)x->data + b * row_step;
        char *to = (char *)call->out[0].data + b * row_step;
        for (int64_t t = 0; t < steps && bytes; t++)
            memcpy(to + t * time_step, from + (t < length ? length - 1 - t : t) * time_step, (size_t)bytes);
    }
    return ASC_OK;
}

int32_t ASC_FN(tensor_scatter_prepare)(asc_call *call) {
    const asc_tensor *past = &call->in[0], *update = &call->in[1], *places = &call->in[2], *y = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_tensor_scatter_params),
                "tensor_scatter takes two ints: axis, circular");
    int64_t axis = ASC_INTS_AS(asc_tensor_scatter_params, call)->axis;
    ASC_REQUIRE(call, axis > 0 && axis < past->rank, "tensor_scatter: the axis is the batch's or outside the rank");
    ASC_REQUIRE(call, past->dtype == y->dtype && asc_same_dims(past, y), "tensor_scatter: shapes differ");
    ASC_REQUIRE(call, update->dtype == y->dtype && update->rank == y->rank, "tensor_scatter: the update differs");
    for (int i = 0; i < y->rank; i++)
        ASC_REQUIRE(call, i == axis || update->dims[i] == y->dims[i], "tensor_scatter: the update's dims differ");
    ASC_REQUIRE(call, update->dims[axis] <= y->dims[axis], "tensor_scatter: the update is longer than the axis");
    if (call->n_in > 2 && places->dtype != ASC_UNDEFINED)
        ASC_REQUIRE(call, places->rank == 1 && places->dims[0] == y->dims[0],
                    "tensor_scatter: not one place for each batch row");
    return ASC_OK;
}

int32_t ASC_FN(tensor_scatter_run)(const asc_call *call) {
    const asc_tensor *past = &call->in[0], *update = &call->in[1], *y = &call->out[0];
    asc_axis_split split;
    const asc_tensor_scatter_params *p = ASC_INTS_AS(asc_tensor_scatter_params, call);
    asc_split_axes(y, p->axis, 1, &split);
    int64_t bytes = split.inner * (int64_t)asc_dtype_bytes(y->dtype), m = update->dims[p->axis];
    if (split.outer * split.n * bytes == 0) return ASC_OK;
    if (y->data != past->data) memcpy(y->data, past->data, (size_t)(split.outer * split.n * bytes));
    int given = asc_has_input(call, 2), circular = p->circular != 0;
    int64_t per_row = split.outer / y->dims[0];
    const char *from = update->data;
    for (int64_t i = 0; i < split.outer; i++) {
        int64_t place = given ? asc_index_at(&call->in[2], i / per_row) : 0;
        if (place < 0 || (circular ? place >= split.n : place > split.n - m))
            return asc_fail_index(call, place, split.n);
        char *to = (char *)y->data + i * split.n * bytes;
        for (int64_t k = 0; k < m; k++, from += bytes) memcpy(to + (place + k) % split.n * bytes, from, (size_t)bytes);
    }
    return ASC_OK;
}
