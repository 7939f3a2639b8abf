/* deadline.h - waiting on conditions for so many milliseconds. */
#ifndef ASC_ACL_DEADLINE_H
#define ASC_ACL_DEADLINE_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* A condition that asc_deadline's times are for. */
static inline void asc_deadline_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static inline struct timespec asc_deadline(int32_t milliseconds) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    if (milliseconds < 0) milliseconds = 0;
    at.tv_sec += milliseconds / 1000;
    at.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

#endif
