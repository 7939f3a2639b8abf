/* Runs of steps that one loop does in place of a loop for each, with the same bits: a quantisation to 8 bits, and GELU.
 * What the other loops would write to registers, and read from there again, stays in vector registers. */
#include <math.h>
#include <string.h>

#include "elementwise_program.h"
#include "gelu.h"
#include "quantize/quotient.h"

#define NO_STEP (-1)
#define OPERANDS 2 /* SELECT, which has three, is in no run */

/* Which step made what a step reads, and how often what it makes is read. */
typedef struct flow {
    ew_program *p;
    int16_t maker[ASC_EW_MAX_STEPS][OPERANDS];
    int16_t readers[ASC_EW_MAX_STEPS];
} flow;

static int operands_of(const ew_step *s, int64_t registers[3]) {
    registers[0] = s->a, registers[1] = s->b, registers[2] = s->c;
    switch (s->op) {
        case ASC_EW_LOAD:
        case ASC_EW_CONST:
        case ASC_EW_IOTA: return 0;
        case ASC_EW_STORE:
        case ASC_EW_CAST: return 1;
        case ASC_EW_SELECT: return 3;
        default: return s->op < ASC_EW_NEG ? 2 : 1;
    }
}

static void read_flow(flow *f, ew_program *p) {
    int16_t writer[ASC_EW_MAX_REGISTERS];
    f->p = p;
    memset(f->readers, 0, sizeof f->readers);
    for (int32_t at = 0; at < p->n_steps; at++) {
        int64_t registers[3];
        int n = operands_of(&p->steps[at], registers);
        f->maker[at][0] = f->maker[at][1] = NO_STEP;
        for (int i = 0; i < n; i++) {
            f->readers[writer[registers[i]]]++;
            if (i < OPERANDS) f->maker[at][i] = writer[registers[i]];
        }
        if (p->steps[at].op != ASC_EW_STORE) writer[p->steps[at].dst] = (int16_t)at;
    }
}

/* Step `at` if it is `op`, and nothing but the step that asks reads what it makes. */
static int is_inner(const flow *f, int at, int op) {
    return at != NO_STEP && f->p->steps[at].op == op && f->readers[at] == 1;
}

static int is_float(const flow *f, int at, float value) {
    return at != NO_STEP && f->p->steps[at].op == ASC_EW_CONST && f->p->steps[at].bytes == 4 &&
           (uint32_t)f->p->steps[at].a == ew_bits(value);
}

/* Whether step `at` makes one number, the same for all elements. */
static int is_uniform(const flow *f, int at) {
    if (at == NO_STEP) return 0;
    const ew_step *s = &f->p->steps[at];
    if (s->op == ASC_EW_CAST) return is_uniform(f, f->maker[at][0]);
    return s->op == ASC_EW_CONST || (s->op == ASC_EW_LOAD && f->p->in[s->a].pattern == EW_UNIFORM);
}

/* The operand of step `at` beside a constant of this value; NO_STEP where there is no such constant. */
static int beside(const flow *f, int at, float value) {
    if (is_float(f, f->maker[at][1], value)) return f->maker[at][0];
    return is_float(f, f->maker[at][0], value) ? f->maker[at][1] : NO_STEP;
}

/* Whether the register of what step `made` wrote still holds it at step `at`, were the steps of `folded` not there. */
static int lasts(const flow *f, int made, int at, const int *folded, int n_folded) {
    for (int i = made + 1; i < at; i++) {
        int is_there = f->p->steps[i].op != EW_NOTHING;
        for (int k = 0; k < n_folded; k++) is_there &= folded[k] != i;
        if (is_there && f->p->steps[i].op != ASC_EW_STORE && f->p->steps[i].dst == f->p->steps[made].dst) return 0;
    }
    return 1;
}

/* Step `at` becomes this loop over what the steps of `read` made, if their registers last. */
static int fold(flow *f, int at, ew_fn fn, const int read[3], const int *folded, int n_folded) {
    ew_step *s = &f->p->steps[at];
    for (int i = 0; i < 3; i++)
        if (!lasts(f, read[i], at, folded, n_folded)) return 0;
    s->op = EW_FOLDED;
    s->fn = fn;
    s->a = f->p->steps[read[0]].dst;
    s->b = f->p->steps[read[1]].dst;
    s->c = f->p->steps[read[2]].dst;
    for (int k = 0; k < n_folded; k++) f->p->steps[folded[k]].op = EW_NOTHING;
    return 1;
}

/* ---- saturate(round(x / scale) + zero) ------------------------------------------------------- */

/* Far from the bounds of 8 bits the results are these, whatever x: so far it is cut, that the quotient by a reciprocal
 * is that of a division. 0 where it wouldn't be. */
static float farthest(float scale, float zero) {
    float far = (1024 + fabsf(zero)) * scale;
    return quotient_inverse(scale) != 0 && far < QUOTIENT_FARTHEST ? far : 0;
}

