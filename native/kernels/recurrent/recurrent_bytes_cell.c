/* The cell of LSTM with 8-bit weights, to the bit as onnxruntime's CPU provider computes it where there are fused
 * multiplications: its state is rounded to 8 bits in every step, so what differs by a millionth may differ by 1/255
 * afterwards, and more in the end. Sigmoid and tanh are quotients of polynomials, those of Eigen; products and sums
 * outside them are rounded one by one. */
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

static inline vf polynomial(vf x, const float *coefficients, int n) {
    vf sum = vf_set(coefficients[0]);
    for (int i = 1; i < n; i++) sum = vf_fma(sum, x, vf_set(coefficients[i]));
    return sum;
}

/* Within `bound`; NaN stays. Highest powers first, of x squared. */
#define QUOTIENT(x, bound, odd, even)                                               \
    vf v = vf_max(vf_set(-(bound)), vf_min(vf_set(bound), x)), square = v * v;      \
    vf quotient = polynomial(square, odd, (int)(sizeof(odd) / sizeof *(odd))) * v / \
                  polynomial(square, even, (int)(sizeof(even) / sizeof *(even)))

static inline vf tanh_of(vf x) {
    static const float odd[] = {-2.76076847742355e-16f, 2.00018790482477e-13f, -8.60467152213735e-11f,
                                5.12229709037114e-08f,  1.48572235717979e-05f, 6.37261928875436e-04f,
                                4.89352455891786e-03f};
    static const float even[] = {1.19825839466702e-06f, 1.18534705686654e-04f, 2.26843463243900e-03f,
                                 4.89352518554385e-03f};
    QUOTIENT(x, 9.0f, odd, even);
    return quotient;
}

static inline vf sigmoid_of(vf x) {
    static const float odd[] = {4.37031012579801e-11f, 1.15627324459942e-07f, 6.08574864600143e-05f,
                                8.51377133304701e-03f, 2.48287947061529e-01f};
    static const float even[] = {6.10247389755681e-13f, 5.76102136993427e-09f, 6.29106785017040e-06f,
                                 1.70198817374094e-03f, 1.16817656904453e-01f, 9.93151921023180e-01f};
    QUOTIENT(x, 18.0f, odd, even);
    return vf_max(vf_set(0), vf_min(vf_set(1), quotient + 0.5f));
}

static inline vf clipped(const cell *k, vf x) {
    return vf_max(vf_set(-k->clip), vf_min(vf_set(k->clip), x));
}

void ASC_FN(cell_lstm_bytes)(const cell *k, const float *sums, float *h, float *c) {
    if (k->f[0].code != ASC_CELL_SIGMOID || k->f[1].code != ASC_CELL_TANH || k->f[2].code != ASC_CELL_TANH) {
        ASC_FN(cell_lstm)(k, sums, h, c);
        return;
    }
    int64_t n = k->hidden;
    for (int64_t j = 0; j < n; j += ASC_VF) {
        const float *at = sums + j;
        int64_t left = n - j;
        vf i = load(at, left), o = load(at + n, left), f = load(at + 2 * n, left), g = load(at + 3 * n, left);
        vf before = load(c + j, left);
        if (k->peephole) {
            i = i + vf_sealed(before * load(k->peephole + j, left));
            f = f + vf_sealed(before * load(k->peephole + 2 * n + j, left));
        }
        i = sigmoid_of(clipped(k, i));
        f = k->coupled ? 1.0f - i : sigmoid_of(clipped(k, f));
        vf after = vf_sealed(before * f) + vf_sealed(i * tanh_of(clipped(k, g)));
        if (k->peephole) o = o + vf_sealed(after * load(k->peephole + n + j, left));
        store(c + j, after, left);
        store(h + j, tanh_of(after) * sigmoid_of(clipped(k, o)), left);
    }
}
