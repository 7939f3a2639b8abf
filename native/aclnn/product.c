/* product.c - products of matrices. */
#include <string.h>

#include "asc_plan.h"
#include "operator.h"

/* A view whose last two axes lie swapped is taken as the matrix it is of, transposed. */
static tensor matrix(asc_run *run, tensor t, int64_t *transposed) {
    int r = t.rank;
    *transposed = 0;
    if (r < 2) return asc_cast(run, t, t.dtype);
    tensor swapped = asc_swap(t, r - 1, r - 2);
    if (!asc_is_contiguous(t) && asc_is_contiguous(swapped)) {
        *transposed = 1;
        return asc_cast(run, swapped, t.dtype);
    }
    return asc_cast(run, t, t.dtype);
}

static int32_t type_of(tensor a, tensor b) {
    int32_t type = asc_promote(a.dtype, b.dtype);
    if (asc_is_float(type)) return type == ASC_FLOAT64 ? ASC_FLOAT64 : ASC_FLOAT32;
    return ASC_INT64;
}

/* The dims of a product: batches broadcast; operands of one axis give none. */
static int product_dims(asc_run *run, tensor a, tensor b, int64_t *dims) {
    int batches_a = a.rank > 2 ? a.rank - 2 : 0, batches_b = b.rank > 2 ? b.rank - 2 : 0;
    int rank = batches_a > batches_b ? batches_a : batches_b;
    int64_t inner_a = a.dims[a.rank - 1], inner_b = b.dims[b.rank == 1 ? 0 : b.rank - 2];
    ASC_STOP_UNLESS(run, inner_a == inner_b, "%lld columns against %lld rows", (long long)inner_a, (long long)inner_b);
    for (int i = 0; i < rank; i++) {
        int p = i - (rank - batches_a), q = i - (rank - batches_b);
        int64_t m = p < 0 ? 1 : a.dims[p], n = q < 0 ? 1 : b.dims[q];
        ASC_STOP_UNLESS(run, m == n || m == 1 || n == 1, "batches of %lld and %lld", (long long)m, (long long)n);
        dims[i] = m == 1 ? n : m;
    }
    if (a.rank > 1) dims[rank++] = a.dims[a.rank - 2];
    if (b.rank > 1) dims[rank++] = b.dims[b.rank - 1];
    return rank;
}

tensor asc_multiply(asc_run *run, tensor a, tensor b) {
    ASC_STOP_UNLESS(run, a.rank > 0 && b.rank > 0, "a product of matrices takes no single numbers");
    int64_t dims[2 * ASC_MAX_RANK];
    int32_t type = type_of(a, b);
    tensor out = asc_new(run, type, product_dims(run, a, b, dims), dims);
    if (asc_elements(out) == 0) return out;
    if (a.dims[a.rank - 1] == 0) {
        asc_fill(run, out, 0);
        return out;
    }
    asc_matmul_params params = {.activation = ASC_ACTIVATION_NONE};
    asc_matmul_floats floats = {.alpha = 1, .beta = 1};
    if (type != ASC_FLOAT32 && (a.rank == 1 || b.rank == 1)) {
        tensor first = a.rank == 1 ? asc_unsqueeze(a, 0) : a, second = b.rank == 1 ? asc_unsqueeze(b, 1) : b;
        return asc_reshape(run, asc_multiply(run, first, second), out.rank, out.dims);
    }
    if (type != ASC_FLOAT32) {
        tensor in[] = {asc_cast(run, a, type), asc_cast(run, b, type)};
        asc_call_kernel(run, "matmul_exact", 2, in, 1, &out, 0, NULL, 0, NULL);
        return out;
    }
    if (a.dtype != type) a = asc_cast(run, a, type);
    if (b.dtype != type) b = asc_cast(run, b, type);
    tensor in[] = {matrix(run, a, &params.trans_a), matrix(run, b, &params.trans_b)};
    asc_call_kernel(run, "matmul", 2, in, 1, &out, 3, &params.trans_a, 4, &floats.alpha);
    return out;
}

/* self, mat2, out. */
void asc_op_product(asc_run *run) {
    asc_put(run, 2, asc_multiply(run, asc_in(run, 0), asc_in(run, 1)));
}

