/* What the machine has: ISA levels, of which the choice is a pure function of the CPU's flags and ASCEND_EP_CPU; and
 * a clock. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "cpu.h"
#include "kernel.h"

#if defined(__aarch64__)
#define LOWEST "neon"
#else
#define LOWEST "baseline"
#endif
static const char *const NAMES[ASC_ISA_COUNT] = {LOWEST,       "avx2", "avx512",  "avx512vnni",
                                                 "avx512bf16", "amx",  "dotprod", "bf16i8mm"};

const char *asc_isa_name(int32_t isa) {
    return isa >= 0 && isa < ASC_ISA_COUNT ? NAMES[isa] : NULL;
}

int32_t asc_isa_by_name(const char *name) {
    for (int32_t isa = 0; name && isa < ASC_ISA_COUNT; isa++)
        if (strcmp(name, NAMES[isa]) == 0) return isa;
    return name && strcmp(name, "baseline") == 0 ? ASC_ISA_BASELINE : -1;
}

/* Bits of what this CPU has: its ISA levels, SHA_NI beside them, and ASKED, so that none of them is not nothing. */
enum { SHA_NI = ASC_ISA_COUNT, ASKED };

#if defined(__x86_64__)
static int has_f16c(void) { /* clang 14 has no name for it */
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static int has_sha_ni(void) { /* nor has GCC 12 */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Whether the CPU has tiles of 16 rows of 64 bytes, eight of them, of bfloat16 and of bytes. */
static int has_amx(void) {
    enum { BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25, ALL = BF16 | TILE | INT8 };
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & ALL) != ALL) return 0;
    return __get_cpuid_count(0x1d, 1, &a, &b, &c, &d) && b >> 16 == 8 && (b & 0xffff) == 64 && (c & 0xffff) == 16;
}

/* Whether this process may use them. The system keeps no room for tiles until it is asked, once: Linux from 5.16 on.
 * Older ones, filters of system calls and some sandboxes refuse; so does any where a thread has a stack for signals
 * that is too small for tiles. Once they are granted the system refuses such stacks. */
static int may_use_amx(void) {
    enum { GET_PERMISSION = 0x1022, ASK_PERMISSION = 0x1023, TILE_DATA = 18 };
    enum { UNKNOWN, REFUSED, GRANTED };
    static _Atomic int answer;
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == UNKNOWN) {
        uint64_t allowed = 0;
        known = REFUSED;
        if (syscall(SYS_arch_prctl, ASK_PERMISSION, TILE_DATA) == 0 &&
            syscall(SYS_arch_prctl, GET_PERMISSION, &allowed) == 0 && (allowed >> TILE_DATA & 1))
            known = GRANTED;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == GRANTED;
}

static uint32_t ask_cpu(void) {
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    int vnni = avx512 && __builtin_cpu_supports("avx512vnni"), bf16 = vnni && __builtin_cpu_supports("avx512bf16");
    int amx = bf16 && has_amx();
    return 1u << ASC_ISA_BASELINE | (uint32_t)avx2 << ASC_ISA_AVX2 | (uint32_t)avx512 << ASC_ISA_AVX512 |
           (uint32_t)vnni << ASC_ISA_AVX512VNNI | (uint32_t)bf16 << ASC_ISA_AVX512BF16 | (uint32_t)amx << ASC_ISA_AMX |
           (uint32_t)has_sha_ni() << SHA_NI;
}
#else
static int may_use_amx(void) {
    return 0;
}

static uint32_t ask_cpu(void) {
    uint32_t has = 1u << ASC_ISA_BASELINE;
#if defined(__aarch64__)
    /* As Linux numbers them, whatever its headers here know: what compilers take for ARMv8.2 and what is beside it. */
    enum {
        CRC32 = 1 << 7,
        ATOMICS = 1 << 8,
        RDM = 1 << 12,
        DOTPROD = 1 << 20,
        DOTPROD_ALL = CRC32 | ATOMICS | RDM | DOTPROD
    };
    enum { I8MM = 1 << 13, BF16 = 1 << 14, BF16I8MM_ALL = I8MM | BF16 };
    if ((getauxval(AT_HWCAP) & DOTPROD_ALL) == DOTPROD_ALL) {
        has |= 1u << ASC_ISA_DOTPROD;
        if ((getauxval(AT_HWCAP2) & BF16I8MM_ALL) == BF16I8MM_ALL) has |= 1u << ASC_ISA_BF16I8MM;
    }
#endif
    return has;
}
#endif

/* Asked once: a virtual machine takes 10 us for each CPUID. Threads that ask at once store the same. */
static int cpu_has(int32_t feature) {
    static _Atomic uint32_t answer;
    uint32_t known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (!known) {
        known = ask_cpu() | 1u << ASKED;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return (int)(known >> feature & 1);
}

int asc_cpu_has_sha_ni(void) {
    return cpu_has(SHA_NI);
}

/* Tiles are asked for when nothing else is in their way: a lower level that ASCEND_EP_CPU names runs without. */
int32_t asc_isa_supported(int32_t isa) {
    uint32_t count = 0;
    int known = isa >= 0 && isa < ASC_ISA_COUNT && cpu_has(isa) && asc_kernel_rows(isa, &count) != NULL;
    return known && (isa != ASC_ISA_AMX || may_use_amx());
}

/* An unknown or unsupported ASCEND_EP_CPU falls through to the best level here; the Python side
 * refuses it by name before any model is loaded. */
int32_t asc_isa_current(void) {
    int32_t forced = asc_isa_by_name(getenv("ASCEND_EP_CPU"));
    if (forced >= 0 && asc_isa_supported(forced)) return forced;
    for (int32_t isa = ASC_ISA_COUNT - 1; isa > 0; isa--)
        if (asc_isa_supported(isa)) return isa;
    return ASC_ISA_BASELINE;
}

uint64_t asc_clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
