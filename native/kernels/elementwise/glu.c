/* swiglu: silu(gate) * up of float32, silu(x) = x / (1 + exp(-x)).
 *   two inputs   gate, up [..., N] -> y [..., N]
 *   one input    x [..., 2N] -> y [..., N]
 *   inputs may have strides, but for their last axis; y may be bfloat16: rounded as it is stored
 * ints: asc_swiglu_params
 * Source: Shazeer, GLU Variants Improve Transformer, 2020. */
#include "asc_plan.h"
#include "bfloat16.h"
#include "chunks.h"
#include "swiglu.h"

typedef struct glu_job {
    int64_t rows, n, blocks, per_chunk;
    const float *gate, *up;
    const asc_tensor *gate_rows, *up_rows; /* the tensors whose leading axes locate a row of each */
    int flat;                              /* rows follow each other without gaps: one long row */
    int64_t step;                          /* elements from column to column: 2 when interleaved */
    int up_first;                          /* of one input: what is let through comes before the gate */
    void *y;
    int narrow;  /* y is bfloat16 */
    int streams; /* y is stored past the caches */
} glu_job;
ASC_KERNEL_NOTE(swiglu, glu_job)

#define COLUMNS 4096 /* of one item */

/* No rows where there is nothing to write. */
static void find_job(const asc_call *call, glu_job *job) {
    const asc_tensor *y = &call->out[0];
    int64_t total = asc_numel(y);
    if (total == 0) return;
    *job = (glu_job){.n = y->rank ? y->dims[y->rank - 1] : 1, .step = 1};
    job->rows = total / job->n;
    if (asc_has_input(call, 1)) {
        job->flat = asc_contiguous(&call->in[0]) && asc_contiguous(&call->in[1]);
    } else {
        const asc_swiglu_params *p = ASC_INTS_AS(asc_swiglu_params, call);
        job->step = p->interleaved ? 2 : 1;
        job->up_first = p->up_first != 0;
    }
    if (job->flat) job->n = total, job->rows = 1;
    job->narrow = y->dtype == ASC_BFLOAT16;
    job->streams = !job->narrow && 3 * (double)total * sizeof(float) >= ASC_STREAM_BYTES;
    job->blocks = asc_ceil_div(job->n, COLUMNS);
    job->per_chunk = asc_chunk_items(call, job->rows * job->blocks, asc_least(job->n, COLUMNS) * 16);
}

int32_t ASC_FN(swiglu_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0], *y = &call->out[0];
    ASC_REQUIRE(call, call->n_ints == ASC_MEMBERS(asc_swiglu_params), "swiglu takes two ints: up first, interleaved");
    for (int i = 0; i < call->n_in; i++) {
        const asc_tensor *t = &call->in[i];
        ASC_REQUIRE(call, asc_contiguous(t) || t->strides[t->rank - 1] == 1 || t->dims[t->rank - 1] == 1,
                    "swiglu: the last axis of an input has a stride");
    }
    if (asc_has_input(call, 1)) {
        ASC_REQUIRE(call, asc_same_dims(x, &call->in[1]) && asc_same_dims(x, y), "swiglu: shapes differ");
        find_job(call, call->note);
        return ASC_OK;
    }
    ASC_REQUIRE(call, x->rank >= 1 && x->rank == y->rank, "swiglu: ranks differ");
    int last = x->rank - 1;
    ASC_REQUIRE(call, x->dims[last] % 2 == 0 && x->dims[last] / 2 == y->dims[last],
                "swiglu: the input's last axis is not twice the output's");
    for (int i = 0; i < last; i++) ASC_REQUIRE(call, x->dims[i] == y->dims[i], "swiglu: dims differ");
    find_job(call, call->note);
    return ASC_OK;
}

