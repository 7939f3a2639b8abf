/* What a sum of an integer product's results with an image is told. */
#include "byte_sum.h"

#include <math.h>

#include "quotient.h"
#include "simd.h"

/* A bound of the sum as a result. */
static int32_t bound_of(const byte_sum *s, float bound) {
    float q = rintf(bound / s->y_scale) + s->y_zero;
    return (int32_t)fminf(s->y_high, fmaxf(s->y_low, q));
}

/* All but the image and the result themselves. */
static byte_sum told(const asc_byte_binary_params *p, const asc_byte_binary_floats *f, int32_t zero, int32_t dtype) {
    const int is_signed = dtype == ASC_INT8;
    byte_sum s = {.flip = is_signed ? 128 : 0};
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

byte_sum ASC_FN(byte_sum_make)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f,
                               const byte_affine *affine, int32_t zero, const asc_tensor *addend, const asc_tensor *y) {
    byte_sum s = told(p, f, zero, y->dtype);
    s.addend = addend->data;
    s.y = y->data;
    if (s.inverse > 0) s.affine = *affine;
    return s;
}

#if ASC_VF == 16
static vf as_int8(vf steps) {
    return vf_min(vf_set(127), vf_max(vf_set(-128), vf_round(steps)));
}

static int agrees(const byte_sum *s, const byte_affine *t) {
    const float zero = s->y_zero - s->y_low - 128; /* of the result as int8 */
    vf lanes = {0};
    for (int i = 0; i < ASC_VF; i++) lanes[i] = (float)i;
    for (int x = -255; x <= 255; x++)
        for (int b = 0; b < 256; b += ASC_VF) {
            vf bytes = lanes + (float)b;
            vf exact = (vf_set((float)x * s->scale) + (bytes - s->addend_zero) * s->addend_scale) / s->y_scale;
            /* By name: what this file adds to a product isn't contracted. */
            __m512 affine = _mm512_fmadd_ps((__m512)bytes, _mm512_set1_ps(t->image), _mm512_set1_ps(t->rest));
            affine = _mm512_fmadd_ps(_mm512_set1_ps((float)x), _mm512_set1_ps(t->product), affine);
            exact = as_int8(vf_round(exact) + zero);
            if (_mm512_cmpneq_ps_mask((__m512)exact, (__m512)as_int8((vf)affine))) return 0;
        }
    return 1;
}

/* -3 to 3, beginning with 0. */
static double beside(int i) {
    return (i + 3) % 7 - 3;
}
#define TRIES 49

byte_affine ASC_FN(byte_affine_find)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f, int32_t dtype) {
    const byte_sum s = told(p, f, (int32_t)p->a_zero, dtype);
    const double product = (double)s.scale / s.y_scale, image = (double)s.addend_scale / s.y_scale;
    const int is_whole = (float)s.least == s.y_low && (float)s.most == s.y_high;
    byte_affine t = {0};
    for (int i = 0; i < TRIES && s.inverse > 0 && is_whole && !t.holds; i++) {
        t.product = (float)(product * (1 + beside(i) * 0x1p-24));
        t.image = (float)(image * (1 + beside(i / 7) * 0x1p-24));
        t.rest = (float)(s.y_zero - s.y_low - 128 - s.addend_zero * image + beside(3 * i) * 1e-6);
        t.holds = agrees(&s, &t);
    }
    return t;
}
#else
byte_affine ASC_FN(byte_affine_find)(const asc_byte_binary_params *p, const asc_byte_binary_floats *f, int32_t dtype) {
    (void)p, (void)f, (void)dtype;
    return (byte_affine){0};
}
#endif
