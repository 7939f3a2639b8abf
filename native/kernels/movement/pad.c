/* pad: grows or crops every axis at both ends.
 *   in, optional value (scalar of in's type; absent = zero), optional pads and axes (int64) -> out
 * ints: asc_pad_params; with the operand pads, begins and then ends of the axes (of all without that operand), only
 *   the mode. Cropping comes before growing. */
#include <string.h>

#include "asc_plan.h"
#include "chunks.h"
#include "indexing.h"

typedef struct pad_axis {
    int64_t out, start, kept; /* length; first element kept and how many, after cropping */
    int64_t begin;            /* elements added before */
    int64_t stride;
} pad_axis;

typedef struct pad_job {
    pad_axis axes[ASC_MAX_RANK];
    int rank;
    int64_t mode, size, rows, per_chunk;
    char value[8];
} pad_job;

/* Position in the kept part for output position i, or -1 for the constant. */
static int64_t source_of(const pad_axis *axis, int64_t mode, int64_t i) {
    int64_t at = i - axis->begin, n = axis->kept;
    if (at >= 0 && at < n) return axis->start + at;
    if (mode == ASC_PAD_CONSTANT) return -1;
    if (mode == ASC_PAD_EDGE) return axis->start + (at < 0 ? 0 : n - 1);
    int64_t period = mode == ASC_PAD_WRAP || n == 1 ? n : 2 * n - 2;
    at %= period;
    if (at < 0) at += period;
    return axis->start + (at < n ? at : period - at);
}

static const asc_pad_params *params_of(const asc_call *call) {
    return ASC_INTS_AS(asc_pad_params, call);
}

/* Begins and ends of every axis, from the operands. onnxruntime takes an axis that is there twice, in its way. */
static int32_t read_pads(const asc_call *call, int64_t *pads) {
    const asc_tensor *given = &call->in[2];
    int rank = call->in[0].rank, chosen[ASC_MAX_RANK];
    int64_t count = asc_numel(given) / 2;
    for (int i = 0; i < rank; i++) chosen[i] = i;
    int32_t code = asc_has_input(call, 3) ? asc_read_axes(call, &call->in[3], rank, chosen, ASC_E_DECLARED) : ASC_OK;
    for (int i = 0; i < rank && code == ASC_OK; i++) {
        pads[i] = chosen[i] < 0 ? 0 : asc_index_at(given, chosen[i]);
        pads[rank + i] = chosen[i] < 0 ? 0 : asc_index_at(given, count + chosen[i]);
    }
    return code;
}

static int32_t describe_axes(const asc_call *call, const int64_t *pads, pad_axis *axes) {
    const asc_tensor *in = &call->in[0], *out = &call->out[0];
    int64_t stride = 1;
    for (int i = in->rank - 1; i >= 0; i--) {
        int64_t begin = pads[i], end = pads[in->rank + i], n = in->dims[i], kept = n, length;
        ASC_REQUIRE(call, begin >= -n && end >= -n, "pad: crops more than the axis has");
        kept += (begin < 0 ? begin : 0) + (end < 0 ? end : 0);
        ASC_REQUIRE(call, kept >= 0, "pad: crops more than the axis has");
        ASC_REQUIRE(call,
                    asc_add_ok(kept, begin > 0 ? begin : 0, &length) && asc_add_ok(length, end > 0 ? end : 0, &length),
                    "pad: the axis is too long");
        if (length != out->dims[i])
            return asc_fail(call->status, asc_has_input(call, 2) ? ASC_E_DECLARED : ASC_E_SHAPE,
                            "pad: the output's dims are wrong");
        ASC_REQUIRE(call, params_of(call)->mode == ASC_PAD_CONSTANT || kept > 0 || length == 0,
                    "pad: nothing to repeat in an empty axis");
        axes[i] = (pad_axis){length, begin < 0 ? -begin : 0, kept, begin > 0 ? begin : 0, stride};
        stride *= n;
    }
    return ASC_OK;
}

int32_t ASC_FN(pad_prepare)(asc_call *call) {
    const asc_tensor *in = &call->in[0], *out = &call->out[0];
    pad_axis axes[ASC_MAX_RANK];
    ASC_REQUIRE(call, in->rank == out->rank && in->dtype == out->dtype, "pad: ranks or types differ");
    int given = asc_has_input(call, 2);
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_pad_params) + (given ? 0 : 2 * in->rank),
                "pad takes its mode and two ints for each axis");
    ASC_REQUIRE(call, params_of(call)->mode >= 0 && params_of(call)->mode < ASC_PAD_COUNT, "pad: no such mode");
    if (asc_has_input(call, 1))
        ASC_REQUIRE(call, call->in[1].dtype == in->dtype && asc_numel(&call->in[1]) == 1,
                    "pad: the value is not one element of the data's type");
    if (!given) return describe_axes(call, params_of(call)->pads, axes);
    int64_t padded = asc_has_input(call, 3) ? asc_numel(&call->in[3]) : in->rank;
    ASC_REQUIRE(call, asc_numel(&call->in[2]) == 2 * padded, "pad: not two pads for each axis");
    return ASC_OK;
}

