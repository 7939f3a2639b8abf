#ifndef ASC_CORE_SHA256_H
#define ASC_CORE_SHA256_H

#include <stdint.h>

/* SHA-256 (FIPS 180-4) over bytes that come in pieces. */
typedef struct asc_sha256_state {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
    int accelerated;
} asc_sha256_state;

void asc_sha256_begin(asc_sha256_state *s, int portable); /* portable: without the CPU's SHA instructions */
void asc_sha256_add(asc_sha256_state *s, const void *bytes, uint64_t size);
void asc_sha256_end(asc_sha256_state *s, uint8_t digest[32]);

/* 64 lowercase hex digits and a NUL. */
void asc_hex(const uint8_t digest[32], char text[65]);

#endif
