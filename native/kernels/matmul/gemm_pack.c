/* Interleaving: by copies when the lanes are neighbours in memory, by transposes of 16 x 16 (AVX-512) and 4 x 4 when
 * the products are, element by element otherwise. */
#include "gemm_pack.h"

#include <string.h>

#include "reduction/row_sums.h"
#include "vnni2.h"

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

/* The first n lanes by a factor and by their scales, zeros behind: of an infinite factor, too. */
static inline vf scaled(vf v, float factor, vf scale, int64_t n) {
    v = v * vf_set(factor) * scale;
    return n >= ASC_VF ? v : vf_first(v, n);
}

#if ASC_VF == 16
/* Rows of sixteen elements become columns: in every quarter of a vector 4 x 4, then the quarters. */
static inline void transpose_square(vf lines[16]) {
    __m512 row[16], pair[16];
    for (int i = 0; i < 16; i += 2) {
        pair[i] = _mm512_unpacklo_ps((__m512)lines[i], (__m512)lines[i + 1]);
        pair[i + 1] = _mm512_unpackhi_ps((__m512)lines[i], (__m512)lines[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            __m512d a = _mm512_castps_pd(pair[i + j]), b = _mm512_castps_pd(pair[i + j + 2]);
            row[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            row[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    for (int i = 0; i < 4; i++) { /* elements i, i + 4, i + 8, i + 12 */
        __m512 even_low = _mm512_shuffle_f32x4(row[i], row[i + 4], 0x88);
        __m512 odd_low = _mm512_shuffle_f32x4(row[i], row[i + 4], 0xdd);
        __m512 even_high = _mm512_shuffle_f32x4(row[i + 8], row[i + 12], 0x88);
        __m512 odd_high = _mm512_shuffle_f32x4(row[i + 8], row[i + 12], 0xdd);
        lines[i] = (vf)_mm512_shuffle_f32x4(even_low, even_high, 0x88);
        lines[i + 4] = (vf)_mm512_shuffle_f32x4(odd_low, odd_high, 0x88);
        lines[i + 8] = (vf)_mm512_shuffle_f32x4(even_low, even_high, 0xdd);
        lines[i + 12] = (vf)_mm512_shuffle_f32x4(odd_low, odd_high, 0xdd);
    }
}

/* The first n of the next ASC_VF elements, and zeros. */
static inline vf load_some(const float *p, int64_t n) {
    return n >= ASC_VF ? vf_load(p) : vf_load_tail(p, n > 0 ? n : 0, 0);
}

/* Lines that can be stored as whole vectors, whose rest the next lines replace: those that leave none behind the last
 * line, where others may be packing. */
static int64_t whole_lines(int64_t lanes, int64_t lines, int64_t width) {
    if (lanes == ASC_VF) return lines;
    return lanes == width ? lines - (ASC_VF - 1) / width : 0;
}

/* Up to sixteen lanes of k consecutive elements each, or their pairs, by squares. */
static inline __attribute__((always_inline)) void transpose_squares(const float *from, int64_t lane_stride,
                                                                    int64_t lanes, int64_t k, int vnni2,
                                                                    const gemm_scaling *scaling, int64_t width,
                                                                    float *out) {
    int64_t n = vnni2 ? (k + 1) / 2 : k, step = vnni2 ? 2 * ASC_VF : ASC_VF;
    int64_t whole = whole_lines(lanes, n, width);
    const float *scales = scaling ? scaling->lines : NULL;
    for (int64_t i = 0; i < n; i += ASC_VF, from += step, k -= step) {
        vf lines[16], scale[2];
        for (int j = 0; scaling && j < 1 + vnni2; j++, scales += ASC_VF) scale[j] = load_some(scales, k - j * ASC_VF);
        for (int j = 0; j < 16; j++) {
            int64_t lane = j < lanes ? j : lanes - 1;
            const float *p = from + lane * lane_stride;
            vf low = load_some(p, k), high = vnni2 ? load_some(p + ASC_VF, k - ASC_VF) : low;
            if (scaling) low = scaled(low, scaling->lanes[lane], scale[0], k);
            if (scaling && vnni2) high = scaled(high, scaling->lanes[lane], scale[1], k - ASC_VF);
            lines[j] = vnni2 ? vnni2_join_neighbours(low, high) : low;
        }
        transpose_square(lines);
        for (int64_t j = 0; j < 16; j++, out += width) {
            if (i + j < whole)
                vf_store(out, lines[j]);
            else if (i + j < n)
                vf_store_tail(out, lines[j], lanes);
        }
    }
}

/* Lanes of k consecutive elements each. */
static void transpose(const float *from, int64_t lane_stride, int64_t lanes, int64_t k, int64_t width, float *out) {
    for (int64_t lane = 0; lane < lanes; lane += 16)
        transpose_squares(from + lane * lane_stride, lane_stride, lanes - lane < 16 ? lanes - lane : 16, k, 0, NULL,
                          width, out + lane);
}
#else
typedef float vf4 __attribute__((vector_size(16)));

static inline vf4 vf4_load(const float *p) {
    vf4 q;
    memcpy(&q, p, sizeof q);
    return q;
}

/* Four lanes of k consecutive elements each. */
static void transpose_4x4(const float *from, int64_t lane_stride, int64_t k, int64_t width, float *out) {
    const float *a = from, *b = a + lane_stride, *c = b + lane_stride, *d = c + lane_stride;
    int64_t i = 0;
    for (; i + 4 <= k; i += 4, out += 4 * width) {
        vf4 qa = vf4_load(a + i), qb = vf4_load(b + i), qc = vf4_load(c + i), qd = vf4_load(d + i);
        vf4 ab_low = __builtin_shufflevector(qa, qb, 0, 4, 1, 5), ab_high = __builtin_shufflevector(qa, qb, 2, 6, 3, 7);
        vf4 cd_low = __builtin_shufflevector(qc, qd, 0, 4, 1, 5), cd_high = __builtin_shufflevector(qc, qd, 2, 6, 3, 7);
        vf4 columns[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                          __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                          __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
        for (int j = 0; j < 4; j++) memcpy(out + j * width, &columns[j], sizeof(vf4));
    }
    gather_lanes(from + i, lane_stride, 1, 4, k - i, width, out);
}

/* Lanes of k consecutive elements each. */
static void transpose(const float *from, int64_t lane_stride, int64_t lanes, int64_t k, int64_t width, float *out) {
    int64_t lane = 0;
    for (; lane + 4 <= lanes; lane += 4) transpose_4x4(from + lane * lane_stride, lane_stride, k, width, out + lane);
    gather_lanes(from + lane * lane_stride, lane_stride, 1, lanes - lane, k, width, out + lane);
}
#endif

/* Zeros where a line is longer than there are lanes. */
static void clear_other_lanes(int64_t lanes, int64_t k, int64_t width, float *out) {
    if (lanes < width)
        for (int64_t i = 0; i < k; i++) memset(out + i * width + lanes, 0, (size_t)(width - lanes) * sizeof *out);
}

void ASC_FN(gemm_interleave)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                             int64_t width, float *out) {
    clear_other_lanes(lanes, k, width, out);
    if (lane_stride == 1) {
        copy_lanes(from, k_stride, lanes, k, width, out);
    } else if (k_stride == 1) {
        transpose(from, lane_stride, lanes, k, width, out);
    } else {
        gather_lanes(from, lane_stride, k_stride, lanes, k, width, out);
    }
}

/* Up to ASC_VF lanes of a line; NULL is a line of zeros. */
static inline vf load_lanes(const float *line, int64_t lanes) {
    if (!line || lanes <= 0) return (vf){0};
    return lanes < ASC_VF ? vf_load_tail(line, lanes, 0) : vf_load(line);
}

/* The same of whole vectors, as long as there are two lines; how many they are. */
static int64_t zip_whole_lines(const float *from, int64_t k_stride, int64_t k, int64_t width, float *out) {
    int64_t i = 0;
    for (; i + 2 <= k; i += 2, from += 2 * k_stride, out += width)
        for (int64_t j = 0; j < width; j += ASC_VF)
            vf_store(out + j, vnni2_zip(vf_load(from + j), vf_load(from + k_stride + j)));
    return i;
}

/* Lanes that are neighbours in memory: two lines become one of pairs. */
static void zip_lines(const float *from, int64_t k_stride, int64_t lanes, int64_t k, int64_t width, float *out) {
    int64_t i = lanes >= width && width % ASC_VF == 0 ? zip_whole_lines(from, k_stride, k, width, out) : 0;
    from += i * k_stride;
    out += i / 2 * width;
    for (; i < k; i += 2, from += 2 * k_stride, out += width)
        for (int64_t j = 0; j < width; j += ASC_VF) {
            const float *next = i + 1 < k ? from + k_stride + j : NULL;
            vf pairs = vnni2_zip(load_lanes(from + j, lanes - j), load_lanes(next, lanes - j));
            if (width - j < ASC_VF)
                vf_store_tail(out + j, pairs, width - j);
            else
                vf_store(out + j, pairs);
        }
}

void ASC_FN(gemm_interleave_vnni2)(const float *from, int64_t lane_stride, int64_t k_stride, int64_t lanes, int64_t k,
                                   int64_t width, float *room, float *out) {
    int64_t pairs = (k + 1) / 2;
    if (width == 1 && k_stride == 1) {
        vnni2_from(from, k, out);
        return;
    }
    if (lane_stride == 1 && k_stride != 1) {
        zip_lines(from, k_stride, lanes, k, width, out);
        return;
    }
#if ASC_VF == 16
    if (k_stride == 1 && lane_stride != 1) {
        clear_other_lanes(lanes, pairs, width, out);
        for (int64_t lane = 0; lane < lanes; lane += 16)
            transpose_squares(from + lane * lane_stride, lane_stride, lanes - lane < 16 ? lanes - lane : 16, k, 1, NULL,
                              width, out + lane);
        return;
    }
#endif
    for (int64_t i = 0; i < lanes; i++, from += lane_stride) {
        if (k_stride == 1) {
            vnni2_from(from, k, room + i * pairs);
            continue;
        }
        for (int64_t j = 0; j < pairs; j++)
            room[i * pairs + j] = vnni2_join(from[2 * j * k_stride], 2 * j + 1 < k ? from[(2 * j + 1) * k_stride] : 0);
    }
    ASC_FN(gemm_interleave)(room, pairs, 1, lanes, pairs, width, out);
}

#if ASC_VF == 16
static void interleave_scaled(const float *from, int64_t lane_stride, int64_t lanes, int64_t k, int vnni2,
                              const gemm_scaling *scaling, float *out) {
    for (int64_t lane = 0; lane < lanes; lane += 16, from += 16 * lane_stride) {
        gemm_scaling some = {.lanes = scaling->lanes + lane, .lines = scaling->lines};
        int64_t most = lanes - lane < 16 ? lanes - lane : 16;
        if (vnni2)
            transpose_squares(from, lane_stride, most, k, 1, &some, lanes, out + lane);
        else
            transpose_squares(from, lane_stride, most, k, 0, &some, lanes, out + lane);
    }
}
#endif

static void scale_row(const float *from, int64_t k, float factor, const float *scales, float *out) {
    int64_t i = 0;
    for (; i + ASC_VF <= k; i += ASC_VF) vf_store(out + i, scaled(vf_load(from + i), factor, vf_load(scales + i), k));
    if (i == k) return;
    vf v = scaled(vf_load_tail(from + i, k - i, 0), factor, vf_load_tail(scales + i, k - i, 0), k - i);
    vf_store_tail(out + i, v, k - i);
}

void ASC_FN(gemm_interleave_scaled)(const float *from, int64_t lane_stride, int64_t lanes, int64_t k, int vnni2,
                                    const gemm_scaling *scaling, float *room, float *out) {
#if ASC_VF == 16
    if (lanes > 1) {
        interleave_scaled(from, lane_stride, lanes, k, vnni2, scaling, out);
        return;
    }
#endif
    float *rows = lanes == 1 && !vnni2 ? out : room;
    for (int64_t i = 0; i < lanes; i++, from += lane_stride)
        scale_row(from, k, scaling->lanes[i], scaling->lines, rows + i * k);
    if (lanes == 1 && vnni2)
        vnni2_from(rows, k, out);
    else if (vnni2)
        ASC_FN(gemm_interleave_vnni2)(rows, k, 1, lanes, k, lanes, room + lanes * k, out);
    else if (lanes > 1)
        ASC_FN(gemm_interleave)(rows, k, 1, lanes, k, lanes, out);
}