/* Neighbouring axes that only lead through all of their elements become one; nothing of the order changes. */
static void join_axes(pad_job *job, const int64_t *dims) {
    int made = 0, whole = 0;
    for (int i = 0; i < job->rank; i++) {
        pad_axis axis = job->axes[i], *last = &job->axes[made - 1];
        int unchanged = axis.kept == dims[i] && axis.out == dims[i];
        if (whole && unchanged)
            *last = (pad_axis){last->out * axis.out, 0, last->out * axis.out, 0, axis.stride};
        else
            job->axes[made++] = axis;
        whole = unchanged;
    }
    job->rank = made;
}

#define FILL(type)                                           \
    {                                                        \
        type v;                                              \
        memcpy(&v, value, sizeof v);                         \
        for (int64_t i = 0; i < n; i++) ((type *)to)[i] = v; \
    }                                                        \
    break

static void fill(char *to, const char *value, int64_t n, int64_t size) {
    switch (size) {
        case 1: FILL(uint8_t);
        case 2: FILL(uint16_t);
        case 4: FILL(uint32_t);
        default: FILL(uint64_t);
    }
}

static void pad_row(const pad_job *job, const char *from, char *to) {
    const pad_axis *axis = &job->axes[job->rank - 1];
    int64_t size = job->size, end = axis->begin + axis->kept;
    if (job->mode == ASC_PAD_CONSTANT) {
        fill(to, job->value, axis->begin, size);
        fill(to + end * size, job->value, axis->out - end, size);
    } else {
        for (int64_t i = 0; i < axis->out; i++) {
            if (i == axis->begin) i = end;
            if (i >= axis->out) break;
            memcpy(to + i * size, from + source_of(axis, job->mode, i) * size, (size_t)size);
        }
    }
    memcpy(to + axis->begin * size, from + axis->start * size, (size_t)(axis->kept * size));
}

static void pad_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const pad_job *job = arg;
    int64_t length = job->axes[job->rank - 1].out;
    int64_t end = (chunk + 1) * job->per_chunk < job->rows ? (chunk + 1) * job->per_chunk : job->rows;
    for (int64_t row = chunk * job->per_chunk; row < end; row++) {
        int64_t rest = row, offset = 0;
        int outside = 0;
        for (int i = job->rank - 2; i >= 0; i--) {
            int64_t at = source_of(&job->axes[i], job->mode, rest % job->axes[i].out);
            rest /= job->axes[i].out;
            outside |= at < 0;
            offset += at * job->axes[i].stride;
        }
        char *to = (char *)call->out[0].data + row * length * job->size;
        if (outside)
            fill(to, job->value, length, job->size);
        else
            pad_row(job, (const char *)call->in[0].data + offset * job->size, to);
    }
}

int32_t ASC_FN(pad_run)(const asc_call *call) {
    const asc_tensor *in = &call->in[0], *out = &call->out[0];
    pad_job job = {.rank = in->rank, .mode = params_of(call)->mode, .size = (int64_t)asc_dtype_bytes(in->dtype)};
    int64_t total = asc_numel(out);
    if (asc_has_input(call, 2)) {
        int64_t pads[2 * ASC_MAX_RANK];
        int32_t code = read_pads(call, pads);
        if (code == ASC_OK) code = describe_axes(call, pads, job.axes);
        if (code != ASC_OK) return code;
    } else {
        describe_axes(call, params_of(call)->pads, job.axes);
    }
    if (total == 0) return ASC_OK;
    join_axes(&job, in->dims);
    if (job.rank == 0) {
        job.rank = 1;
        job.axes[0] = (pad_axis){1, 0, 1, 0, 1};
    }
    if (call->n_in > 1 && call->in[1].data) memcpy(job.value, call->in[1].data, (size_t)job.size);
    job.rows = total / job.axes[job.rank - 1].out;
    job.per_chunk = asc_chunk_items(call, job.rows, total / job.rows * job.size);
    asc_parallel(call, asc_ceil_div(job.rows, job.per_chunk), pad_chunk, &job);
    return ASC_OK;
}
