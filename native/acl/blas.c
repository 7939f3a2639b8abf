/* blas.c - acl_cblas: products of matrices and vectors, computed in float (8-bit ones in whole numbers). */
#include <stdlib.h>
#include <string.h>

#include "acl/ops/acl_cblas.h"
#include "context.h"
#include "memory.h"
#include "numbers.h"

/* C = alpha op(A) op(B) + beta C. Rows of A, B and C begin lda, ldb, ldc elements apart. */
typedef struct product {
    const void *a, *b, *alpha, *beta;
    void *c;
    int m, n, k, lda, ldb, ldc;
    bool trans_a, trans_b;
    aclDataType type_a, type_b, type_c, type_scale;
} product;

static aclError run_product(void *argument) {
    const product *p = argument;
    const void *a = asc_real(p->a), *b = asc_real(p->b);
    void *c = asc_real(p->c);
    double alpha = asc_number_at(asc_real(p->alpha), 0, p->type_scale);
    double beta = asc_number_at(asc_real(p->beta), 0, p->type_scale);
    size_t depth = (size_t)p->k;
    double *row = malloc((depth + 1) * sizeof *row), *column = malloc(((size_t)p->n * depth + 1) * sizeof *column);
    if (!row || !column) {
        free(row);
        free(column);
        return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    }
    for (size_t j = 0; j < (size_t)p->n; j++)
        for (size_t l = 0; l < depth; l++)
            column[j * depth + l] =
                asc_number_at(b, p->trans_b ? j * (size_t)p->ldb + l : l * (size_t)p->ldb + j, p->type_b);
    for (size_t i = 0; i < (size_t)p->m; i++) {
        for (size_t l = 0; l < depth; l++)
            row[l] = asc_number_at(a, p->trans_a ? l * (size_t)p->lda + i : i * (size_t)p->lda + l, p->type_a);
        for (size_t j = 0; j < (size_t)p->n; j++) {
            double sum = 0;
            for (size_t l = 0; l < depth; l++) sum += row[l] * column[j * depth + l];
            size_t at = i * (size_t)p->ldc + j;
            double before = beta != 0 ? beta * asc_number_at(c, at, p->type_c) : 0;
            asc_set_number(c, at, p->type_c, alpha * sum + before);
        }
    }
    free(row);
    free(column);
    return ACL_SUCCESS;
}

static void end_product(void *argument) {
    product *p = argument;
    asc_memory_unpin(p->a, false);
    asc_memory_unpin(p->b, false);
    asc_memory_unpin(p->c, true);
    free(p);
}

static aclError check_matrix(const void *matrix, int rows, int columns, int *pitch, aclDataType type,
                             const char *name) {
    if (!matrix) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s must not be NULL", name);
    if (!asc_is_number(type))
        return asc_acl_fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, "%s has elements of type %d", name, (int)type);
    if (*pitch == -1) *pitch = columns;
    if (*pitch < columns)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the leading dimension of %s is %d; its rows have %d elements",
                            name, *pitch, columns);
    size_t bytes = ((size_t)(rows - 1) * (size_t)*pitch + (size_t)columns) * aclDataTypeSize(type);
    return asc_memory_check(matrix, bytes, ASC_PLACE_ANY, name);
}

static aclError check_transpose(aclTransType type, const char *name) {
    if (type == ACL_TRANS_N || type == ACL_TRANS_T) return ACL_SUCCESS;
    if (type == ACL_TRANS_NZ || type == ACL_TRANS_NZ_T)
        return asc_acl_fail(ACL_ERROR_FEATURE_UNSUPPORTED,
                            "%s asks for the layout FRACTAL_NZ, which is of a chip; give rows", name);
    return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s is %d, no aclTransType", name, (int)type);
}

