/* conv_ending.h - what a convolution does to a sum that has its bias and residual, while it is in a register. */
#ifndef ASC_KERNELS_CONV_ENDING_H
#define ASC_KERNELS_CONV_ENDING_H

#include "matmul/activation.h"

typedef struct conv_ending {
    float low, high; /* bounds, maybe infinite; `low` is the slope of ASC_ACTIVATION_LEAKY_RELU */
    int bends;       /* 0: the bounds count; else ASC_ACTIVATION_HARD_SWISH or ASC_ACTIVATION_LEAKY_RELU */
    int curves;      /* of a bfloat16 result: 0, or the activation, which is computed of sums in memory */
    int rounds;      /* to float16; never of what bends */
    int whole;       /* nothing is left of the epilogue */
} conv_ending;

/* `narrow`: the result is bfloat16. */
conv_ending ASC_FN(conv_ending_of)(const epilogue *e, int narrow);

/* The function of `curves`, of neighbours that have their bias and residual. */
void ASC_FN(conv_curve)(const conv_ending *e, float *sums, int64_t count);

/* What is left of an epilogue when bias and residual are done. */
epilogue ASC_FN(conv_after)(const epilogue *e);

static inline __attribute__((always_inline)) vf conv_bend(const conv_ending *e, vf y) {
    return e->bends == ASC_ACTIVATION_HARD_SWISH ? hard_swish(y) : leaky_relu(y, vf_set(e->low));
}

/* But for rounding. */
static inline __attribute__((always_inline)) vf conv_end(const conv_ending *e, vf y) {
    return e->bends ? conv_bend(e, y) : vf_min(vf_set(e->high), vf_max(vf_set(e->low), y));
}

#endif
