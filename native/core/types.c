/* Element types: their sizes, and the letters that kernel rows have for them. */
#include <string.h>

#include "rows.h"

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
