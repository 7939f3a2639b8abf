/* conv.h - the geometry of a convolution over up to three spatial axes (depth, height, width; a
 * missing one has extent 1, kernel 1, stride 1, no padding). */
#ifndef ASC_KERNELS_CONV_H
#define ASC_KERNELS_CONV_H

#include <stddef.h>

#include "asc_plan.h"
#include "chunks.h"
#include "matmul/gemm.h"

enum { DEPTH, HEIGHT, WIDTH, AXES };
enum { CONV_X, CONV_W, CONV_BIAS, CONV_RESIDUAL, CONV_SCALE, CONV_SHIFT, CONV_MORE = ASC_CONV_JOINED };

typedef struct conv {
    int x_last, y_last; /* whether the channels of X, Y (and the residual) come last */
    int64_t batch, groups, in_channels, out_channels;
    int64_t group_in, group_out; /* channels of a group */
    int64_t in[AXES], out[AXES], kernel[AXES], stride[AXES], dilation[AXES];
    int64_t pad[AXES]; /* before the first element; what follows the last is implied by `out` */
    int64_t taps, in_size, out_size;
    int transposed; /* output o reads input (o + pad - k dilation) / stride, where that is whole */
    int panels;     /* weights are [groups, group_in * taps, group_out] in ASC_LAYOUT_PANEL32 */
    const float *x, *weights;
    float *y;
    /* with channels last: */
    int vnni2;                       /* weights are pairs of bfloat16, and X is read in such */
    int x_narrow, y_narrow;          /* X is bfloat16; Y and the residual are */
    int64_t depth, group_depth;      /* floats, or pairs, that are read of a pixel, and of a group of it */
    int64_t rows;                    /* of a panel of weights */
    int64_t tile_lines;              /* most lines of a tile; of several, windows read lines of padding, too */
    int64_t held[AXES], first[AXES]; /* taps that the weights have, and the first of them that `kernel` counts */
    int64_t whole[AXES], begin[AXES], apart[AXES]; /* of Y: its extents; output o is its place begin + o apart */
    epilogue epilogue;                             /* addends of image 0, channel 0 */
    /* of conv_joined: */
    const asc_tensor *joined;   /* X, and from CONV_MORE on those whose channels follow; NULL: it is another kernel */
    const float *scale, *shift; /* of each channel of all; NULL: none */
    float x_low, x_high;
} conv;

/* Those with channels last have one of their own in the place of `transposed`. */
static inline const asc_conv_params *conv_params(const asc_call *call) {
    return ASC_INTS_AS(asc_conv_params, call);
}
static inline const asc_conv_last_params *conv_last_params(const asc_call *call) {
    return ASC_INTS_AS(asc_conv_last_params, call);
}
_Static_assert(offsetof(asc_conv_params, axes) == offsetof(asc_conv_last_params, axes) &&
                   offsetof(asc_conv_params, activation) == offsetof(asc_conv_last_params, activation),
               "conv_read reads both");

/* Checks and reads what all convolutions share, asc_conv_params but for `transposed`. Not the weights. */
int32_t ASC_FN(conv_read)(const asc_call *call, int x_last, int y_last, conv *c);
/* What prepare has found, of a call that runs: with its pointers. In prepare, those of what is only there in a run are
 * any but NULL. */
conv ASC_FN(conv_at)(const asc_call *call, const conv *found);

/* `count` pixels from one of the batch on as conv_joined reads them: c->depth floats or pairs of each (conv_join.c). */
void ASC_FN(conv_join_pixels)(const conv *c, int64_t pixel, int64_t count, float *out);

/* gemm pack functions: rows are (channel, tap), columns are output pixels; g->b is the group's first
 * input channel, g->source the conv. */
void ASC_FN(conv_pack_taps)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out);
void ASC_FN(conv_pack_transposed_taps)(const gemm *g, int64_t panel, int64_t k0, int64_t k, float *out);

/* Depthwise, where every group reads one channel, by square kernels that slide. */
int ASC_FN(conv_slides)(const conv *c);
/* Rows [row, row + rows) of all outputs of input planes [plane, plane + planes), image * channels + channel. */
void ASC_FN(conv_slide)(const conv *c, int64_t plane, int64_t planes, int64_t row, int64_t rows);

/* Depthwise, any other kernel. Rows of output are computed in strips. */
int ASC_FN(conv_is_depthwise)(const conv *c);
int64_t ASC_FN(conv_strip_rows)(const conv *c);
int64_t ASC_FN(conv_strip_floats)(const conv *c, int64_t rows);
/* As conv_slide. */
void ASC_FN(conv_depthwise)(const conv *c, int64_t plane, int64_t planes, int64_t row, int64_t rows, float *scratch);

#endif
