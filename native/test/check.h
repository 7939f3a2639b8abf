/* check.h - CHECK(condition): reports and counts failures; main returns check_failures(). */
#ifndef ASC_TEST_CHECK_H
#define ASC_TEST_CHECK_H

#include <stdio.h>

static int checks_failed;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            checks_failed++;                                                        \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                           \
    } while (0)

/* Exit status of a test. */
static inline int check_failures(void) {
    return checks_failed != 0;
}

#endif