/* The products that CANN has. */
static aclError check_types(const product *p) {
    bool half =
        p->type_a == ACL_FLOAT16 && p->type_b == ACL_FLOAT16 && (p->type_c == ACL_FLOAT16 || p->type_c == ACL_FLOAT);
    bool bytes = p->type_a == ACL_INT8 && p->type_b == ACL_INT8 && (p->type_c == ACL_INT32 || p->type_c == ACL_FLOAT);
    bool single = p->type_a == ACL_FLOAT && p->type_b == ACL_FLOAT && p->type_c == ACL_FLOAT;
    if (half || bytes || single) return ACL_SUCCESS;
    return asc_acl_fail(
        ACL_ERROR_UNSUPPORTED_DATA_TYPE,
        "there is no product of types %d and %d that gives %d; there are float16 to float16 or float, int8 to "
        "int32 or float, float to float",
        (int)p->type_a, (int)p->type_b, (int)p->type_c);
}

static aclError multiply(product given, aclTransType trans_a, aclTransType trans_b, aclTransType trans_c,
                         aclComputeType compute, aclrtStream stream) {
    product *p = &given;
    asc_stream *found = NULL;
    p->trans_a = trans_a == ACL_TRANS_T;
    p->trans_b = trans_b == ACL_TRANS_T;
    p->type_scale = p->type_c;
    if (!p->alpha || !p->beta) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "alpha and beta must not be NULL");
    if (p->m <= 0 || p->n <= 0 || p->k <= 0)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "m, n and k are %d, %d and %d; each must be positive", p->m, p->n,
                            p->k);
    if (compute != ACL_COMPUTE_HIGH_PRECISION && compute != ACL_COMPUTE_LOW_PRECISION)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "type is %d, no aclComputeType", (int)compute);
    aclError code = check_transpose(trans_a, "transA");
    if (code == ACL_SUCCESS) code = check_transpose(trans_b, "transB");
    if (code == ACL_SUCCESS) code = check_transpose(trans_c, "transC");
    if (code == ACL_SUCCESS && trans_c == ACL_TRANS_T)
        code = asc_acl_fail(ACL_ERROR_INVALID_PARAM, "transC must be ACL_TRANS_N");
    if (code == ACL_SUCCESS) code = check_types(p);
    if (code == ACL_SUCCESS)
        code = check_matrix(p->a, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k, &p->lda, p->type_a, "matrixA");
    if (code == ACL_SUCCESS)
        code = check_matrix(p->b, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n, &p->ldb, p->type_b, "matrixB");
    if (code == ACL_SUCCESS) code = check_matrix(p->c, p->m, p->n, &p->ldc, p->type_c, "matrixC");
    if (code == ACL_SUCCESS) code = asc_stream_get(stream, &found);
    if (code != ACL_SUCCESS) return code;
    product *kept = malloc(sizeof *kept);
    if (!kept) return asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left");
    *kept = *p;
    asc_memory_pin(p->a, false);
    asc_memory_pin(p->b, false);
    asc_memory_pin(p->c, true);
    return asc_stream_push(found, run_product, end_product, kept);
}

aclError aclblasGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                       const void *alpha, const void *matrixA, int lda, aclDataType dataTypeA, const void *matrixB,
                       int ldb, aclDataType dataTypeB, const void *beta, void *matrixC, int ldc, aclDataType dataTypeC,
                       aclComputeType type, aclrtStream stream) {
    ASC_ENTER();
    product p = {.a = matrixA,
                 .b = matrixB,
                 .alpha = alpha,
                 .beta = beta,
                 .c = matrixC,
                 .m = m,
                 .n = n,
                 .k = k,
                 .lda = lda,
                 .ldb = ldb,
                 .ldc = ldc,
                 .type_a = dataTypeA,
                 .type_b = dataTypeB,
                 .type_c = dataTypeC};
    return asc_stream_launched(stream, multiply(p, transA, transB, transC, type, stream));
}

