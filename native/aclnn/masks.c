/* masks.c - elements that a condition names: where they are, and what is taken from or written to them. */
#include <string.h>

#include "operator.h"

/* self, out: a row of positions for each element that is not 0; or a column. */
void asc_op_nonzero(asc_run *run, int in_columns) {
    tensor x = asc_in(run, 0), truth = asc_like(run, x, ASC_BOOL);
    asc_evaluate(run, "a != 0", 1, &(asc_name){.name = "a", .tensor = &x}, &truth);
    int64_t n = asc_elements(x), found = 0;
    for (int64_t i = 0; i < n; i++) found += ((uint8_t *)truth.data)[i];
    tensor made = asc_new(run, ASC_INT64, 2, (int64_t[]){found, x.rank});
    int64_t *at = made.data;
    for (int64_t i = 0; i < n; i++)
        for (int a = 0; a < x.rank && ((uint8_t *)truth.data)[i]; a++) *at++ = i / truth.strides[a] % truth.dims[a];
    if (in_columns) made = asc_cast(run, asc_swap(made, 0, 1), ASC_INT64);
    asc_put_sized(run, 1, made);
}

/* self, mask, out. */
void asc_op_masked_select(asc_run *run) {
    tensor x = asc_in(run, 0), mask = asc_in(run, 1);
    tensor both = ASC_COMPUTE(run, ASC_BOOL, "b == b && a != 0", mask, x);
    mask = ASC_COMPUTE(run, ASC_BOOL, "a != 0", asc_copy(run, asc_expand(run, mask, both.rank, both.dims), mask.dtype));
    x = asc_copy(run, asc_expand(run, x, both.rank, both.dims), x.dtype);
    size_t bytes = asc_dtype_bytes(x.dtype);
    char *to = asc_bytes(run, (size_t)asc_elements(x) * bytes), *end = to;
    for (int64_t i = 0; i < asc_elements(x); i++)
        if (((uint8_t *)mask.data)[i]) {
            memcpy(end, (char *)x.data + (size_t)i * bytes, bytes);
            end += bytes;
        }
    tensor made = {.data = to, .dtype = x.dtype, .rank = 1, .dims = {(end - to) / (int64_t)bytes}, .strides = {1}};
    asc_put_sized(run, 2, made);
}

/* self, mask, source: elements of the source in the order of what is true. */
void asc_op_masked_scatter(asc_run *run) {
    tensor x = asc_in(run, 0), made = asc_copy(run, x, x.dtype), source = asc_of(run, 2, x.dtype);
    tensor mask = ASC_COMPUTE(run, ASC_BOOL, "a != 0", asc_expand(run, asc_in(run, 1), x.rank, x.dims));
    size_t bytes = asc_dtype_bytes(x.dtype);
    int64_t used = 0;
    for (int64_t i = 0; i < asc_elements(x); i++) {
        if (!((uint8_t *)mask.data)[i]) continue;
        ASC_STOP_UNLESS(run, used < asc_elements(source), "the source has fewer elements than the mask is true");
        memcpy((char *)made.data + (size_t)i * bytes, (char *)source.data + (size_t)used++ * bytes, bytes);
    }
    asc_put(run, 0, made);
}