/* A constant first lets NaN through, which becomes 0, as conversions make it. */
static inline __attribute__((always_inline)) void quantise(int32_t *out, const float *x, float scale, float zero,
                                                           int64_t n, const float low, const float high) {
    const float far = farthest(scale, zero), inverse = far > 0 ? quotient_inverse(scale) : 0;
    for (int64_t i = 0; i < n; i += ASC_VF) {
        vf v = vf_load(x + i);
        if (far > 0)
            v = vf_quotient(vf_max(vf_set(-far), vf_min(vf_set(far), v)), vf_set(scale), vf_set(inverse));
        else
            v = v / vf_set(scale);
        v = vf_min(vf_set(high), vf_max(vf_set(low), vf_round(v) + vf_set(zero)));
        vi whole = __builtin_convertvector(vf_select(v == v, v, vf_set(0)), vi);
        memcpy(out + i, &whole, sizeof whole);
    }
}

#define QUANTISE(name, low, high)                                                                \
    static void name(void *dst, const void *a, const void *b, const void *c, int64_t n) {        \
        quantise(dst, a, *(const float *)b, *(const float *)c, n, low, high);                    \
    }                                                                                            \
    static void name##_zero(void *dst, const void *a, const void *b, const void *c, int64_t n) { \
        (void)c;                                                                                 \
        quantise(dst, a, *(const float *)b, 0, n, low, high);                                    \
    }
QUANTISE(to_u8, 0, 255)
QUANTISE(to_i8, -128, 127)

/* The quantisation that the cast at step `at` ends. */
static void fold_quantisation(flow *f, int at) {
    const ew_step *s = &f->p->steps[at];
    int to_unsigned = s->narrow == ASC_FN(asc_ew_narrow)(ASC_UINT8);
    if (s->op != ASC_EW_CAST || !(to_unsigned || s->narrow == ASC_FN(asc_ew_narrow)(ASC_INT8))) return;
    int least = f->maker[at][0], most, sum, rounded, quotient;
    if (!is_inner(f, least, ASC_EW_MIN)) return;
    most = beside(f, least, to_unsigned ? 255 : 127);
    if (!is_inner(f, most, ASC_EW_MAX)) return;
    sum = rounded = beside(f, most, to_unsigned ? 0 : -128);
    int zero = NO_STEP;
    if (is_inner(f, sum, ASC_EW_ADD)) {
        int first = is_uniform(f, f->maker[sum][0]);
        rounded = f->maker[sum][first];
        zero = f->maker[sum][!first];
    }
    if (!is_inner(f, rounded, ASC_EW_ROUND)) return;
    quotient = f->maker[rounded][0];
    if (!is_inner(f, quotient, ASC_EW_DIV) || f->p->steps[quotient].bytes != 4) return;
    int x = f->maker[quotient][0], scale = f->maker[quotient][1];
    if (!is_uniform(f, scale) || (zero != NO_STEP && !is_uniform(f, zero))) return;
    ew_fn fn = zero == NO_STEP ? (to_unsigned ? to_u8_zero : to_i8_zero) : (to_unsigned ? to_u8 : to_i8);
    const int read[3] = {x, scale, zero == NO_STEP ? scale : zero}, folded[] = {least, most, sum, rounded, quotient};
    fold(f, at, fn, read, folded, 5);
}

/* ---- 0.5 x (1 + erf(x / sqrt 2)) -------------------------------------------------------------- */

static void gelu(void *dst, const void *a, const void *b, const void *c, int64_t n) {
    (void)b, (void)c;
    EW_VECTORS(vf_gelu_erf(vf_load((const float *)a + at)))
}

/* The GELU that the product at step `at` ends. */
static int fold_gelu(flow *f, int at) {
    if (f->p->steps[at].op != ASC_EW_MUL || f->p->steps[at].bytes != 4) return 0;
    for (int side = 0; side < 2; side++) {
        int half = f->maker[at][side], sum = f->maker[at][!side];
        if (!is_inner(f, half, ASC_EW_MUL) || !is_inner(f, sum, ASC_EW_ADD)) continue;
        int x = beside(f, half, 0.5f), erf = beside(f, sum, 1);
        if (x == NO_STEP || !is_inner(f, erf, ASC_EW_ERF)) continue;
        int scaled = f->maker[erf][0];
        if (!is_inner(f, scaled, ASC_EW_MUL) || beside(f, scaled, 0.70710678118654752440f) != x) continue;
        const int read[3] = {x, x, x}, folded[] = {half, sum, erf, scaled};
        return fold(f, at, gelu, read, folded, 4);
    }
    return 0;
}

void ASC_FN(asc_ew_fold)(ew_program *p) {
    flow f;
    read_flow(&f, p);
    for (int at = 0; at < p->n_steps; at++)
        if (!fold_gelu(&f, at)) fold_quantisation(&f, at);
}
