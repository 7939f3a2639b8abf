/* random.c - numbers by chance: the Philox 4x32-10 generator, counted by seed, offset and position, so that equal seeds
 * and offsets give equal numbers whatever ran before. They are not the numbers of a chip. */
#include <math.h>
#include <string.h>

#include "operator.h"

typedef struct generator {
    uint64_t seed, offset;
} generator;

/* Four words of 32 bits for a position. */
static void philox(const generator *g, uint64_t at, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)g->offset, (uint32_t)(g->offset >> 32)};
    uint32_t k0 = (uint32_t)g->seed, k1 = (uint32_t)(g->seed >> 32);
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q, (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

/* In [0, 1), with 24 bits as float32 has them. */
static double fraction(uint32_t word) {
    return (double)(word >> 8) * 0x1p-24;
}

/* Seed and offset, numbers or tensors of one; of tensors a further offset follows. */
static generator generator_at(asc_run *run, int i) {
    if (asc_arg(run, i)->kind != 'T') return (generator){(uint64_t)asc_int(run, i), (uint64_t)asc_int(run, i + 1)};
    uint64_t found[2];
    for (int k = 0; k < 2; k++) {
        tensor t = asc_of(run, i + k, ASC_INT64);
        ASC_STOP_UNLESS(run, asc_elements(t) == 1, "%s has %lld elements, not one", asc_run_row(run)->names[i + k],
                        (long long)asc_elements(t));
        found[k] = *(const uint64_t *)t.data;
    }
    return (generator){found[0], found[1] + (uint64_t)asc_int(run, i + 2)};
}

/* How many arguments more there are than with numbers. */
static int further(const asc_run *run, int i) {
    return asc_arg(run, i)->kind == 'T';
}

static tensor uniform(asc_run *run, generator g, int64_t n) {
    tensor t = asc_new(run, ASC_FLOAT32, 1, &n);
    float *to = t.data;
    for (int64_t i = 0; i < n; i += 4) {
        uint32_t words[4];
        philox(&g, (uint64_t)i / 4, words);
        for (int k = 0; k < 4 && i + k < n; k++) to[i + k] = (float)fraction(words[k]);
    }
    return t;
}

/* Box and Muller: two of each pair of words. */
static tensor normal(asc_run *run, generator g, int64_t n) {
    tensor t = asc_new(run, ASC_FLOAT32, 1, &n);
    float *to = t.data;
    for (int64_t i = 0; i < n; i += 4) {
        uint32_t words[4];
        philox(&g, (uint64_t)i / 4, words);
        for (int k = 0; k < 4 && i + k < n; k++) {
            double radius = sqrt(-2 * log(1 - fraction(words[k & 2])));
            double angle = 2 * 3.14159265358979323846 * fraction(words[k | 1]);
            to[i + k] = (float)(radius * (k & 1 ? sin(angle) : cos(angle)));
        }
    }
    return t;
}

/* self, from, to, seed, offset. */
void asc_op_uniform(asc_run *run) {
    double from = asc_float(run, 1), to = asc_float(run, 2), numbers[] = {from, to - from};
    tensor u = uniform(run, generator_at(run, 3), asc_elements(asc_in(run, 0)));
    asc_put(run, 0, asc_formula(run, ASC_FLOAT32, "p + a * q", 1, &u, numbers, 2));
}

/* self, mean, std, seed, offset. */
void asc_op_normal(asc_run *run) {
    double numbers[] = {asc_float(run, 1), asc_float(run, 2)};
    tensor z = normal(run, generator_at(run, 3), asc_elements(asc_in(run, 0)));
    asc_put(run, 0, asc_formula(run, ASC_FLOAT32, "p + a * q", 1, &z, numbers, 2));
}

/* mean, std, seed, offset, out: each a tensor or a number. */
void asc_op_normal_of(asc_run *run) {
    tensor to = asc_in(run, 4), z = normal(run, generator_at(run, 2), asc_elements(to)), part[2];
    for (int i = 0; i < 2; i++) {
        bool given = asc_arg(run, i)->kind == 'T';
        part[i] = given ? asc_in(run, i) : asc_new(run, ASC_FLOAT32, 0, NULL);
        if (!given) asc_fill(run, part[i], asc_float(run, i));
    }
    z = asc_reshape(run, z, to.rank, to.dims);
    asc_put(run, 4, ASC_COMPUTE(run, ASC_FLOAT32, "a + b * c", part[0], part[1], z));
}

/* self, from, to, seed, offset: whole numbers in [from, to). Without bounds, all that the type holds. */
void asc_op_random(asc_run *run, int bounded) {
    tensor self = asc_in(run, 0), made = asc_like(run, self, ASC_INT64);
    int32_t type = self.dtype;
    int64_t from = bounded ? asc_int(run, 1) : 0, to = bounded ? asc_int(run, 2) : 0;
    if (!bounded)
        to = type == ASC_FLOAT32    ? (1 << 24) + 1
             : type == ASC_FLOAT16  ? (1 << 11) + 1
             : type == ASC_BFLOAT16 ? (1 << 8) + 1
             : type == ASC_BOOL     ? 2
             : type == ASC_UINT8    ? 256
             : type == ASC_INT8     ? 128
             : type == ASC_INT16    ? 32768
             : type == ASC_INT32    ? (int64_t)1 << 31
                                    : INT64_MAX;
    uint64_t range = (uint64_t)to - (uint64_t)from;
    ASC_STOP_UNLESS(run, to > from, "no whole number is in [%lld, %lld)", (long long)from, (long long)to);
    generator g = generator_at(run, bounded ? 3 : 1);
    for (int64_t i = 0; i < asc_elements(made); i++) {
        uint32_t words[4];
        philox(&g, (uint64_t)i, words);
        ((int64_t *)made.data)[i] = from + (int64_t)(((uint64_t)words[0] << 32 | words[1]) % range);
    }
    asc_put(run, 0, made);
}

/* self, p (a number, or a tensor), seed, offset, then the output unless it is self: 1 as often as p says. */
void asc_op_bernoulli(asc_run *run) {
    tensor self = asc_in(run, 0), p;
    tensor u = asc_reshape(run, uniform(run, generator_at(run, 2), asc_elements(self)), self.rank, self.dims);
    if (asc_arg(run, 1)->kind == 'T')
        p = asc_in(run, 1);
    else
        asc_fill(run, p = asc_new(run, ASC_FLOAT32, 0, NULL), asc_float(run, 1));
    asc_put(run, asc_arg(run, 0)->kind == 'R' ? 0 : 4, ASC_COMPUTE(run, ASC_FLOAT32, "a < b", u, p));
}

/* n, seed, offset, out: whole numbers below n in some order. */
void asc_op_permutation(asc_run *run) {
    int64_t n = asc_int(run, 0);
    ASC_STOP_UNLESS(run, n >= 0, "%lld numbers", (long long)n);
    tensor made = asc_new(run, ASC_INT64, 1, &n);
    int64_t *at = made.data;
    generator g = generator_at(run, 1);
    for (int64_t i = 0; i < n; i++) at[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint32_t words[4];
        philox(&g, (uint64_t)i, words);
        int64_t k = (int64_t)(((uint64_t)words[0] << 32 | words[1]) % (uint64_t)(i + 1)), kept = at[i];
        at[i] = at[k];
        at[k] = kept;
    }
    asc_put(run, 3, made);
}

/* shape, probability of dropping, seed, offset, perhaps a type, mask: a bit for each element, 1 keeps it. */
void asc_op_dropout_mask(asc_run *run, int out) {
    const asc_argument *shape = asc_arg(run, 0);
    tensor mask = asc_in(run, out);
    int64_t n = 1, bytes = asc_elements(mask) * (int64_t)asc_dtype_bytes(mask.dtype);
    for (int i = 0; i < shape->count; i++) n *= shape->ints[i];
    ASC_STOP_UNLESS(run, bytes * 8 >= n && asc_is_contiguous(mask), "the mask has no bit for each of %lld elements",
                    (long long)n);
    tensor u = uniform(run, generator_at(run, 2), n);
    memset(mask.data, 0, (size_t)bytes);
    for (int64_t i = 0; i < n; i++)
        if ((double)((float *)u.data)[i] >= asc_float(run, 1)) ((uint8_t *)mask.data)[i / 8] |= (uint8_t)(1 << i % 8);
}

/* self, mask, probability of dropping (or, by_scale, what is kept is multiplied with), out. */
void asc_op_dropout(asc_run *run, int by_scale) {
    tensor x = asc_cast(run, asc_in(run, 0), asc_in(run, 0).dtype), mask = asc_in(run, 1),
           keep = asc_like(run, x, ASC_BOOL);
    double p = asc_float(run, 2);
    int64_t bits = asc_elements(mask) * (int64_t)asc_dtype_bytes(mask.dtype) * 8;
    ASC_STOP_UNLESS(run, bits >= asc_elements(x), "the mask has no bit for each of %lld elements",
                    (long long)asc_elements(x));
    for (int64_t i = 0; i < asc_elements(x); i++)
        ((uint8_t *)keep.data)[i] = ((uint8_t *)mask.data)[i / 8] >> i % 8 & 1;
    if (!by_scale) p = p < 1 ? 1 / (1 - p) : 0;
    asc_put(run, 3, ASC_COMPUTE_WITH(run, x.dtype, "b ? a * p : 0", p, x, keep));
}

/* input, a shape of noise (none), probability of dropping, seed, offset, out, mask: a bit for each element. */
void asc_op_drop(asc_run *run) {
    tensor x = asc_in(run, 0), mask = asc_in(run, 6), keep = asc_like(run, x, ASC_BOOL);
    double p = asc_float(run, 2);
    int64_t n = asc_elements(x), bytes = asc_elements(mask) * (int64_t)asc_dtype_bytes(mask.dtype);
    ASC_STOP_UNLESS(run, !asc_has_at(run, 1), "a shape of noise isn't there");
    ASC_STOP_UNLESS(run, bytes * 8 >= n && asc_is_contiguous(mask), "the mask has no bit for each of %lld elements",
                    (long long)n);
    tensor u = uniform(run, generator_at(run, 3), n);
    memset(mask.data, 0, (size_t)bytes);
    for (int64_t i = 0; i < n; i++) {
        bool kept = (double)((const float *)u.data)[i] >= p;
        ((uint8_t *)keep.data)[i] = kept;
        ((uint8_t *)mask.data)[i / 8] |= (uint8_t)(kept << i % 8);
    }
    asc_put(run, 5, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "b ? a * p : 0", p < 1 ? 1 / (1 - p) : 0, x, keep));
}

