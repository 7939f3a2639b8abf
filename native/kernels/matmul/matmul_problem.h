/* matmul_problem.h - what the arguments of a matmul ask for. */
#ifndef ASC_KERNELS_MATMUL_PROBLEM_H
#define ASC_KERNELS_MATMUL_PROBLEM_H

#include "gemm_bytes.h"

enum {
    A = ASC_MATMUL_A,
    B = ASC_MATMUL_B,
    C = ASC_MATMUL_C,
    R = ASC_MATMUL_R,
    OPERANDS,
    SCALE = ASC_MATMUL_SCALE,
    ZERO = ASC_MATMUL_ZERO
};

static inline const asc_matmul_params *matmul_params(const asc_call *call) {
    return ASC_INTS_AS(asc_matmul_params, call);
}

static inline const asc_matmul_floats *matmul_floats(const asc_call *call) {
    return ASC_FLOATS_AS(asc_matmul_floats, call);
}

/* What shapes decide is found once (matmul_read, matmul_fold); a run takes a copy and points it at its operands. */
typedef struct matmul_problem {
    gemm gemm;        /* pointers of batch 0 */
    gemm_bytes bytes; /* its source, when B is int8 */
    int axes;         /* batch axes */
    int64_t dims[ASC_MAX_RANK];
    int64_t strides[OPERANDS][ASC_MAX_RANK];
    int64_t batches;
} matmul_problem;

/* Checks and reads the arguments; points nowhere yet. */
int32_t ASC_FN(matmul_read)(const asc_call *call, matmul_problem *p);

/* The pointers, of batch 0: in prepare, of what is only there in a run, any but NULL. */
void ASC_FN(matmul_point)(const asc_call *call, matmul_problem *p);

/* With one B for all batches, the batches of A are more rows of one product. */
void ASC_FN(matmul_fold)(matmul_problem *p);

/* The scale of the normalisation that A is given; NULL when there is none. */
static inline const asc_tensor *matmul_norm(const asc_call *call) {
    return call->n_floats == ASC_MEMBERS(asc_matmul_floats) ? &call->in[SCALE] : NULL;
}

#endif