/* Loads stand before stores, so that the compiler may take the steps of the four chains side by side. */
static inline __attribute__((always_inline)) void swiglu_row(const float *gate, const float *up, void *y, int64_t n,
                                                             int streams, int narrow) {
    int64_t i = 0;
    if (streams && (uintptr_t)y % sizeof(vf) == 0)
        for (; i + ASC_VF <= n; i += ASC_VF) vf_stream((float *)y + i, vf_swiglu(vf_load(gate + i), vf_load(up + i)));
    for (; i + 4 * ASC_VF <= n; i += 4 * ASC_VF) {
        vf v[4];
        for (int u = 0; u < 4; u++) v[u] = vf_swiglu(vf_load(gate + i + u * ASC_VF), vf_load(up + i + u * ASC_VF));
        for (int u = 0; u < 4; u++) image_store(y, i + u * ASC_VF, v[u], narrow, 0, 0);
    }
    for (; i + ASC_VF <= n; i += ASC_VF) image_store(y, i, vf_swiglu(vf_load(gate + i), vf_load(up + i)), narrow, 0, 0);
    if (i == n) return;
    vf last = vf_swiglu(vf_load_tail(gate + i, n - i, 0), vf_load_tail(up + i, n - i, 0));
    image_store(y, i, last, narrow, 1, n - i);
}

static void swiglu_pairs(const float *gate, const float *up, void *y, int64_t n, int narrow) {
    float g[ASC_VF] = {0}, u[ASC_VF] = {0};
    for (int64_t i = 0; i < n; i += ASC_VF) {
        int64_t lanes = n - i < ASC_VF ? n - i : ASC_VF;
        for (int64_t j = 0; j < lanes; j++) {
            g[j] = gate[2 * (i + j)];
            u[j] = up[2 * (i + j)];
        }
        image_store(y, i, vf_swiglu(vf_load(g), vf_load(u)), narrow, lanes < ASC_VF, lanes);
    }
}

/* Elements before row `row` of t: its leading axes, row-major. */
static int64_t row_offset(const asc_tensor *t, int64_t row) {
    int64_t offset = 0;
    for (int i = t->rank - 2; i >= 0; i--) {
        offset += row % t->dims[i] * t->strides[i];
        row /= t->dims[i];
    }
    return offset;
}

static void swiglu_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    const glu_job *job = arg;
    int64_t items = job->rows * job->blocks;
    int64_t end = (chunk + 1) * job->per_chunk < items ? (chunk + 1) * job->per_chunk : items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t row = i / job->blocks, column = i % job->blocks * COLUMNS, n = job->n - column;
        if (n > COLUMNS) n = COLUMNS;
        const float *gate = job->gate + column * job->step, *up = job->up + column * job->step;
        if (!job->flat) {
            gate += row_offset(job->gate_rows, row);
            up += row_offset(job->up_rows, row);
        }
        void *y = (char *)job->y + (row * job->n + column) * (job->narrow ? 2 : 4);
        if (job->step != 1)
            swiglu_pairs(gate, up, y, n, job->narrow);
        else if (job->narrow)
            swiglu_row(gate, up, y, n, 0, 1);
        else
            swiglu_row(gate, up, y, n, job->streams, 0);
    }
    if (job->streams) finish_streams();
}

int32_t ASC_FN(swiglu_run)(const asc_call *call) {
    glu_job job = *(const glu_job *)call->note;
    if (job.rows == 0) return ASC_OK;
    job.y = call->out[0].data;
    job.gate = call->in[0].data;
    job.gate_rows = job.up_rows = &call->in[0];
    if (asc_has_input(call, 1)) {
        job.up = call->in[1].data;
        job.up_rows = &call->in[1];
    } else {
        const float *second = job.gate + (job.step == 2 ? 1 : job.n);
        job.up = job.up_first ? job.gate : second;
        job.gate = job.up_first ? second : job.gate;
    }
    asc_parallel(call, asc_ceil_div(job.rows * job.blocks, job.per_chunk), swiglu_chunk, &job);
    return ASC_OK;
}
