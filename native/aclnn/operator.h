/* operator.h - what the operators of this library are written in: tensors that a run makes and gives back, formulas
 * over them, and the kernels of libascend_rt.
 *
 * A step that fails ends the run (asc_stop): what calls it needs no check. Tensors are values; their elements live
 * until the run ends. All are contiguous but those of asc_in and views made of them. */
#ifndef ASC_ACLNN_OPERATOR_H
#define ASC_ACLNN_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "aclnn/asc_operator.h"

typedef struct asc_run asc_run;
typedef asc_tensor tensor;

/* What a row of operators.def computes: a formula of the arguments' names, or a function. */
typedef struct asc_recipe {
    const char *formula;
    void (*compute)(asc_run *run);
} asc_recipe;
int32_t asc_recipe_check(const asc_operator_call *call);
int32_t asc_recipe_run(const asc_operator_call *call);
/* Calls `compute`, until it returns or stops; the status that the call has then. */
int32_t asc_run_of(const asc_operator_call *call, void (*compute)(asc_run *run));

/* ---- arguments, by their position ---- */
const asc_argument *asc_arg(const asc_run *run, int i);
bool asc_given_at(const asc_run *run, int i); /* whether the argument isn't NULL, and has a type */
bool asc_has_at(const asc_run *run, int i);   /* and has elements; torch_npu gives empty tensors for none. -1: no */
tensor asc_in(asc_run *run, int i);           /* as it was given */
tensor asc_f32(asc_run *run, int i);          /* contiguous, as float32 */
tensor asc_of(asc_run *run, int i, int32_t dtype); /* contiguous, of that type */
int64_t asc_int(const asc_run *run, int i);        /* of a number, or a scalar */
double asc_float(const asc_run *run, int i);
/* The value as the output i, which may be absent: rounded to its type, in its strides. Of as many elements. */
void asc_put(asc_run *run, int i, tensor value);
/* An output whose size the data decide: the value goes to the first of its elements, and the tensor has its dims. */
void asc_put_sized(asc_run *run, int i, tensor value);

void asc_stop(asc_run *run, int32_t code, const char *format, ...) __attribute__((noreturn, format(printf, 3, 4)));
#define ASC_STOP_UNLESS(run, condition, ...)                         \
    do {                                                             \
        if (!(condition)) asc_stop((run), ASC_E_SHAPE, __VA_ARGS__); \
    } while (0)

/* ---- tensors ---- */
tensor asc_new(asc_run *run, int32_t dtype, int rank, const int64_t *dims);
tensor asc_like(asc_run *run, tensor t, int32_t dtype); /* of the same dims, not filled */
tensor asc_cast(asc_run *run, tensor t, int32_t dtype); /* contiguous; t itself where it is that already */
tensor asc_copy(asc_run *run, tensor t, int32_t dtype); /* contiguous, of its own memory */
void asc_store(asc_run *run, tensor to, tensor value);  /* into memory that exists; value is broadcast */
void asc_fill(asc_run *run, tensor t, double value);
void *asc_bytes(asc_run *run, size_t bytes); /* until the run ends */
int64_t asc_elements(tensor t);
bool asc_is_contiguous(tensor t);
void asc_set_strides(tensor *t);         /* those of contiguous elements */
void asc_write(tensor to, tensor value); /* of the same type and dims; value is contiguous, and apart from `to` */
int64_t asc_axis(asc_run *run, int64_t axis, int rank); /* from the front */

/* Views. */
tensor asc_reshape(asc_run *run, tensor t, int rank, const int64_t *dims); /* of a contiguous one */
tensor asc_rows_of(asc_run *run, tensor t);                                /* [rows, last axis], in float32 */
tensor asc_flat(asc_run *run, tensor t);                                   /* one axis */
tensor asc_swap(tensor t, int a, int b);
tensor asc_narrow(tensor t, int axis, int64_t start, int64_t length);
tensor asc_select(tensor t, int axis, int64_t index);
tensor asc_unsqueeze(tensor t, int axis);
tensor asc_expand(asc_run *run, tensor t, int rank, const int64_t *dims);

/* ---- computing ---- */
/* A formula of tensors a, b, c, .. (n of them, broadcast) and numbers p, q, r, .. in a new tensor. */
tensor asc_formula(asc_run *run, int32_t dtype, const char *formula, int n, const tensor *operands,
                   const double *numbers, int n_numbers);
#define ASC_TENSORS(...)                                                  \
    (int)(sizeof((tensor[]){__VA_ARGS__}) / sizeof(tensor)), (tensor[]) { \
        __VA_ARGS__                                                       \
    }
#define ASC_COMPUTE(run, dtype, formula, ...) asc_formula(run, dtype, formula, ASC_TENSORS(__VA_ARGS__), NULL, 0)
/* As ASC_COMPUTE, with one number p. */
#define ASC_COMPUTE_WITH(run, dtype, formula, p, ...) \
    asc_formula(run, dtype, formula, ASC_TENSORS(__VA_ARGS__), (double[]){p}, 1)

/* A kernel of libascend_rt. */
void asc_call_kernel(asc_run *run, const char *op, int n_in, tensor *in, int n_out, tensor *out, int n_ints,
                     const int64_t *ints, int n_floats, const double *floats);

/* Reductions over axes (from the front, ascending; none: over all), which stay with length 1. */
tensor asc_reduce_axes(asc_run *run, int asc_reduce_op, tensor t, int n_axes, const int64_t *axes);
/* a b, batches broadcast; both float32, float64 or integers alike, views too. */
tensor asc_multiply(asc_run *run, tensor a, tensor b);
tensor asc_softmax_of(asc_run *run, tensor t, int axis);
/* The rows of the last axes, as many as gamma has elements, over the root of their mean square: times gamma. */
tensor asc_rms_norm_of(asc_run *run, tensor x, tensor gamma, double epsilon, tensor *rstd);
/* The gradient of x, a norm of axes `over` of whose values is g, times its weight. */
tensor asc_norm_backward(asc_run *run, tensor g, tensor x, tensor mean, tensor rstd, int n, const int64_t *over);
/* Sums over the axes that `like` has not, or has with length 1. */
tensor asc_sum_to(asc_run *run, tensor t, tensor like);

/* The type that an operation between two types has. */
int32_t asc_promote(int32_t a, int32_t b);
bool asc_is_float(int32_t dtype);
bool asc_is_integer(int32_t dtype); /* bool is none */

/* Runs a formula (expression.h) with arguments by name, of the item k of lists. */
void asc_run_formula(asc_run *run, const char *formula);
/* A formula of operands by name, to `into`, or where that has no data to a new tensor of its type. */
typedef struct asc_name {
    const char *name;
    const tensor *tensor; /* NULL: a number */
    asc_number number;
} asc_name;
tensor asc_evaluate(asc_run *run, const char *formula, int n, const asc_name *names, const tensor *into);

const asc_operator_call *asc_run_call(const asc_run *run);
asc_status *asc_run_status(asc_run *run);
const asc_operator *asc_run_row(const asc_run *run);

#endif
