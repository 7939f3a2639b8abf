/* copy: the elements of in, row-major, whatever its strides; out may group them under other dims. A
 * transpose, a slice, a tiling or a broadcast is a copy of a view. */
#include <string.h>

#include "strided_copy.h"

/* All but where it reads from and writes to. */
ASC_KERNEL_NOTE(copy, asc_block)

int32_t ASC_FN(copy_prepare)(asc_call *call) {
    ASC_REQUIRE(call, call->in[0].dtype == call->out[0].dtype, "copy: types differ");
    ASC_REQUIRE(call, asc_numel(&call->in[0]) == asc_numel(&call->out[0]), "copy: the shapes differ in size");
    ASC_REQUIRE(call, call->n_ints == 0 && call->n_floats == 0, "copy takes no arguments");
    const asc_tensor *in = &call->in[0];
    asc_block *block = call->note;
    block->size = (int64_t)asc_dtype_bytes(in->dtype);
    block->rank = in->rank;
    memcpy(block->dims, in->dims, sizeof block->dims);
    memcpy(block->from_strides, in->strides, sizeof block->from_strides);
    asc_row_major(in->dims, in->rank, block->to_strides);
    return ASC_OK;
}

int32_t ASC_FN(copy_run)(const asc_call *call) {
    const asc_block *prepared = call->note;
    asc_block block = *prepared;
    block.from = call->in[0].data;
    block.to = call->out[0].data;
    ASC_FN(asc_copy_block)(call, &block);
    return ASC_OK;
}

void ASC_FN(copy_schedule)(const asc_call *call, char *text, size_t room) {
    ASC_FN(asc_copy_schedule)(call, call->note, text, room);
}
