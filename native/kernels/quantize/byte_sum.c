/* What a sum of an integer product's results with an image is told. */
#include "byte_sum.h"

#include <math.h>

#include "quotient.h"

/* A bound of the sum as a result. */
static int32_t bound_of(const byte_sum *s, float bound) {
    float q = rintf(bound / s->y_scale) + s->y_zero;
    return (int32_t)fminf(s->y_high, fmaxf(s->y_low, q));
}

byte_sum ASC_FN(byte_sum_make)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f, int32_t zero,
                               const asc_tensor *addend, const asc_tensor *y) {
    const int is_signed = y->dtype == ASC_INT8;
    byte_sum s = {.addend = addend->data, .y = y->data, .flip = is_signed ? 128 : 0};
    s.shift = (float)(zero - p->a_zero);
    s.scale = (float)f->a_scale;
    s.addend_zero = (float)(p->b_zero + s.flip);
    s.addend_scale = (float)f->b_scale;
    s.cut_low = (float)f->low;
    s.cut_high = (float)f->high;
    s.y_scale = (float)f->y_scale;
    s.y_zero = (float)p->y_zero;
    s.y_low = is_signed ? -128 : 0;
    s.y_high = s.y_low + 255;
    s.least = bound_of(&s, s.cut_low);
    s.most = bound_of(&s, s.cut_high);
    const float farthest = 255 * (s.scale + s.addend_scale) / s.y_scale;
    if (s.shift == 0 && farthest < QUOTIENT_FARTHEST) s.inverse = quotient_inverse(s.y_scale);
    return s;
}