/* beta self + alpha product; `out` is where it goes. */
static void add(asc_run *run, tensor product, int beta, int alpha, int out) {
    tensor self = asc_in(run, 0), made = asc_like(run, product, asc_promote(self.dtype, product.dtype));
    if (asc_is_float(made.dtype) && made.dtype != ASC_FLOAT64) made.dtype = ASC_FLOAT32;
    made = asc_like(run, product, made.dtype);
    asc_name names[] = {{.name = "a", .tensor = &self},
                        {.name = "b", .tensor = &product},
                        {.name = "p", .number = asc_arg(run, beta)->numbers[0]},
                        {.name = "q", .number = asc_arg(run, alpha)->numbers[0]}};
    /* What self holds counts for nothing where beta is 0, not even NaN. */
    asc_evaluate(run, names[2].number.d == 0 ? "q * b" : "p * a + q * b", 4, names, &made);
    asc_put(run, out, made);
}

/* self, mat1, mat2, beta, alpha, then the output unless it is self. */
void asc_op_add_product(asc_run *run, int out) {
    add(run, asc_multiply(run, asc_in(run, 1), asc_in(run, 2)), 3, 4, out);
}

/* self, batch1, batch2, beta, alpha, out: the products of all batches summed. */
void asc_op_add_products(asc_run *run) {
    tensor p = asc_multiply(run, asc_in(run, 1), asc_in(run, 2));
    add(run, asc_sum_to(run, p, asc_select(p, 0, 0)), 3, 4, 5);
}

/* self, mat, vec, alpha, beta, out. */
void asc_op_add_product_of_vector(asc_run *run) {
    add(run, asc_multiply(run, asc_in(run, 1), asc_in(run, 2)), 4, 3, 5);
}

/* self, vec1, vec2, beta, alpha, out. */
void asc_op_add_outer_product(asc_run *run, int out) {
    tensor a = asc_in(run, 1), b = asc_in(run, 2);
    add(run, ASC_COMPUTE(run, type_of(a, b), "a * b", asc_unsqueeze(a, 1), asc_unsqueeze(b, 0)), 3, 4, out);
}

/* self, vec2, out. */
void asc_op_outer_product(asc_run *run) {
    tensor a = asc_in(run, 0), b = asc_in(run, 1);
    ASC_STOP_UNLESS(run, a.rank == 1 && b.rank == 1, "an outer product is of two vectors");
    asc_put(run, 2, ASC_COMPUTE(run, type_of(a, b), "a * b", asc_unsqueeze(a, 1), asc_unsqueeze(b, 0)));
}

static tensor permuted(asc_run *run, tensor t, int list) {
    const asc_argument *axes = asc_arg(run, list);
    tensor made = t;
    ASC_STOP_UNLESS(run, t.rank == 3 && axes->count == 3, "a product of batches has three axes, not %d", t.rank);
    for (int i = 0; i < 3; i++) {
        int from = (int)asc_axis(run, axes->ints[i], 3);
        made.dims[i] = t.dims[from];
        made.strides[i] = t.strides[from];
    }
    return made;
}

/* x1, x2, bias, scale, permutations of x1, x2 and y, cubeMathType, parts of the batches, out: [parts, M, batches'
 * columns of each part] where these are several, or with a scale one. */
void asc_op_product_of_permuted(asc_run *run) {
    ASC_STOP_UNLESS(run, !asc_has_at(run, 2) && !asc_has_at(run, 3), "a bias or a scale of these products isn't there");
    tensor y = asc_multiply(run, permuted(run, asc_in(run, 0), 4), permuted(run, asc_in(run, 1), 5));
    int64_t parts = asc_int(run, 8), all = asc_elements(y);
    y = permuted(run, y, 6);
    if (parts > 1) {
        int64_t rows = y.dims[0], wide = rows ? all / rows : 0;
        ASC_STOP_UNLESS(run, wide % parts == 0, "%lld columns are not %lld parts", (long long)wide, (long long)parts);
        y = asc_reshape(run, asc_cast(run, y, y.dtype), 3, (int64_t[]){rows, parts, wide / parts});
        y = asc_swap(y, 0, 1);
    }
    asc_put(run, 9, asc_cast(run, y, y.dtype));
}
