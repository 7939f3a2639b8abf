/* The table of kernel rows of an ISA level, and finding one in it. */
#include "rows.h"

#include <stdlib.h>

const asc_kernel *asc_kernel_rows(int32_t isa, uint32_t *count) {
    switch (isa) {
        case ASC_ISA_BASELINE: return asc_kernels_baseline(count);
#if defined(ASC_HAVE_avx2)
        case ASC_ISA_AVX2: return asc_kernels_avx2(count);
#endif
#if defined(ASC_HAVE_avx512)
        case ASC_ISA_AVX512: return asc_kernels_avx512(count);
#endif
#if defined(ASC_HAVE_avx512vnni)
        case ASC_ISA_AVX512VNNI: return asc_kernels_avx512vnni(count);
#endif
#if defined(ASC_HAVE_avx512bf16)
        case ASC_ISA_AVX512BF16: return asc_kernels_avx512bf16(count);
#endif
#if defined(ASC_HAVE_amx)
        case ASC_ISA_AMX: return asc_kernels_amx(count);
#endif
#if defined(ASC_HAVE_dotprod)
        case ASC_ISA_DOTPROD: return asc_kernels_dotprod(count);
#endif
#if defined(ASC_HAVE_bf16i8mm)
        case ASC_ISA_BF16I8MM: return asc_kernels_bf16i8mm(count);
#endif
        default: *count = 0; return NULL;
    }
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

static uint32_t bucket_of(const char *op) { /* FNV-1a of at most 64 bytes */
    uint32_t h = 2166136261u;
    for (int i = 0; *op && i < 64; i++, op++) h = (h ^ (uint8_t)*op) * 16777619u;
    return (h ^ h >> 16) % ASC_ROW_BUCKETS;
}

/* Rows are entered last to first, so that a bucket lists them in table order. */
int asc_row_index_make(asc_row_index *index, int32_t isa) {
    index->rows = asc_kernel_rows(isa, &index->count);
    index->next = malloc((index->count + 1) * sizeof *index->next);
    if (!index->next) return 0;
    for (uint32_t b = 0; b < ASC_ROW_BUCKETS; b++) index->first[b] = index->count;
    for (uint32_t i = index->count; i-- > 0;) {
        uint32_t b = bucket_of(index->rows[i].op);
        index->next[i] = index->first[b];
        index->first[b] = i;
    }
    return 1;
}

void asc_row_index_free(asc_row_index *index) {
    free(index->next);
}

const asc_kernel *asc_row_index_find(const asc_row_index *index, const char *op, const int32_t *types, uint32_t n_in,
                                     uint32_t n_out) {
    for (uint32_t i = index->first[bucket_of(op)]; i < index->count; i = index->next[i])
        if (asc_row_takes(&index->rows[i], op, types, n_in, n_out)) return &index->rows[i];
    return NULL;
}