aclError aclblasHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                      const aclFloat16 *alpha, const aclFloat16 *matrixA, int lda, const aclFloat16 *matrixB, int ldb,
                      const aclFloat16 *beta, aclFloat16 *matrixC, int ldc, aclComputeType type, aclrtStream stream) {
    ASC_ENTER();
    product p = {.a = matrixA,
                 .b = matrixB,
                 .alpha = alpha,
                 .beta = beta,
                 .c = matrixC,
                 .m = m,
                 .n = n,
                 .k = k,
                 .lda = lda,
                 .ldb = ldb,
                 .ldc = ldc,
                 .type_a = ACL_FLOAT16,
                 .type_b = ACL_FLOAT16,
                 .type_c = ACL_FLOAT16};
    return asc_stream_launched(stream, multiply(p, transA, transB, transC, type, stream));
}

aclError aclblasS8gemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                       const int32_t *alpha, const int8_t *matrixA, int lda, const int8_t *matrixB, int ldb,
                       const int32_t *beta, int32_t *matrixC, int ldc, aclComputeType type, aclrtStream stream) {
    ASC_ENTER();
    product p = {.a = matrixA,
                 .b = matrixB,
                 .alpha = alpha,
                 .beta = beta,
                 .c = matrixC,
                 .m = m,
                 .n = n,
                 .k = k,
                 .lda = lda,
                 .ldb = ldb,
                 .ldc = ldc,
                 .type_a = ACL_INT8,
                 .type_b = ACL_INT8,
                 .type_c = ACL_INT32};
    return asc_stream_launched(stream, multiply(p, transA, transB, transC, type, stream));
}

/* A vector is a matrix of one column; its elements lie incx apart. op(A) has m rows. */
static aclError multiply_vector(aclTransType trans_a, int m, int n, product p, int incx, int incy, aclComputeType type,
                                aclrtStream stream) {
    if (incx == 0 || incy == 0 || incx < -1 || incy < -1)
        return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "incx and incy are %d and %d; each is -1 or positive", incx, incy);
    p.m = trans_a == ACL_TRANS_T ? n : m;
    p.k = trans_a == ACL_TRANS_T ? m : n;
    p.n = 1;
    p.ldb = incx;
    p.ldc = incy;
    return asc_stream_launched(stream, multiply(p, trans_a, ACL_TRANS_N, ACL_TRANS_N, type, stream));
}

aclError aclblasGemvEx(aclTransType transA, int m, int n, const void *alpha, const void *a, int lda,
                       aclDataType dataTypeA, const void *x, int incx, aclDataType dataTypeX, const void *beta, void *y,
                       int incy, aclDataType dataTypeY, aclComputeType type, aclrtStream stream) {
    ASC_ENTER();
    product p = {.a = a,
                 .b = x,
                 .alpha = alpha,
                 .beta = beta,
                 .c = y,
                 .lda = lda,
                 .type_a = dataTypeA,
                 .type_b = dataTypeX,
                 .type_c = dataTypeY};
    return multiply_vector(transA, m, n, p, incx, incy, type, stream);
}

aclError aclblasHgemv(aclTransType transA, int m, int n, const aclFloat16 *alpha, const aclFloat16 *a, int lda,
                      const aclFloat16 *x, int incx, const aclFloat16 *beta, aclFloat16 *y, int incy,
                      aclComputeType type, aclrtStream stream) {
    ASC_ENTER();
    product p = {.a = a,
                 .b = x,
                 .alpha = alpha,
                 .beta = beta,
                 .c = y,
                 .lda = lda,
                 .type_a = ACL_FLOAT16,
                 .type_b = ACL_FLOAT16,
                 .type_c = ACL_FLOAT16};
    return multiply_vector(transA, m, n, p, incx, incy, type, stream);
}

aclError aclblasS8gemv(aclTransType transA, int m, int n, const int32_t *alpha, const int8_t *a, int lda,
                       const int8_t *x, int incx, const int32_t *beta, int32_t *y, int incy, aclComputeType type,
                       aclrtStream stream) {
    ASC_ENTER();
    product p = {.a = a,
                 .b = x,
                 .alpha = alpha,
                 .beta = beta,
                 .c = y,
                 .lda = lda,
                 .type_a = ACL_INT8,
                 .type_b = ACL_INT8,
                 .type_c = ACL_INT32};
    return multiply_vector(transA, m, n, p, incx, incy, type, stream);
}
