/* mutate.h - structure-aware changes of a bundle: fields of the plan's sections, of its section table, and
 * of the partition table get values that a hostile writer would try. */
#ifndef ASC_FUZZ_MUTATE_H
#define ASC_FUZZ_MUTATE_H

#include <stdint.h>

typedef struct random_state {
    uint64_t s;
} random_state;

uint64_t random_next(random_state *r);

/* Changes a few fields of a well-formed bundle in place and stamps its digest anew. */
void mutate_bundle(uint8_t *file, uint64_t size, random_state *r);
/* Stamps the digest, where the frame allows it. */
void stamp_bundle(uint8_t *file, uint64_t size);

#endif