/* self, noise, lower, upper, training, seed, offset, then the output unless it is self: below 0 a slope by chance,
 * which the noise keeps, or the middle one. */
void asc_op_leak_by_chance(asc_run *run) {
    tensor x = asc_in(run, 0);
    double low = asc_float(run, 2), high = asc_float(run, 3), range[] = {low, high - low};
    int out = asc_arg(run, 0)->kind == 'R' ? 0 : 7;
    if (!asc_int(run, 4)) {
        asc_put(run, out, ASC_COMPUTE_WITH(run, ASC_FLOAT32, "a > 0 ? a : a * p", (low + high) / 2, x));
        return;
    }
    tensor u = asc_reshape(run, uniform(run, generator_at(run, 5), asc_elements(x)), x.rank, x.dims);
    tensor slope = asc_formula(run, ASC_FLOAT32, "a > 0 ? 1 + 0 * b : p + b * q", 2, (tensor[]){x, u}, range, 2);
    asc_put(run, 1, slope);
    asc_put(run, out, ASC_COMPUTE(run, ASC_FLOAT32, "a * b", x, slope));
}

/* self, count, replacement, seed, offset, perhaps more of it, out: positions of a row, as often as their weights say.
 */
void asc_op_multinomial(asc_run *run) {
    int out = 5 + further(run, 3);
    tensor w = asc_copy(run, asc_in(run, 0), ASC_FLOAT64), to = asc_in(run, out);
    ASC_STOP_UNLESS(run, w.rank >= 1, "weights have an axis");
    int64_t n = w.dims[w.rank - 1], rows = asc_elements(w) / (n ? n : 1), count = asc_int(run, 1);
    bool again = asc_int(run, 2) != 0;
    ASC_STOP_UNLESS(run, count >= 0 && asc_elements(to) == rows * count, "%lld rows of %lld draws", (long long)rows,
                    (long long)count);
    tensor u = uniform(run, generator_at(run, 3), rows * count), made = asc_like(run, to, ASC_INT64);
    for (int64_t r = 0; r < rows; r++) {
        double *weights = (double *)w.data + r * n;
        for (int64_t k = 0; k < count; k++) {
            double sum = 0, below = 0;
            for (int64_t i = 0; i < n; i++) sum += weights[i];
            ASC_STOP_UNLESS(run, sum > 0 && isfinite(sum), "the weights of row %lld sum to %g", (long long)r, sum);
            double target = (double)((float *)u.data)[r * count + k] * sum;
            int64_t chosen = -1;
            for (int64_t i = 0; i < n && (chosen < 0 || below <= target); i++) {
                if (weights[i] > 0) chosen = i;
                below += weights[i];
            }
            ((int64_t *)made.data)[r * count + k] = chosen;
            if (!again) weights[chosen] = 0;
        }
    }
    asc_put(run, out, made);
}
