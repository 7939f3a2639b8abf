/* bilinear.h - a plane of float32 read between its elements. */
#ifndef ASC_KERNELS_BILINEAR_H
#define ASC_KERNELS_BILINEAR_H

#include <math.h>

#include "isa.h"

/* Four neighbours by offset in the plane, and their weights; those outside weigh 0 and are element 0. */
typedef struct bilinear {
    int64_t at[4];
    float weight[4];
} bilinear;

/* Around (y, x), which lie in (-1, height) and (-1, width). */
static inline bilinear bilinear_around(float y, float x, int64_t height, int64_t width) {
    int64_t top = (int64_t)floorf(y), left = (int64_t)floorf(x);
    float down = y - (float)top, right = x - (float)left;
    float rows[2] = {1 - down, down}, columns[2] = {1 - right, right};
    bilinear b;
    for (int k = 0; k < 4; k++) {
        int64_t i = top + (k >> 1), j = left + (k & 1);
        int inside = i >= 0 && i < height && j >= 0 && j < width;
        b.at[k] = inside ? i * width + j : 0;
        b.weight[k] = inside ? rows[k >> 1] * columns[k & 1] : 0;
    }
    return b;
}

static inline float bilinear_read(const bilinear *b, const float *plane) {
    float sum = 0;
    for (int k = 0; k < 4; k++)
        if (b->weight[k] != 0) sum += b->weight[k] * plane[b->at[k]];
    return sum;
}

#endif
