/* Transposed convolution with channels last. Of a stride s, the outputs at places of one remainder modulo s read every
 * s-th tap of the kernel: they are an ordinary convolution of stride 1, a phase, whose outputs lie s apart. */
#include "conv_last.h"

static int64_t modulo(int64_t a, int64_t n) {
    return ((a % n) + n) % n;
}

int64_t ASC_FN(conv_phases)(const conv *c) {
    return c->transposed ? c->stride[DEPTH] * c->stride[HEIGHT] * c->stride[WIDTH] : 1;
}

/* Makes one axis that of a phase: its outputs r, r + s.. sum x[q + base - m] w[first + m s] over m, from the last to
 * the first. */
static void take_axis(const conv *c, int axis, int64_t r, conv *p) {
    int64_t s = c->stride[axis], first = modulo(r + c->pad[axis], s), base = (r + c->pad[axis] - first) / s;
    p->kernel[axis] = p->held[axis] = asc_ceil_div(c->kernel[axis] - first, s);
    p->pad[axis] = p->kernel[axis] - 1 - base;
    p->out[axis] = r < c->out[axis] ? asc_ceil_div(c->out[axis] - r, s) : 0;
    p->stride[axis] = 1;
    p->begin[axis] = r;
    p->apart[axis] = s;
}

conv ASC_FN(conv_phase)(const conv *c, int64_t index) {
    conv p = *c;
    if (!c->transposed) return p;
    int64_t row = 0; /* of the weights, which hold one phase after the other */
    for (int64_t i = 0; i <= index; i++) {
        take_axis(c, DEPTH, i / c->stride[WIDTH] / c->stride[HEIGHT], &p);
        take_axis(c, HEIGHT, i / c->stride[WIDTH] % c->stride[HEIGHT], &p);
        take_axis(c, WIDTH, i % c->stride[WIDTH], &p);
        p.taps = p.kernel[DEPTH] * p.kernel[HEIGHT] * p.kernel[WIDTH];
        p.weights = c->weights + row * GEMM_PANEL;
        row += p.taps * c->group_depth;
    }
    p.out_size = p.out[DEPTH] * p.out[HEIGHT] * p.out[WIDTH];
    return p;
}

conv ASC_FN(conv_largest_phase)(const conv *c) {
    conv p = ASC_FN(conv_phase)(c, 0);
    for (int a = 0; a < AXES && c->transposed; a++) p.kernel[a] = asc_ceil_div(c->kernel[a], c->stride[a]);
    p.taps = p.kernel[DEPTH] * p.kernel[HEIGHT] * p.kernel[WIDTH];
    return p;
}
