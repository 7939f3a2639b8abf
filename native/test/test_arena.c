/* The arena planner against a checker that knows nothing of it: no two buffers alive at one step may
 * overlap, unless one takes over the memory of the other. */
#include <stdlib.h>

#include "arena.h"
#include "check.h"

#define MAX_BUFFERS 600

static uint64_t seed = 1;
static uint32_t below(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* Follows what was taken over: from and to share memory when one continues the other. */
static int continues(const asc_buffer *b, uint32_t later, uint32_t earlier) {
    while (b[later].takes != ASC_NO_BUFFER) {
        later = b[later].takes;
        if (later == earlier) return 1;
    }
    return 0;
}

static void check_plan(const asc_buffer *b, uint32_t n, uint32_t steps, uint64_t arena) {
    uint64_t peak = 0;
    for (uint32_t i = 0; i < n; i++) {
        CHECK(b[i].offset % 64 == 0 && b[i].offset + b[i].bytes <= arena);
        for (uint32_t j = 0; j < i; j++) {
            int together = b[i].first <= b[j].last && b[j].first <= b[i].last;
            int apart = b[i].offset + b[i].bytes <= b[j].offset || b[j].offset + b[j].bytes <= b[i].offset;
            if (b[i].takes == j) CHECK(b[i].offset == b[j].offset && b[i].bytes == b[j].bytes);
            CHECK(!together || apart || continues(b, i, j));
        }
    }
    for (uint32_t step = 0; step < steps; step++) {
        uint64_t alive = 0;
        for (uint32_t i = 0; i < n; i++)
            if (b[i].first <= step && step <= b[i].last && (b[i].takes == ASC_NO_BUFFER || b[i].first != step))
                alive += b[i].bytes;
        if (alive > peak) peak = alive;
    }
    CHECK(arena >= peak && arena <= 3 * peak);
}

/* Random lifetimes and sizes, in order of the first step; some in place. */
static void random_plan(uint32_t n, uint32_t steps) {
    static asc_buffer b[MAX_BUFFERS];
    static uint8_t taken[MAX_BUFFERS];
    uint32_t used = 0;
    for (uint32_t step = 0; step < steps && used < n; step++)
        for (uint32_t k = below(3); k > 0 && used < n; k--) {
            uint32_t life = below(4) ? below(4) : below(steps);
            b[used] = (asc_buffer){.bytes = 64 * (1 + (uint64_t)below(below(2) ? 10 : 1000)), .first = step};
            b[used].last = step + life < steps ? step + life : steps - 1;
            b[used].takes = ASC_NO_BUFFER;
            taken[used] = 0;
            for (uint32_t j = 0; j < used && below(2); j++)
                if (b[j].last == step && b[j].first < step && !taken[j]) {
                    b[used].takes = j;
                    b[used].bytes = b[j].bytes;
                    taken[j] = 1;
                    break;
                }
            used++;
        }
    uint64_t arena;
    CHECK(asc_arena_plan(b, used, steps, &arena));
    check_plan(b, used, steps, arena);
}

/* A chain of layers needs two buffers, and one when every layer works in place. */
static void chain(int in_place, uint64_t expected) {
    asc_buffer b[50];
    uint64_t arena;
    for (uint32_t i = 0; i < 50; i++)
        b[i] = (asc_buffer){.bytes = 640, .first = i, .last = i + 1, .takes = in_place && i ? i - 1 : ASC_NO_BUFFER};
    CHECK(asc_arena_plan(b, 50, 51, &arena));
    CHECK(arena == expected);
    check_plan(b, 50, 51, arena);
}

static void too_large(void) {
    asc_buffer b[2] = {{.bytes = (uint64_t)1 << 61, .takes = ASC_NO_BUFFER},
                       {.bytes = (uint64_t)3 << 60, .takes = ASC_NO_BUFFER}};
    uint64_t arena;
    CHECK(!asc_arena_plan(b, 2, 1, &arena));
    CHECK(asc_arena_plan(b, 0, 0, &arena) && arena == 0);
}

int main(void) {
    chain(0, 1280);
    chain(1, 640);
    too_large();
    for (int i = 0; i < 200; i++) random_plan(1 + below(MAX_BUFFERS), 1 + below(300));
    return check_failures();
}
