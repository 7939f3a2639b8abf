/* layer_norm, rms_norm: normalisation of rows of float32, a row being the axes from `axis` on.
 *
 * layer_norm  x, scale?, bias? -> y, mean?, inverse deviation?
 *   ints: asc_layer_norm_params, floats: [epsilon]
 *   y = epilogue((x - mean) / sqrt(var + epsilon) * scale + bias), var = mean((x - mean)^2)
 * rms_norm    x, scale?, residual? -> y, sum?
 *   ints: asc_rms_norm_params, floats: [epsilon]
 *   y = h / sqrt(mean(h^2) + epsilon) * scale with h = x + residual; sum = h
 *
 * y may be bfloat16: rounded as it is stored.
 * scale and bias hold one element for each of the row; mean, deviation one for each row. */
#include "asc_plan.h"
#include "axis_split.h"
#include "bfloat16.h"
#include "chunks.h"
#include "gelu.h"
#include "norm_lines.h"

/* What prepare finds out; a run takes a copy, and points it at its operands. */
typedef struct norm_job {
    int64_t rows, n, per_chunk;
    int64_t epilogue;
    int streams; /* y is stored past the caches, two outputs at once there being slower than one */
    float epsilon;
    const float *x, *scale, *bias, *residual;
    float *y, *sum, *mean, *deviation;
    uint16_t *narrow; /* y in bfloat16, or NULL; then there is room for one row at y */
} norm_job;
ASC_KERNEL_NOTE(layer_norm, norm_job)
ASC_KERNEL_NOTE(rms_norm, norm_job)

static const asc_tensor *given(const asc_tensor *operands, int32_t n, int32_t i) {
    return i < n && operands[i].dtype != ASC_UNDEFINED ? &operands[i] : NULL;
}
static void *data_of(const asc_tensor *operands, int32_t n, int32_t i) {
    const asc_tensor *t = given(operands, n, i);
    return t ? t->data : NULL;
}

/* Floats of a worker's room for a row that is to be rounded. */
static int64_t room_floats(int64_t n) {
    return asc_ceil_div(n, 16) * 16;
}

/* The first of the axes that are normalised; both kernels have it there. */
static int64_t axis_of(const asc_call *call) {
    return ASC_INTS_AS(asc_rms_norm_params, call)->axis;
}

static int64_t epilogue_of(const asc_call *call) {
    return ASC_INTS_AS(asc_layer_norm_params, call)->epilogue;
}

/* The note. `tensors`: those as large as x; `cost`: of an element. */
static void note(asc_call *call, const asc_axis_split *split, int64_t epilogue, int64_t tensors, int64_t cost) {
    norm_job *job = call->note;
    *job = (norm_job){.rows = split->outer, .n = split->n, .epilogue = epilogue};
    job->epsilon = (float)ASC_FLOATS_AS(asc_norm_floats, call)->epsilon;
    double bytes = (double)job->rows * (double)job->n * (double)tensors * sizeof(float);
    int pays = bytes >= ASC_STREAM_BYTES && !epilogue;
    job->streams = pays && call->out[0].dtype == ASC_FLOAT32 && job->n % ASC_VF == 0;
    job->per_chunk = asc_chunk_items(call, job->rows, asc_least(job->n, 1 << 30) * cost);
}

static int32_t check_rows(asc_call *call, asc_axis_split *split) {
    ASC_REQUIRE(call, call->n_floats == ASC_MEMBERS(asc_norm_floats), "a normalisation takes one float: epsilon");
    int64_t axis = axis_of(call), rank = call->in[0].rank;
    ASC_REQUIRE(call, axis >= 0 && axis <= rank && asc_split_axes(&call->in[0], axis, rank - axis, split),
                "a normalisation's axis is outside the rank");
    ASC_REQUIRE(call, asc_same_dims(&call->in[0], &call->out[0]), "a normalisation's shapes differ");
    const asc_tensor *scale = given(call->in, call->n_in, 1);
    ASC_REQUIRE(call, !scale || asc_numel(scale) == split->n, "a normalisation's scale is not as long as its rows");
    if (call->out[0].dtype == ASC_BFLOAT16)
        call->workspace_bytes = (uint64_t)(room_floats(split->n) * call->threads) * sizeof(float);
    return ASC_OK;
}

int32_t ASC_FN(layer_norm_prepare)(asc_call *call) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_layer_norm_params),
                "layer_norm takes two ints: axis and epilogue");
    ASC_REQUIRE(call, epilogue_of(call) >= 0 && epilogue_of(call) < ASC_NORM_EPILOGUE_COUNT,
                "layer_norm: no such epilogue");
    int32_t code = check_rows(call, &split);
    if (code != ASC_OK) return code;
    const asc_tensor *bias = given(call->in, call->n_in, 2);
    ASC_REQUIRE(call, !bias || asc_numel(bias) == split.n, "layer_norm: the bias is not as long as the rows");
    for (int i = 1; i < call->n_out; i++) {
        const asc_tensor *out = given(call->out, call->n_out, i);
        ASC_REQUIRE(call, !out || asc_numel(out) == split.outer, "layer_norm: a statistic is not one for each row");
    }
    note(call, &split, epilogue_of(call), 2, epilogue_of(call) ? 24 : 8);
    return ASC_OK;
}

