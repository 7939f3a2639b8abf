/* counters.h - what the CPU and the system count of a thread. */
#ifndef ASC_CORE_COUNTERS_H
#define ASC_CORE_COUNTERS_H

#include <stdint.h>

/* Of these counters, those that this thread can have. */
uint32_t asc_counters_try(uint32_t asked);
/* Reads them in the order of their bits; zeros where this thread has none. */
void asc_counters_read(uint32_t counters, uint64_t *values);

#endif
