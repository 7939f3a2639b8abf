/* Finding the row for an operator and its types, and running one kernel on its own. */
#include "dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "pool.h"

#define ASC_STRINGIFY_(x) #x
#define ASC_STRINGIFY(x) ASC_STRINGIFY_(x)

uint32_t asc_abi_version(void) {
    return ASC_ABI_VERSION;
}
const char *asc_version(void) {
    return ASC_STRINGIFY(ASC_PACKAGE_VERSION);
}

uint64_t asc_dtype_bytes(int32_t dtype) {
    switch (dtype) {
        case ASC_BOOL:
        case ASC_INT8:
        case ASC_UINT8:
        case ASC_FLOAT8E4M3FN:
        case ASC_FLOAT8E4M3FNUZ:
        case ASC_FLOAT8E5M2:
        case ASC_FLOAT8E5M2FNUZ:
        case ASC_UINT4:
        case ASC_INT4:
        case ASC_UINT2:
        case ASC_INT2: return 1;
        case ASC_FLOAT16:
        case ASC_BFLOAT16:
        case ASC_INT16:
        case ASC_UINT16: return 2;
        case ASC_FLOAT32:
        case ASC_INT32:
        case ASC_UINT32: return 4;
        case ASC_FLOAT64:
        case ASC_INT64:
        case ASC_UINT64: return 8;
        default: return 0;
    }
}

const asc_kernel *asc_kernel_rows(int32_t isa, uint32_t *count) {
    switch (isa) {
        case ASC_ISA_BASELINE: return asc_kernels_baseline(count);
#if defined(ASC_HAVE_avx2)
        case ASC_ISA_AVX2: return asc_kernels_avx2(count);
#endif
#if defined(ASC_HAVE_avx512)
        case ASC_ISA_AVX512: return asc_kernels_avx512(count);
#endif
#if defined(ASC_HAVE_avx512bf16)
        case ASC_ISA_AVX512BF16: return asc_kernels_avx512bf16(count);
#endif
        default: *count = 0; return NULL;
    }
}

static char type_letter(int32_t dtype) {
    static const char letters[] = {0, 'f', 'u', 'c', 'S', 's', 'i', 'l', 0,   '?', 'h', 'd', 'I', 'L',
                                   0, 0,   'b', 'w', 'x', 'y', 'z', 'N', 'n', 0,   0,   'Q', 'q'};
    return dtype > 0 && dtype < (int32_t)sizeof letters ? letters[dtype] : 0;
}

static int letter_takes(char letter, int32_t dtype) {
    char have = type_letter(dtype);
    return have && (letter == '*' || letter == have);
}

/* Matches one side of a signature; *end is left on ':' or the terminator. */
static int side_takes(const char *types, const int32_t *dtypes, uint32_t n, const char **end) {
    uint32_t at = 0;
    while (*types && *types != ':') {
        int optional = *types == '~';
        if (optional) types++;
        char letter = *types++;
        if (*types == '+') {
            types++;
            if (at >= n) return 0;
            for (; at < n; at++)
                if (!letter_takes(letter, dtypes[at])) return 0;
        } else if (at >= n || dtypes[at] == ASC_UNDEFINED) {
            if (!optional) return 0;
            if (at < n) at++;
        } else if (!letter_takes(letter, dtypes[at++])) {
            return 0;
        }
    }
    *end = types;
    return at == n;
}

int asc_row_takes(const asc_kernel *row, const char *op, const int32_t *types, uint32_t n_in, uint32_t n_out) {
    const char *end;
    if (strcmp(row->op, op) != 0) return 0;
    if (!side_takes(row->types, types, n_in, &end) || *end != ':') return 0;
    return side_takes(end + 1, types + n_in, n_out, &end);
}

void asc_signature(const int32_t *types, uint32_t n_in, uint32_t n_out, char *letters) {
    for (uint32_t i = 0; i < n_in + n_out; i++) {
        if (i == n_in) *letters++ = ':';
        *letters++ = type_letter(types[i]) ? type_letter(types[i]) : '-';
    }
    *letters = 0;
}

int32_t asc_kernel_find(int32_t isa, const char *op, const int32_t *types, uint32_t n_in, uint32_t n_out) {
    uint32_t count;
    const asc_kernel *rows = asc_kernel_rows(isa < 0 ? asc_isa_current() : isa, &count);
    for (uint32_t i = 0; i < count; i++)
        if (asc_row_takes(&rows[i], op, types, n_in, n_out)) return (int32_t)i;
    return -1;
}

const asc_kernel *asc_kernel_lookup(int32_t isa, const char *op, const asc_tensor *in, uint32_t n_in,
                                    const asc_tensor *out, uint32_t n_out) {
    int32_t types[ASC_MAX_OPERANDS];
    if (n_in > ASC_MAX_OPERANDS || n_out > ASC_MAX_OPERANDS - n_in) return NULL;
    for (uint32_t i = 0; i < n_in; i++) types[i] = in[i].dtype;
    for (uint32_t i = 0; i < n_out; i++) types[n_in + i] = out[i].dtype;
    uint32_t count;
    const asc_kernel *rows = asc_kernel_rows(isa, &count);
    for (uint32_t i = 0; i < count; i++)
        if (asc_row_takes(&rows[i], op, types, n_in, n_out)) return &rows[i];
    return NULL;
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
    int32_t code = row->prepare(&call);
    if (code != ASC_OK) return code;
    return call.workspace_bytes ? run_guarded(row, &call) : row->run(&call);
}
