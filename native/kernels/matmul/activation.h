/* activation.h - the activations of an epilogue, on vectors. */
#ifndef ASC_KERNELS_ACTIVATION_H
#define ASC_KERNELS_ACTIVATION_H

#include "epilogue.h"
#include "gelu.h"

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
        default: return x;
    }
}

#endif
