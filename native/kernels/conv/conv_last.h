/* conv_last.h - convolution with channels last: what its files share. */
#ifndef ASC_KERNELS_CONV_LAST_H
#define ASC_KERNELS_CONV_LAST_H

#include "bfloat16.h"
#include "conv.h"
#include "conv_ending.h"

/* What a worker keeps between chunks; its scratch follows. */
typedef struct conv_worker {
    int64_t holds; /* whose inputs the scratch holds; -1: nobody's */
    int64_t pad[7];
} conv_worker;

static inline conv_worker *conv_worker_of(const asc_call *call, int64_t worker, int64_t bytes) {
    return (conv_worker *)((char *)call->workspace + worker * bytes);
}

/* One tap: what a window reads is the pixel's own input, and lines can have any length. */
static inline int conv_is_flat(const conv *c) {
    return c->taps == 1 && c->x_last && !c->transposed;
}

/* The phases of a transposed convolution, as convolutions (conv_phases.c); of any other there is one, itself. */
int64_t ASC_FN(conv_phases)(const conv *c);
conv ASC_FN(conv_phase)(const conv *c, int64_t index);
/* With as many taps and outputs as any has. */
conv ASC_FN(conv_largest_phase)(const conv *c);

/* Whether a line of output pixels reads X as it lies, without padding. */
static inline int conv_is_in_place(const conv *c) {
    int in_place = conv_is_flat(c) && !c->joined && (!c->vnni2 || (c->x_narrow && c->in_channels % 2 == 0));
    for (int a = 0; a < AXES; a++) in_place = in_place && c->stride[a] == 1 && c->pad[a] == 0 && c->in[a] == c->out[a];
    return in_place;
}

/* Floats (or pairs) of the copy that windows of `count` rows (flat: pixels) of a plane read; INT64_MAX on overflow. */
int64_t ASC_FN(conv_strip_size)(const conv *c, int64_t count);
/* Makes that copy, but for lines of padding, which are left as they were if a tile has one line: rows [row, row +
 * count) of output plane `plane` of the batch (image * depth of Y + place), or pixels [row, row + count) of the batch.
 */
void ASC_FN(conv_fill_strip)(const conv *c, int64_t plane, int64_t row, int64_t count, float *strip);
/* Pixels of a line of the copy, and its lines for each plane of taps. */
int64_t ASC_FN(conv_strip_width)(const conv *c);
int64_t ASC_FN(conv_strip_lines)(const conv *c, int64_t count);
/* Lines of the copy from what a row of taps reads to what the next one does: rows between them that no window of
 * `count` rows reads are left out. */
int64_t ASC_FN(conv_strip_step)(const conv *c, int64_t count);
/* Pixels of the copy from what a tap of a line reads to what the next one does, likewise. */
int64_t ASC_FN(conv_strip_across)(const conv *c);

/* Every group has one input and one output channel; weights are [taps, M]. */
static inline int conv_is_channelwise(const conv *c) {
    return c->group_in == 1 && c->group_out == 1;
}
/* Of such a one: whether conv_channelwise_square computes it, planes of 3 x 3 or 5 x 5 taps, stride 1 or 2, no more
 * than half a kernel of columns beside the image. */
int ASC_FN(conv_is_channelwise_square)(const conv *c);
/* Rows [row, row + rows) of an output plane of the batch, channels [channel, channel + channels). */
void ASC_FN(conv_channelwise)(const conv *c, int64_t plane, int64_t row, int64_t rows, int64_t channel,
                              int64_t channels);

#endif
