/* Kernels on their own, for those who call the library: which there are, and running one. */
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "rows.h"
#include "trace.h"

#define ASC_STRINGIFY_(x) #x
#define ASC_STRINGIFY(x) ASC_STRINGIFY_(x)

uint32_t asc_abi_version(void) {
    return ASC_ABI_VERSION;
}
const char *asc_version(void) {
    return ASC_STRINGIFY(ASC_PACKAGE_VERSION);
}

int32_t asc_kernel_find(int32_t isa, const char *op, const int32_t *types, uint32_t n_in, uint32_t n_out) {
    uint32_t count;
    const asc_kernel *rows = asc_kernel_rows(isa < 0 ? asc_isa_current() : isa, &count);
    for (uint32_t i = 0; i < count; i++)
        if (asc_row_takes(&rows[i], op, types, n_in, n_out)) return (int32_t)i;
    return -1;
}

uint32_t asc_kernel_count(int32_t isa) {
    uint32_t count;
    asc_kernel_rows(isa, &count);
    return count;
}

int32_t asc_kernel_at(int32_t isa, uint32_t index, asc_kernel_info *out) {
    uint32_t count;
    const asc_kernel *rows = asc_kernel_rows(isa, &count);
    if (index >= count) return ASC_E_ARGUMENT;
    *out = (asc_kernel_info){rows[index].op, rows[index].types, rows[index].flags, isa};
    return ASC_OK;
}

/* Runs in a workspace of NaN, with a line behind it that nobody may write. */
static int32_t run_guarded(const asc_kernel *row, asc_call *call) {
    uint64_t size = call->workspace_bytes, whole = (size / ASC_ALIGN + 2) * ASC_ALIGN;
    uint8_t *workspace = aligned_alloc(ASC_ALIGN, whole);
    if (!workspace) return asc_fail(call->status, ASC_E_MEMORY, "no memory for the kernel's workspace");
    memset(workspace, 0xff, whole);
    call->workspace = workspace;
    int32_t code = row->run(call);
    for (uint64_t i = size; i < whole && code == ASC_OK; i++)
        if (workspace[i] != 0xff) code = asc_fail(call->status, ASC_E_RUN, "the kernel wrote behind its workspace");
    free(workspace);
    return code;
}

int32_t asc_kernel_call(int32_t isa, const char *op, asc_tensor *in, uint32_t n_in, asc_tensor *out, uint32_t n_out,
                        const int64_t *ints, uint32_t n_ints, const double *floats, uint32_t n_floats, int32_t threads,
                        asc_status *status) {
    asc_status_begin(status);
    if (isa < 0) isa = asc_isa_current();
    if (!asc_isa_supported(isa)) return asc_fail(status, ASC_E_UNSUPPORTED, "this CPU lacks that ISA level");
    const asc_kernel *row = asc_kernel_lookup(isa, op, in, n_in, out, n_out);
    if (!row) return asc_fail(status, ASC_E_UNSUPPORTED, "no kernel row takes this operator with these types");
    asc_call call = {.in = in, .out = out, .ints = ints, .floats = floats};
    call.n_in = (int32_t)n_in;
    call.n_out = (int32_t)n_out;
    call.n_ints = (int32_t)n_ints;
    call.n_floats = (int32_t)n_floats;
    call.threads = threads > 0 ? threads : asc_threads_default();
    call.isa = isa;
    call.pool = asc_pool_shared();
    call.status = status;
    for (uint32_t i = 0; i < n_in + n_out; i++) {
        const asc_tensor *t = i < n_in ? &in[i] : &out[i - n_in];
        if ((i >= n_in || !(row->flags & ASC_K_STRIDED)) && t->dtype != ASC_UNDEFINED && !asc_contiguous(t))
            return asc_fail(status, ASC_E_UNSUPPORTED, "this kernel takes contiguous operands only");
    }
    call.note = calloc(1, asc_note_room(row) + 1);
    if (!call.note) return asc_fail(status, ASC_E_MEMORY, "no memory for the kernel's note");
    int32_t code = row->prepare(&call);
    if (code == ASC_OK) asc_trace_kernel(row, &call);
    if (code == ASC_OK) code = call.workspace_bytes ? run_guarded(row, &call) : row->run(&call);
    free(call.note);
    return code;
}
