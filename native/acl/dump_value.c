/* dump_value.c - copies tensors of calls into plain order. */
#include "dump_value.h"

#include <stdlib.h>
#include <string.h>

#define PANEL 32

static int64_t count_of(const int64_t *dims, int32_t rank) {
    int64_t n = 1;
    for (int32_t i = 0; i < rank; i++) n *= dims[i];
    return n;
}

/* ---- bytes ----------------------------------------------------------------------------------------- */

static void gather(const asc_tensor *t, size_t size, char *out) {
    int64_t at[ASC_MAX_RANK] = {0}, n = count_of(t->dims, t->rank);
    const char *from = t->data;
    for (int64_t i = 0; i < n; i++, out += size) {
        memcpy(out, from, size);
        for (int32_t d = t->rank - 1; d >= 0; d--) {
            from += t->strides[d] * (int64_t)size;
            if (++at[d] < t->dims[d]) break;
            from -= t->strides[d] * t->dims[d] * (int64_t)size;
            at[d] = 0;
        }
    }
}

/* Matrices of panels, one after another, as rows. A unit has `rows` elements of a column, side by side. */
static void unpack(const asc_tensor *t, const asc_layout *layout, size_t size, char *out) {
    int64_t k = t->dims[t->rank - 2], n = t->dims[t->rank - 1], lines = (k + layout->rows - 1) / layout->rows;
    int64_t matrices = count_of(t->dims, t->rank - 2), whole = asc_packed_bytes(t->layout, k, n);
    bool nibbles = t->layout == ASC_LAYOUT_NIBBLES32;
    for (int64_t m = 0; m < matrices; m++)
        for (int64_t row = 0; row < k; row++)
            for (int64_t column = 0; column < n; column++, out += size) {
                int64_t unit = (column / PANEL * lines + row / layout->rows) * PANEL + column % PANEL;
                const char *from = (const char *)t->data + m * whole + unit * layout->unit_bytes;
                int64_t part = row % layout->rows;
                if (nibbles)
                    *out = (char)((int8_t)((uint8_t)*from << (part ? 0 : 4)) >> 4);
                else
                    memcpy(out, from + part * (int64_t)size, size);
            }
}

/* [N, spatial.., C] to [N, C, spatial..]. */
static void move_channels(const char *from, char *to, int64_t n, int64_t spatial, int64_t channels, size_t size) {
    for (int64_t image = 0; image < n; image++, from += spatial * channels * (int64_t)size)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t s = 0; s < spatial; s++, to += size)
                memcpy(to, from + (s * channels + c) * (int64_t)size, size);
}

/* The model's dims of an image [N, .., W / last, last C]. */
static void set_image_dims(asc_dump_value *v, const asc_tensor *seen, int64_t last) {
    v->dims[1] = seen->dims[seen->rank - 1] / last;
    for (int32_t i = 2; i < seen->rank; i++) v->dims[i] = seen->dims[i - 1];
    v->dims[seen->rank - 1] *= last;
}

static char *plain_bytes(const asc_tensor *seen, size_t size, size_t bytes) {
    const asc_layout *layout = asc_layout_of(seen->layout);
    char *made = bytes && seen->data ? malloc(bytes) : NULL;
    if (!made) return NULL;
    if (layout && layout->rows && seen->rank >= 2)
        unpack(seen, layout, size, made);
    else
        gather(seen, size, made);
    return made;
}

asc_dump_value asc_dump_copy(const asc_tensor *seen, const asc_origin *origin, const asc_def_tensor *def) {
    asc_dump_value v = {.dtype = seen->dtype, .rank = seen->rank, .known = origin != NULL, .def = def};
    size_t size = asc_dtype_bytes(seen->dtype);
    int64_t joined = origin ? origin->last : 0;
    bool last = joined && seen->rank >= 3 && seen->dims[seen->rank - 1] % joined == 0;
    memcpy(v.dims, seen->dims, sizeof v.dims);
    if (last) set_image_dims(&v, seen, joined);
    v.bytes = size * (size_t)count_of(seen->dims, seen->rank);
    char *made = plain_bytes(seen, size, v.bytes), *moved = made && last ? malloc(v.bytes) : NULL;
    if (moved) {
        move_channels(made, moved, v.dims[0], count_of(v.dims + 2, v.rank - 2), v.dims[1], size);
        free(made);
        made = moved;
    }
    v.data = made;
    if (!made) v.bytes = 0;
    return v;
}
