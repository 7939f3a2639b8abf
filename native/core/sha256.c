/* SHA-256, FIPS 180-4, with the x86 SHA instructions where the CPU has them. */
#include "sha256.h"

#include <string.h>

#include "ascend_rt.h"
#include "cpu.h"

static const uint32_t K[64] __attribute__((aligned(16))) = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

static void blocks_portable(uint32_t h[8], const uint8_t *p, uint64_t n) {
    for (; n; n--, p += 64) {
        uint32_t w[64], v[8];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        memcpy(v, h, sizeof v);
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
            uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
            uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
            uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof *v);
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) h[i] += v[i];
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* State registers hold ABEF and CDGH; each sha256rnds2 does two rounds. */
__attribute__((target("sha,sse4.1"))) static void blocks_sha_ni(uint32_t h[8], const uint8_t *p, uint64_t n) {
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i dcba = _mm_loadu_si128((const __m128i *)h), hgfe = _mm_loadu_si128((const __m128i *)(h + 4));
    __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1), efgh = _mm_shuffle_epi32(hgfe, 0x1B);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
    for (; n; n--, p += 64) {
        __m128i w[4], abef0 = abef, cdgh0 = cdgh;
        for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), big_endian);
        for (int i = 0; i < 16; i++) {
            __m128i now = w[i & 3];
            __m128i wk = _mm_add_epi32(now, _mm_load_si128((const __m128i *)&K[4 * i]));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0E));
            if (i < 12) {
                __m128i next = _mm_sha256msg1_epu32(now, w[(i + 1) & 3]);
                next = _mm_add_epi32(next, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
                w[i & 3] = _mm_sha256msg2_epu32(next, w[(i + 3) & 3]);
            }
        }
        abef = _mm_add_epi32(abef, abef0);
        cdgh = _mm_add_epi32(cdgh, cdgh0);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
static void blocks_sha_ni(uint32_t h[8], const uint8_t *p, uint64_t n) {
    blocks_portable(h, p, n);
}
#endif

static void blocks(asc_sha256_state *s, const uint8_t *p, uint64_t n) {
    if (!n) return;
    if (s->accelerated)
        blocks_sha_ni(s->h, p, n);
    else
        blocks_portable(s->h, p, n);
}

void asc_sha256_begin(asc_sha256_state *s, int portable) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, start, sizeof s->h);
    s->bytes = 0;
    s->accelerated = !portable && asc_cpu_has_sha_ni();
}

void asc_sha256_add(asc_sha256_state *s, const void *bytes, uint64_t size) {
    const uint8_t *p = bytes;
    uint64_t held = s->bytes % 64;
    s->bytes += size;
    if (held) {
        uint64_t take = size < 64 - held ? size : 64 - held;
        memcpy(s->block + held, p, take);
        p += take;
        size -= take;
        if (held + take < 64) return;
        blocks(s, s->block, 1);
    }
    blocks(s, p, size / 64);
    if (size % 64) memcpy(s->block, p + size / 64 * 64, size % 64);
}

void asc_sha256_end(asc_sha256_state *s, uint8_t digest[32]) {
    uint64_t bits = s->bytes * 8, held = s->bytes % 64;
    uint8_t tail[128] = {0};
    uint64_t n = held < 56 ? 1 : 2;
    memcpy(tail, s->block, held);
    tail[held] = 0x80;
    for (int i = 0; i < 8; i++) tail[n * 64 - 1 - (uint64_t)i] = (uint8_t)(bits >> 8 * i);
    blocks(s, tail, n);
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(s->h[i / 4] >> (24 - i % 4 * 8));
}

void asc_sha256(const void *bytes, uint64_t size, uint8_t digest[32]) {
    asc_sha256_state s;
    asc_sha256_begin(&s, 0);
    asc_sha256_add(&s, bytes, size);
    asc_sha256_end(&s, digest);
}

void asc_hex(const uint8_t digest[32], char text[65]) {
    for (int i = 0; i < 64; i++) text[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    text[64] = 0;
}