int32_t ASC_FN(rms_norm_prepare)(asc_call *call) {
    asc_axis_split split;
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_rms_norm_params), "rms_norm takes one int: the axis");
    int32_t code = check_rows(call, &split);
    if (code != ASC_OK) return code;
    const asc_tensor *residual = given(call->in, call->n_in, 2), *sum = given(call->out, call->n_out, 1);
    ASC_REQUIRE(call, !residual || asc_same_dims(residual, &call->in[0]), "rms_norm: the residual's shape differs");
    ASC_REQUIRE(call, !sum || asc_same_dims(sum, &call->in[0]), "rms_norm: the sum's shape differs");
    note(call, &split, ASC_NORM_EPILOGUE_NONE, 2 + (residual != NULL) + (sum != NULL), 8);
    return ASC_OK;
}

/* y = epilogue(y), of a row that is in the cache. */
static inline __attribute__((always_inline)) void apply(vf (*epilogue)(vf), float *y, int64_t n) {
    int64_t i = 0;
    for (; i + 2 * ASC_VF <= n; i += 2 * ASC_VF) {
        vf first = epilogue(vf_load(y + i)), second = epilogue(vf_load(y + i + ASC_VF));
        vf_store(y + i, first);
        vf_store(y + i + ASC_VF, second);
    }
    for (; i < n; i += ASC_VF) {
        int64_t lanes = n - i < ASC_VF ? n - i : ASC_VF;
        norm_store(y + i, epilogue(norm_load(y + i, lanes)), lanes);
    }
}

/* The job as one worker does it. */
static norm_job own_job(const norm_job *all, int32_t worker) {
    norm_job own = *all;
    if (own.narrow) own.y += worker * room_floats(own.n);
    return own;
}

/* A row that was finished in its room, to where it belongs. */
static void store_narrow(const norm_job *job, int64_t row) {
    const float *y = job->y;
    uint16_t *to = job->narrow + row * job->n;
    int64_t i = 0, n = job->n;
    for (; i + ASC_VF <= n; i += ASC_VF) vf_store_bf16(to + i, vf_load(y + i));
    if (i < n) vf_store_bf16_tail(to + i, vf_load_tail(y + i, n - i, 0), n - i);
}

static inline __attribute__((always_inline)) norm_row row_at(const norm_job *job, int64_t row, norm_kind kind) {
    int64_t at = row * job->n;
    return (norm_row){job->x + at, kind.residual ? job->residual + at : NULL, job->y + (job->narrow ? 0 : at),
                      kind.sum ? job->sum + at : NULL};
}

/* A pass that finishes a row, and does nothing else yet. */
static inline __attribute__((always_inline)) norm_pass finishing(const norm_job *job, int64_t row, float shift,
                                                                 float factor, norm_kind kind) {
    norm_pass p = {.n = job->n, .kind = kind, .finishes = 1, .finished = row_at(job, row, kind)};
    p.scale = job->scale, p.bias = job->bias;
    p.shift = vf_set(shift), p.factor = vf_set(factor);
    return p;
}

/* While a row is finished, the deviations of the next are summed, and the row after that. */
static inline __attribute__((always_inline)) void layer_norm_rows(const norm_job *job, int64_t row, int64_t end,
                                                                  norm_kind kind) {
    int64_t n = job->n;
    const float *x = job->x + row * n;
    float mean = asc_row_sum(x, n) / (float)n, deviation = asc_row_deviation(x, n, vf_set(mean));
    float next = row + 1 < end ? asc_row_sum(x + n, n) / (float)n : 0;
    for (; row < end; row++) {
        float factor = norm_factor(deviation, n, job->epsilon);
        if (job->mean) job->mean[row] = mean;
        if (job->deviation) job->deviation[row] = factor;
        norm_pass p = finishing(job, row, mean, factor, kind);
        if (row + 1 < end) {
            p.deviates = p.sums = 1;
            p.deviating = job->x + (row + 1) * n, p.mean = vf_set(next);
            p.summed = row_at(job, row + 2 < end ? row + 2 : row + 1, kind); /* there is always a row to sum */
            norm_sums sums = norm_run(&p);
            mean = next, deviation = sums.deviation, next = sums.sum / (float)n;
        } else {
            norm_run(&p);
        }
        if (job->epilogue == ASC_NORM_EPILOGUE_GELU) apply(vf_gelu_erf, p.finished.y, n);
        if (job->epilogue == ASC_NORM_EPILOGUE_GELU_TANH) apply(vf_gelu_tanh, p.finished.y, n);
        if (job->narrow) store_narrow(job, row);
    }
    if (kind.streams) finish_streams();
}

