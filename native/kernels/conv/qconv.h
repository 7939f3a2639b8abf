/* qconv.h - the convolution of integers as its parts see it. */
#ifndef ASC_KERNELS_QCONV_H
#define ASC_KERNELS_QCONV_H

#include "matmul/qgemm.h"

#define QCONV_AXES 2                /* one spatial axis counts as two, of which the first is 1 */
enum { QCONV_ADDEND = Q_OPERANDS }; /* the image that is added to the results, if any */

typedef struct qconv {
    int64_t batch, channels, outputs, groups;
    int64_t in[QCONV_AXES], out[QCONV_AXES]; /* spatial dims */
    int64_t kernel[QCONV_AXES], stride[QCONV_AXES], dilation[QCONV_AXES], pad[QCONV_AXES];
    int x_last, y_last; /* channels last */
    int apart;          /* each channel is a group of its own with one output */
    int adds;           /* an image to the results, as these say */
    asc_byte_binary_params sum;
    asc_byte_binary_floats sum_floats;
    byte_affine sum_affine;
    /* The image that the products read: uint8, channels last, padded with the zero point; it spans what windows
     * reach. It is x itself (`in_place`) or a copy. */
    int in_place;
    int64_t padded[QCONV_AXES], image_bytes;
    int64_t fan_in; /* channels of a group */
    /* A window as runs of `length` bytes, each a multiple of four in the weights */
    int64_t n_segments, length, vnni4;
    /* Output positions as lines of neighbours whose windows are stride[1] * channels bytes apart */
    int64_t lines, line, positions, line_step;
    int flat; /* a line's last window is as far from the next line's first as from the one before it */
} qconv;

int32_t ASC_FN(qconv_read)(const asc_call *call, qconv *c);

/* The padded copy of image row `chunk`, counted over all images. */
void ASC_FN(qconv_pad)(const asc_call *call, const qconv *c, int64_t chunk, uint8_t *images);

/* Sums of channels [col, col + QGEMM_COLUMNS) apart, at `n` neighbouring positions from `window` on. */
void ASC_FN(qconv_apart)(const qconv *c, const uint8_t *window, const int8_t *weights, const int32_t *zero, int64_t col,
                         int64_t n, int32_t *sums);

/* The same with results of 8 bits, for QCONV_BYTES channels, if the level has the instructions and the requantiser is
 * one of saturation: `lines` lines of `n` positions in all, of which the first's window is `window`; `out` is the first
 * result of all channels. */
#define QCONV_BYTES 64
int ASC_FN(qconv_apart_bytes_can)(const qconv *c, const requantiser *r);
void ASC_FN(qconv_apart_bytes)(const qconv *c, const requantiser *r, const uint8_t *window, const int8_t *weights,
                               int64_t col, int64_t n, char *out);

#endif
