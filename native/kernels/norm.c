/* layer_norm, rms_norm: normalisation of rows of float32, a row being the axes from `axis` on.
 *
 * layer_norm  x, scale?, bias? -> y, mean?, inverse deviation?
 *   ints: [axis, epilogue (0 none, 1 GELU with erf, 2 GELU with tanh)], floats: [epsilon]
 *   y = epilogue((x - mean) / sqrt(var + epsilon) * scale + bias), var = mean((x - mean)^2)
 * rms_norm    x, scale?, residual? -> y, sum?
 *   ints: [axis], floats: [epsilon]
 *   y = h / sqrt(mean(h^2) + epsilon) * scale with h = x + residual; sum = h
 *
 * scale and bias hold one element for each of the row; mean, deviation one for each row. */
#include <math.h>

#include "axis_split.h"
#include "chunks.h"
#include "gelu.h"
#include "row_sums.h"

typedef struct norm_job {
    int64_t rows, n, per_chunk;
    int64_t epilogue;
    int streams; /* y is stored past the caches */
    float epsilon;
    const float *x, *scale, *bias, *residual;
    float *y, *mean, *deviation, *sum;
} norm_job;

static const asc_tensor *given(const asc_tensor *operands, int32_t n, int32_t i) {
    return i < n && operands[i].dtype != ASC_UNDEFINED ? &operands[i] : NULL;
}
static void *data_of(const asc_tensor *operands, int32_t n, int32_t i) {
    const asc_tensor *t = given(operands, n, i);
    return t ? t->data : NULL;
}

static int32_t check_rows(asc_call *call, asc_axis_split *split) {
    ASC_REQUIRE(call, call->n_floats == 1, "a normalisation takes one float: epsilon");
    ASC_REQUIRE(call,
                call->ints[0] >= 0 && call->ints[0] <= call->in[0].rank &&
                    asc_split_axes(&call->in[0], call->ints[0], call->in[0].rank - call->ints[0], split),
                "a normalisation's axis is outside the rank");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "a normalisation's shapes differ");
    const asc_tensor *scale = given(call->in, call->n_in, 1);
    ASC_REQUIRE(call, !scale || asc_numel(scale) == split->n, "a normalisation's scale is not as long as its rows");
    return ASC_OK;
}

int32_t ASC_FN(layer_norm_prepare)(asc_call *call) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == 2, "layer_norm takes two ints: axis and epilogue");
    ASC_REQUIRE(call, call->ints[1] >= 0 && call->ints[1] <= 2, "layer_norm: no such epilogue");
    int32_t code = check_rows(call, &split);
    if (code != ASC_OK) return code;
    const asc_tensor *bias = given(call->in, call->n_in, 2);
    ASC_REQUIRE(call, !bias || asc_numel(bias) == split.n, "layer_norm: the bias is not as long as the rows");
    for (int i = 1; i < call->n_out; i++) {
        const asc_tensor *out = given(call->out, call->n_out, i);
        ASC_REQUIRE(call, !out || asc_numel(out) == split.outer, "layer_norm: a statistic is not one for each row");
    }
    return ASC_OK;
}

int32_t ASC_FN(rms_norm_prepare)(asc_call *call) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == 1, "rms_norm takes one int: the axis");
    int32_t code = check_rows(call, &split);
    if (code != ASC_OK) return code;
    const asc_tensor *residual = given(call->in, call->n_in, 2), *sum = given(call->out, call->n_out, 1);
    ASC_REQUIRE(call, !residual || asc_same_dims(residual, &call->in[0]), "rms_norm: the residual's shape differs");
    ASC_REQUIRE(call, !sum || asc_same_dims(sum, &call->in[0]), "rms_norm: the sum's shape differs");
    return ASC_OK;
}

/* Where a row's operands and results are; residual and sum may be NULL. */
typedef struct norm_row {
    const float *x, *residual;
    float *y, *sum;
} norm_row;

static inline norm_row row_at(const norm_job *job, int64_t row) {
    int64_t at = row * job->n;
    return (norm_row){job->x + at, job->residual ? job->residual + at : NULL, job->y + at,
                      job->sum ? job->sum + at : NULL};
}

static inline vf affine(const norm_job *job, vf h, int64_t i, vf shift, vf factor, int64_t epilogue) {
    vf v = (h - shift) * factor;
    if (job->scale) v *= vf_load(job->scale + i);
    if (job->bias) v += vf_load(job->bias + i);
    return epilogue == 1 ? vf_gelu_erf(v) : epilogue == 2 ? vf_gelu_tanh(v) : v;
}

static inline vf affine_tail(const norm_job *job, vf h, int64_t i, vf shift, vf factor, int64_t epilogue) {
    int64_t lanes = job->n - i;
    vf v = (h - shift) * factor;
    if (job->scale) v *= vf_load_tail(job->scale + i, lanes, 0.0f);
    if (job->bias) v += vf_load_tail(job->bias + i, lanes, 0.0f);
    return epilogue == 1 ? vf_gelu_erf(v) : epilogue == 2 ? vf_gelu_tanh(v) : v;
}

/* Four vectors of sum = h = x + residual and of y: loads stand before stores, so that the compiler may take the
 * steps of the four chains side by side. */
static inline __attribute__((always_inline)) void affine_turn(const norm_job *job, const norm_row *r, int64_t i,
                                                              vf shift, vf factor, int64_t epilogue, int stream) {
    vf h[4], v[4];
    for (int u = 0; u < 4; u++) {
        int64_t at = i + u * ASC_VF;
        h[u] = vf_load(r->x + at);
        if (r->residual) h[u] += vf_load(r->residual + at);
        v[u] = affine(job, h[u], at, shift, factor, epilogue);
    }
    if (r->sum)
        for (int u = 0; u < 4; u++) vf_store(r->sum + i + u * ASC_VF, h[u]);
    for (int u = 0; u < 4; u++)
        if (stream)
            vf_stream(r->y + i + u * ASC_VF, v[u]);
        else
            vf_store(r->y + i + u * ASC_VF, v[u]);
}

