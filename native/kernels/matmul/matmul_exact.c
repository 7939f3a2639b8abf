/* matmul_exact: Y = A B in the type itself, float64 or integers (which wrap), with numpy's batch broadcasting.
 *   A [.., M, K], B [.., K, N] -> Y [.., M, N]; contiguous, of rank 2 or more
 * The terms of an element are added in the order of K, whatever the batch and the threads. */
#include <string.h>

#include "chunks.h"
#include "isa.h"

#define ROWS 4 /* of A that read a row of B together */
#define COLUMNS 32

typedef struct exact_job {
    int64_t m, k, n, row_blocks, column_blocks, per_chunk, items;
    int axes; /* batch axes */
    int64_t dims[ASC_MAX_RANK], a_strides[ASC_MAX_RANK], b_strides[ASC_MAX_RANK];
} exact_job;

/* A block of up to ROWS x COLUMNS of Y. */
#define BLOCK(name, type, sum_type)                                                                                \
    static void name(const exact_job *job, const type *a, const type *b, type *y, int64_t rows, int64_t columns) { \
        sum_type sums[ROWS][COLUMNS] = {{0}};                                                                      \
        for (int64_t k = 0; k < job->k; k++, b += job->n)                                                          \
            for (int64_t r = 0; r < rows; r++) {                                                                   \
                sum_type x = (sum_type)a[r * job->k + k];                                                          \
                if (columns == COLUMNS)                                                                            \
                    for (int64_t c = 0; c < COLUMNS; c++) sums[r][c] += x * (sum_type)b[c];                        \
                else                                                                                               \
                    for (int64_t c = 0; c < columns; c++) sums[r][c] += x * (sum_type)b[c];                        \
            }                                                                                                      \
        for (int64_t r = 0; r < rows; r++)                                                                         \
            for (int64_t c = 0; c < columns; c++) y[r * job->n + c] = (type)sums[r][c];                            \
    }
BLOCK(block_f64, double, double)
BLOCK(block_i32, int32_t, uint32_t)
BLOCK(block_i64, int64_t, uint64_t)

static void exact_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const exact_job *job = arg;
    int32_t dtype = call->in[0].dtype;
    int64_t size = (int64_t)asc_dtype_bytes(dtype);
    int64_t end = (chunk + 1) * job->per_chunk < job->items ? (chunk + 1) * job->per_chunk : job->items;
    for (int64_t i = chunk * job->per_chunk; i < end; i++) {
        int64_t column = i % job->column_blocks * COLUMNS, row = i / job->column_blocks % job->row_blocks * ROWS;
        int64_t batch = i / job->column_blocks / job->row_blocks, rest = batch;
        int64_t a = row * job->k, b = column, y = (batch * job->m + row) * job->n + column;
        for (int axis = job->axes - 1; axis >= 0; axis--) {
            a += rest % job->dims[axis] * job->a_strides[axis];
            b += rest % job->dims[axis] * job->b_strides[axis];
            rest /= job->dims[axis];
        }
        int64_t rows = job->m - row < ROWS ? job->m - row : ROWS;
        int64_t columns = job->n - column < COLUMNS ? job->n - column : COLUMNS;
        const char *left = (const char *)call->in[0].data + a * size,
                   *right = (const char *)call->in[1].data + b * size;
        char *to = (char *)call->out[0].data + y * size;
        if (dtype == ASC_FLOAT64)
            block_f64(job, (const double *)left, (const double *)right, (double *)to, rows, columns);
        else if (dtype == ASC_INT32)
            block_i32(job, (const int32_t *)left, (const int32_t *)right, (int32_t *)to, rows, columns);
        else
            block_i64(job, (const int64_t *)left, (const int64_t *)right, (int64_t *)to, rows, columns);
    }
}

/* Strides of an operand along Y's batch axes, 0 where it is repeated; whether it fits. */
static int read_batch(const exact_job *job, const asc_tensor *t, int64_t *strides) {
    int own = t->rank - 2;
    int64_t stride = t->dims[own] * t->dims[own + 1];
    if (own > job->axes) return 0;
    for (int axis = job->axes - 1; axis >= 0; axis--) {
        int at = axis - (job->axes - own);
        int64_t dim = at < 0 ? 1 : t->dims[at];
        if (dim != 1 && dim != job->dims[axis]) return 0;
        strides[axis] = dim == 1 ? 0 : stride;
        stride *= dim;
    }
    return 1;
}

static int describe(const asc_call *call, exact_job *job) {
    const asc_tensor *a = &call->in[0], *b = &call->in[1], *y = &call->out[0];
    memset(job, 0, sizeof *job);
    if (a->rank < 2 || b->rank < 2 || y->rank < 2) return 0;
    job->m = a->dims[a->rank - 2];
    job->k = a->dims[a->rank - 1];
    job->n = b->dims[b->rank - 1];
    job->axes = y->rank - 2;
    memcpy(job->dims, y->dims, sizeof job->dims);
    return b->dims[b->rank - 2] == job->k && y->dims[y->rank - 2] == job->m && y->dims[y->rank - 1] == job->n &&
           read_batch(job, a, job->a_strides) && read_batch(job, b, job->b_strides);
}

int32_t ASC_FN(matmul_exact_prepare)(asc_call *call) {
    exact_job job;
    ASC_REQUIRE(call, call->n_ints == 0 && call->n_floats == 0, "matmul_exact takes no arguments");
    ASC_REQUIRE(call, describe(call, &job), "matmul_exact: the shapes do not fit");
    return ASC_OK;
}

int32_t ASC_FN(matmul_exact_run)(const asc_call *call) {
    exact_job job;
    int64_t total = asc_numel(&call->out[0]);
    if (total == 0) return ASC_OK;
    describe(call, &job);
    job.row_blocks = asc_ceil_div(job.m, ROWS);
    job.column_blocks = asc_ceil_div(job.n, COLUMNS);
    job.items = total / (job.m * job.n) * job.row_blocks * job.column_blocks;
    job.per_chunk = asc_chunk_items(call, job.items, ROWS * COLUMNS * (job.k + 1) * 4);
    asc_parallel(call, asc_ceil_div(job.items, job.per_chunk), exact_chunk, &job);
    return ASC_OK;
}