static void layer_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call;
    const norm_job own = own_job(arg, worker), *job = &own; /* whose fields no store can change */
    int64_t row = chunk * job->per_chunk, end = row + job->per_chunk < job->rows ? row + job->per_chunk : job->rows;
    norm_kind kind = {.scale = job->scale != NULL, .bias = job->bias != NULL, .streams = job->streams};
    if (!kind.scale || !kind.bias)
        layer_norm_rows(job, row, end, kind);
    else if (kind.streams)
        layer_norm_rows(job, row, end, (norm_kind){.scale = 1, .bias = 1, .streams = 1});
    else
        layer_norm_rows(job, row, end, (norm_kind){.scale = 1, .bias = 1});
}

/* While a row is finished, the squares of the next are summed. */
static inline __attribute__((always_inline)) void rms_norm_rows(const norm_job *job, int64_t row, int64_t end,
                                                                norm_kind kind) {
    norm_pass first = {.n = job->n, .kind = kind, .sums = 1, .summed = row_at(job, row, kind)};
    float squares = norm_run(&first).sum;
    for (; row < end; row++) {
        float factor = norm_factor(squares, job->n, job->epsilon);
        norm_pass p = finishing(job, row, 0, factor, kind);
        if (row + 1 == end) {
            norm_run(&p);
        } else {
            p.sums = 1, p.summed = row_at(job, row + 1, kind);
            squares = norm_run(&p).sum;
        }
        if (job->narrow) store_narrow(job, row);
    }
    if (kind.streams) finish_streams();
}

/* The same of rows that begin `past` elements into a line. */
static void rms_norm_lines(const norm_job *job, int64_t row, int64_t end, int64_t past) {
    norm_kind kind = {.rms = 1, .scale = 1};
    norm_pass first = {.n = job->n, .kind = kind, .summed = row_at(job, row, kind)};
    float squares = norm_run_lines(&first, past);
    for (; row + 1 < end; row++) {
        norm_pass p = finishing(job, row, 0, norm_factor(squares, job->n, job->epsilon), kind);
        p.summed = row_at(job, row + 1, kind);
        squares = norm_run_lines(&p, past);
    }
    norm_pass last = finishing(job, row, 0, norm_factor(squares, job->n, job->epsilon), kind);
    norm_run(&last);
}

static void rms_norm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call;
    const norm_job own = own_job(arg, worker), *job = &own; /* whose fields no store can change */
    int64_t row = chunk * job->per_chunk, end = row + job->per_chunk < job->rows ? row + job->per_chunk : job->rows;
    norm_kind kind = {.rms = 1, .scale = job->scale != NULL, .streams = job->streams};
    int64_t past = job->narrow ? 0 : norm_past(job->x, job->n);
    kind.residual = job->residual != NULL, kind.sum = job->sum != NULL;
    if (!kind.scale || kind.residual != kind.sum)
        rms_norm_rows(job, row, end, kind);
    else if (kind.residual && kind.streams)
        rms_norm_rows(job, row, end, (norm_kind){.rms = 1, .scale = 1, .residual = 1, .sum = 1, .streams = 1});
    else if (kind.residual)
        rms_norm_rows(job, row, end, (norm_kind){.rms = 1, .scale = 1, .residual = 1, .sum = 1});
    else if (kind.streams)
        rms_norm_rows(job, row, end, (norm_kind){.rms = 1, .scale = 1, .streams = 1});
    else if (past)
        rms_norm_lines(job, row, end, past);
    else
        rms_norm_rows(job, row, end, (norm_kind){.rms = 1, .scale = 1});
}

static int32_t run(const asc_call *call, norm_job *job, asc_chunk_fn fn) {
    if (job->rows == 0 || (job->n == 0 && !job->mean && !job->deviation)) return ASC_OK;
    job->x = call->in[0].data;
    job->narrow = call->out[0].dtype == ASC_BFLOAT16 ? call->out[0].data : NULL;
    job->y = job->narrow ? call->workspace : call->out[0].data;
    job->scale = data_of(call->in, call->n_in, 1);
    job->streams = job->streams && (uintptr_t)job->y % sizeof(vf) == 0;
    asc_parallel(call, asc_ceil_div(job->rows, job->per_chunk), fn, job);
    return ASC_OK;
}

int32_t ASC_FN(layer_norm_run)(const asc_call *call) {
    norm_job job = *(const norm_job *)call->note;
    job.bias = data_of(call->in, call->n_in, 2);
    job.mean = data_of(call->out, call->n_out, 1);
    job.deviation = data_of(call->out, call->n_out, 2);
    return run(call, &job, layer_norm_chunk);
}

int32_t ASC_FN(rms_norm_run)(const asc_call *call) {
    norm_job job = *(const norm_job *)call->note;
    job.residual = data_of(call->in, call->n_in, 2);
    job.sum = data_of(call->out, call->n_out, 1);
    return run(call, &job, rms_norm_chunk);
}

static void schedule(const asc_call *call, char *text, size_t room) {
    const norm_job *job = call->note;
    if (job->rows == 0)
        asc_format(text, room, ASC_NO_SCHEDULE);
    else
        asc_say_chunks(call, job->streams ? "rows_past_caches" : "rows", asc_ceil_div(job->rows, job->per_chunk), text,
                       room);
}

void ASC_FN(layer_norm_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}

void ASC_FN(rms_norm_schedule)(const asc_call *call, char *text, size_t room) {
    schedule(call, text, room);
}
