/* The elementwise part of RNN, GRU and LSTM: from the sums of a step to its state, a row at a time. */
#include "recurrent.h"
#include "vmath.h"

static inline vf load(const float *p, int64_t left) {
    return left >= ASC_VF ? vf_load(p) : vf_load_tail(p, left, 0);
}

static inline void store(float *p, vf v, int64_t left) {
    if (left >= ASC_VF)
        vf_store(p, v);
    else
        vf_store_tail(p, v, left);
}

static vf rare_activation(const cell_activation *f, vf x) {
    vf alpha = vf_set(f->alpha), beta = vf_set(f->beta), zero = vf_set(0);
    switch (f->code) {
        case ASC_CELL_AFFINE: return vf_fma(alpha, x, beta);
        case ASC_CELL_LEAKYRELU: return vf_select(x < zero, alpha * x, x);
        case ASC_CELL_THRESHOLDEDRELU: return vf_select(x <= alpha, zero, x);
        case ASC_CELL_SCALEDTANH: return alpha * vf_tanh(beta * x);
        case ASC_CELL_HARDSIGMOID: return vf_max(zero, vf_min(vf_set(1), vf_fma(alpha, x, beta)));
        case ASC_CELL_ELU: return vf_select(x < zero, alpha * vf_expm1(x), x);
        case ASC_CELL_SOFTSIGN: return x / (vf_abs(x) + 1.0f);
        default: return vf_softplus(x);
    }
}

/* f(x), clipped before. Operands are in the order that lets NaN through. */
static inline vf activate(const cell *k, int which, vf x) {
    const cell_activation *f = &k->f[which];
    x = vf_max(vf_set(-k->clip), vf_min(vf_set(k->clip), x));
    if (f->code == ASC_CELL_SIGMOID) return vf_sigmoid(x);
    if (f->code == ASC_CELL_TANH) return vf_tanh(x);
    if (f->code == ASC_CELL_RELU) return vf_max(vf_set(0), x);
    return rare_activation(f, x);
}

void ASC_FN(cell_rnn)(const cell *k, const float *sums, float *h) {
    for (int64_t j = 0; j < k->hidden; j += ASC_VF)
        store(h + j, activate(k, 0, load(sums + j, k->hidden - j)), k->hidden - j);
}

void ASC_FN(cell_lstm)(const cell *k, const float *sums, float *h, float *c) {
    int64_t n = k->hidden;
    for (int64_t j = 0; j < n; j += ASC_VF) {
        const float *at = sums + j;
        int64_t left = n - j;
        vf i = load(at, left), o = load(at + n, left), f = load(at + 2 * n, left), g = load(at + 3 * n, left);
        vf before = load(c + j, left);
        if (k->peephole) {
            i = vf_fma(load(k->peephole + j, left), before, i);
            f = vf_fma(load(k->peephole + 2 * n + j, left), before, f);
        }
        i = activate(k, 0, i);
        f = k->coupled ? 1.0f - i : activate(k, 0, f);
        vf after = vf_fma(f, before, i * activate(k, 1, g));
        if (k->peephole) o = vf_fma(load(k->peephole + n + j, left), after, o);
        store(c + j, after, left);
        store(h + j, activate(k, 0, o) * activate(k, 2, after), left);
    }
}

void ASC_FN(cell_gru_gates)(const cell *k, float *sums, const float *h, float *reset) {
    int64_t n = k->hidden;
    for (int64_t j = 0; j < n; j += ASC_VF) {
        int64_t left = n - j;
        vf r = activate(k, 0, load(sums + n + j, left));
        store(sums + j, activate(k, 0, load(sums + j, left)), left);
        store(sums + n + j, r, left);
        if (!k->reset_after) store(reset + j, r * load(h + j, left), left);
    }
}

void ASC_FN(cell_gru_state)(const cell *k, const float *gates, const float *candidate, const float *x, float *h) {
    int64_t n = k->hidden;
    for (int64_t j = 0; j < n; j += ASC_VF) {
        int64_t left = n - j;
        vf z = load(gates + j, left), sum = load(candidate + j, left), before = load(h + j, left);
        if (k->reset_after) sum = vf_fma(load(gates + n + j, left), sum, load(x + j, left));
        vf next = activate(k, 1, sum);
        store(h + j, vf_fma(z, before, (1.0f - z) * next), left);
    }
}
