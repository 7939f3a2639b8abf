#include "mutate.h"

#include <string.h>

#include "bundle.h"
#include "plan.h"

#define CHECKSUM_AT 12

uint64_t random_next(random_state *r) { /* SplitMix64 */
    uint64_t z = r->s += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

void stamp_bundle(uint8_t *file, uint64_t size) {
    uint8_t digest[32];
    if (asc_bundle_digest(file, size, digest, NULL) == ASC_OK) memcpy(file + CHECKSUM_AT, digest, sizeof digest);
}

static uint64_t read_field(const uint8_t *at, int bytes) {
    uint64_t v = 0;
    memcpy(&v, at, (size_t)bytes);
    return v;
}

static void write_field(uint8_t *at, int bytes, uint64_t v) {
    memcpy(at, &v, (size_t)bytes);
}

static uint64_t strange_value(uint64_t old, random_state *r) {
    static const uint64_t NUMBERS[] = {0,
                                       1,
                                       2,
                                       3,
                                       8,
                                       9,
                                       31,
                                       33,
                                       64,
                                       255,
                                       256,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       0xFFFFFFFE,
                                       (uint64_t)1 << 32,
                                       INT64_MAX,
                                       (uint64_t)1 << 63,
                                       UINT64_MAX,
                                       (uint64_t)1 << 62,
                                       (uint64_t)1 << 40};
    uint64_t pick = random_next(r);
    switch (pick >> 8 & 7) {
        case 0: return old + 1;
        case 1: return old - 1;
        case 2: return old ^ (uint64_t)1 << (pick >> 16 & 63);
        case 3: return old * 2;
        case 4: return 0 - old;
        case 5: return pick >> 16 & 31; /* a small index */
        default: return NUMBERS[(pick >> 16) % (sizeof NUMBERS / sizeof *NUMBERS)];
    }
}

/* A field of element `row` of a section, of 1 to 8 bytes at an offset of its own size. */
static void change_element(uint8_t *at, uint64_t count, uint32_t stride, random_state *r) {
    uint64_t row = random_next(r) % count, other = random_next(r) % count, pick = random_next(r);
    int bytes = stride < 4 ? 1 : (int)(1u << (pick & 3));
    if ((uint32_t)bytes > stride) bytes = (int)stride;
    uint64_t field = (pick >> 8) % (stride / (uint32_t)bytes) * (uint32_t)bytes;
    uint8_t *to = at + row * stride + field;
    if (pick >> 4 & 1) {
        write_field(to, bytes, strange_value(read_field(to, bytes), r));
    } else if (pick >> 5 & 1) {
        memcpy(to, at + other * stride + field, (size_t)bytes); /* what another element has there */
    } else {
        uint8_t keep[4096];
        memcpy(keep, at + row * stride, stride);
        memmove(at + row * stride, at + other * stride, stride);
        memcpy(at + other * stride, keep, stride);
    }
}

static void change_section(uint8_t *plan, random_state *r) {
    asc_plan_header h;
    memcpy(&h, plan, sizeof h);
    uint32_t at = (uint32_t)(random_next(r) % h.n_sections);
    uint8_t *entry = plan + h.header_bytes + sizeof(asc_section) * at;
    asc_section s;
    memcpy(&s, entry, sizeof s);
    if (random_next(r) % 16 == 0) {
        change_element(plan + h.header_bytes, h.n_sections, sizeof s, r);
    } else if (random_next(r) % 64 == 0) {
        change_element(plan, 1, sizeof h, r);
    } else if (s.count) {
        change_element(plan + s.offset, s.count, s.stride, r);
    }
}

void mutate_bundle(uint8_t *file, uint64_t size, random_state *r) {
    asc_frame frame;
    if (asc_frame_parse(&frame, file, size, NULL) != ASC_OK) return;
    const asc_part *plan = asc_frame_part(&frame, ASC_PART_PLAN);
    uint64_t n = 1 + random_next(r) % 3;
    for (uint64_t i = 0; i < n; i++) {
        asc_plan readable; /* a change of the section table may leave none, and no place for the next change */
        if (asc_plan_parse(&readable, file + plan->offset, plan->size, NULL) != ASC_OK) break;
        asc_plan_free(&readable);
        change_section(file + plan->offset, r);
    }
    if (random_next(r) % 64 == 0) change_element(file + ASC_OM_HEADER_BYTES + 8, frame.n_parts, 24, r);
    stamp_bundle(file, size);
}
