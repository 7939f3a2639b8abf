/* activation.h - the activations of an epilogue, on vectors. */
#ifndef ASC_KERNELS_ACTIVATION_H
#define ASC_KERNELS_ACTIVATION_H

#include "epilogue.h"
#include "gelu.h"

static inline __attribute__((always_inline)) vf hard_swish(vf x) {
    vf share = vf_fma(x, vf_set(1.0f / 6.0f), vf_set(0.5f));
    return x * vf_min(vf_set(1), vf_max((vf){0}, share));
}

static inline __attribute__((always_inline)) vf leaky_relu(vf x, vf slope) {
    return vf_select(x < (vf){0}, slope * x, x);
}

static inline __attribute__((always_inline)) vf activate(vf x, int64_t activation, const epilogue *e) {
    switch (activation) {
        case ASC_ACTIVATION_RELU: return vf_select(x < (vf){0}, (vf){0}, x);
        case ASC_ACTIVATION_GELU: return vf_gelu_erf(x);
        case EPILOGUE_GELU_COARSE: return vf_gelu_coarse(x);
        case ASC_ACTIVATION_GELU_TANH: return vf_gelu_tanh(x);
        case ASC_ACTIVATION_SILU: return x * vf_sigmoid(x);
        case ASC_ACTIVATION_SIGMOID: return vf_sigmoid(x);
        case ASC_ACTIVATION_TANH: return vf_tanh(x);
        case ASC_ACTIVATION_CLIP: {
            vf low = vf_set(e->low), high = vf_set(e->high);
            x = vf_select(x < low, low, x);
            return vf_select(x > high, high, x);
        }
        case ASC_ACTIVATION_HARD_SWISH: return hard_swish(x);
        case ASC_ACTIVATION_LEAKY_RELU: return leaky_relu(x, vf_set(e->low));
        default: return x;
    }
}

#endif
