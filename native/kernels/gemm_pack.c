/* Interleaving: by copies when the lanes are neighbours in memory, by 4 x 4 transposes when the
 * products are, element by element otherwise. */
#include "gemm_pack.h"

#include <string.h>

#include "pairs.h"

typedef float quad __attribute__((vector_size(16)));

static inline quad quad_load(const float *p) {
    quad q;
    memcpy(&q, p, sizeof q);
    return q;
}

static void copy_lanes(const float *from, int64_t k_stride, int64_t lanes, int64_t k, int64_t width, float *out) {
    for (int64_t i = 0; i < k; i++, from += k_stride, out += width) {
        if (lanes == 32)
            memcpy(out, from, 32 * sizeof *out);
        else
            for (int64_t j = 0; j < lanes; j++) out[j] = from[j];
    }
}

static void gather_lanes(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                         int64_t width, float *out) {
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < lanes; j++) out[i * width + j] = from[j * lane_stride + i * k_stride];
}

/* Four lanes of k consecutive elements each. */
static void transpose_quads(const float *from, int64_t lane_stride, int64_t k, int64_t width, float *out) {
    const float *a = from, *b = a + lane_stride, *c = b + lane_stride, *d = c + lane_stride;
    int64_t i = 0;
    for (; i + 4 <= k; i += 4, out += 4 * width) {
        quad qa = quad_load(a + i), qb = quad_load(b + i), qc = quad_load(c + i), qd = quad_load(d + i);
        quad ab_low = __builtin_shufflevector(qa, qb, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(qa, qb, 2, 6, 3, 7);
        quad cd_low = __builtin_shufflevector(qc, qd, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(qc, qd, 2, 6, 3, 7);
        quad columns[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                           __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                           __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                           __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
        for (int j = 0; j < 4; j++) memcpy(out + j * width, &columns[j], sizeof(quad));
    }
    gather_lanes(from + i, lane_stride, 1, 4, k - i, width, out);
}

void ASC_FN(gemm_interleave)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                             int64_t width, float *out) {
    if (lanes < width)
        for (int64_t i = 0; i < k; i++) memset(out + i * width + lanes, 0, (size_t)(width - lanes) * sizeof *out);
    if (lane_stride == 1) {
        copy_lanes(from, k_stride, lanes, k, width, out);
    } else if (k_stride == 1) {
        int64_t lane = 0;
        for (; lane + 4 <= lanes; lane += 4)
            transpose_quads(from + lane * lane_stride, lane_stride, k, width, out + lane);
        gather_lanes(from + lane * lane_stride, lane_stride, 1, lanes - lane, k, width, out + lane);
    } else {
        gather_lanes(from, lane_stride, k_stride, lanes, k, width, out);
    }
}

/* Up to ASC_VF lanes of a line; NULL is a line of zeros. */
static inline vf load_lanes(const float *line, int64_t lanes) {
    if (!line || lanes <= 0) return (vf){0};
    return lanes < ASC_VF ? vf_load_tail(line, lanes, 0) : vf_load(line);
}

/* Lanes that are neighbours in memory: two lines become one of pairs. */
static void zip_lines(const float *from, int64_t k_stride, int64_t lanes, int64_t k, int64_t width, float *out) {
    for (int64_t i = 0; i < k; i += 2, from += 2 * k_stride, out += width)
        for (int64_t j = 0; j < width; j += ASC_VF) {
            const float *next = i + 1 < k ? from + k_stride + j : NULL;
            vf pairs = pairs_zip(load_lanes(from + j, lanes - j), load_lanes(next, lanes - j));
            if (width - j < ASC_VF)
                vf_store_tail(out + j, pairs, width - j);
            else
                vf_store(out + j, pairs);
        }
}

void ASC_FN(gemm_interleave_pairs)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                                   int64_t width, float *room, float *out) {
    int64_t pairs = (k + 1) / 2;
    if (lane_stride == 1 && k_stride != 1) {
        zip_lines(from, k_stride, lanes, k, width, out);
        return;
    }
    for (int64_t i = 0; i < lanes; i++, from += lane_stride) {
        if (k_stride == 1) {
            pairs_from(from, k, room + i * pairs);
            continue;
        }
        for (int64_t j = 0; j < pairs; j++)
            room[i * pairs + j] = pairs_join(from[2 * j * k_stride], 2 * j + 1 < k ? from[(2 * j + 1) * k_stride] : 0);
    }
    ASC_FN(gemm_interleave)(room, pairs, 1, lanes, pairs, width, out);
}