/* y = epilogue((h - shift) * factor * scale + bias), past the caches where that pays and y is aligned: two outputs at
 * once there are slower than one. */
static inline __attribute__((always_inline)) void affine_row(const norm_job *job, norm_row r, vf shift, vf factor,
                                                             int64_t epilogue) {
    int64_t i = 0, n = job->n;
    if (job->streams && (uintptr_t)r.y % sizeof(vf) == 0)
        for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) affine_turn(job, &r, i, shift, factor, epilogue, 1);
    for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) affine_turn(job, &r, i, shift, factor, epilogue, 0);
    for (; i + ASC_VF <= n; i += ASC_VF) {
        vf h = vf_load(r.x + i);
        if (r.residual) h += vf_load(r.residual + i);
        if (r.sum) vf_store(r.sum + i, h);
        vf_store(r.y + i, affine(job, h, i, shift, factor, epilogue));
    }
    if (i < n) {
        vf h = vf_load_tail(r.x + i, n - i, 0.0f);
        if (r.residual) h += vf_load_tail(r.residual + i, n - i, 0.0f);
        if (r.sum) vf_store_tail(r.sum + i, h, n - i);
        vf_store_tail(r.y + i, affine_tail(job, h, i, shift, factor, epilogue), n - i);
    }
}

/* The sum over a row is begun before the row above it is finished, so that neither waits for the other's fold. */
static inline __attribute__((always_inline)) void layer_norm_rows(const norm_job *job, int64_t row, int64_t end,
                                                                  int64_t epilogue) {
    int64_t n = job->n;
    const float *x = job->x + row * n;
    float sum = asc_row_sum(x, n);
    for (; row < end; row++, x += n) {
        float mean = sum / (float)n;
        float var = asc_row_deviation(x, n, vf_set(mean)) / (float)n;
        float factor = 1.0f / sqrtf(var + job->epsilon);
        if (row + 1 < end) sum = asc_row_sum(x + n, n);
        if (job->mean) job->mean[row] = mean;
        if (job->deviation) job->deviation[row] = factor;
        affine_row(job, (norm_row){x, NULL, job->y + row * n, NULL}, vf_set(mean), vf_set(factor), epilogue);
    }
    if (job->streams) finish_streams();
}

static void layer_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const norm_job own = *(const norm_job *)arg, *job = &own; /* whose fields no store can change */
    int64_t row = chunk * job->per_chunk, end = row + job->per_chunk < job->rows ? row + job->per_chunk : job->rows;
    if (job->epilogue == 0)
        layer_norm_rows(job, row, end, 0);
    else if (job->epilogue == 1)
        layer_norm_rows(job, row, end, 1);
    else
        layer_norm_rows(job, row, end, 2);
}

/* Sum of h^2 */
static inline float row_squares(norm_row r, int64_t n) {
    return r.residual ? asc_rows_squares(r.x, r.residual, n) : asc_row_squares(r.x, n);
}

static void rms_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const norm_job own = *(const norm_job *)arg, *job = &own; /* whose fields no store can change */
    int64_t n = job->n, row = chunk * job->per_chunk;
    int64_t end = row + job->per_chunk < job->rows ? row + job->per_chunk : job->rows;
    float squares = row_squares(row_at(job, row), n);
    for (; row < end; row++) {
        vf factor = vf_set(1.0f / sqrtf(squares / (float)n + job->epsilon));
        if (row + 1 < end) squares = row_squares(row_at(job, row + 1), n);
        affine_row(job, row_at(job, row), (vf){0}, factor, 0);
    }
    if (job->streams) finish_streams();
}

static int32_t run(const asc_call *call, norm_job *job, asc_chunk_fn fn, int64_t cost) {
    asc_axis_split split;
    asc_split_axes(&call->in[0], call->ints[0], call->in[0].rank - call->ints[0], &split);
    job->rows = split.outer;
    job->n = split.n;
    job->x = call->in[0].data;
    job->y = call->out[0].data;
    job->scale = data_of(call->in, call->n_in, 1);
    job->epsilon = (float)call->floats[0];
    if (job->rows == 0 || (job->n == 0 && !job->mean && !job->deviation)) return ASC_OK;
    int64_t tensors = 2 + (job->residual != NULL) + (job->sum != NULL);
    job->streams = job->rows * job->n * tensors * (int64_t)sizeof(float) >= ASC_STREAM_BYTES;
    job->per_chunk = asc_chunk_items(call, job->rows, job->n * cost);
    asc_parallel(call, asc_ceil_div(job->rows, job->per_chunk), fn, job);
    return ASC_OK;
}

int32_t ASC_FN(layer_norm_run)(const asc_call *call) {
    norm_job job = {.epilogue = call->ints[1], .bias = data_of(call->in, call->n_in, 2)};
    job.mean = data_of(call->out, call->n_out, 1);
    job.deviation = data_of(call->out, call->n_out, 2);
    return run(call, &job, layer_norm_chunk, job.epilogue ? 24 : 8);
}

int32_t ASC_FN(rms_norm_run)(const asc_call *call) {
    norm_job job = {.residual = data_of(call->in, call->n_in, 2), .sum = data_of(call->out, call->n_out, 1)};
    return run(call, &job, rms_norm_chunk, 8);
}
