/* environment.c - HCCL's environment variables. Values that a card refuses are said, and taken where they mean
 * something here. */
#include "environment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static asc_hccl_environment environment;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* `least`: of what means something here; `card`: of what a card takes. */
static int32_t number(const char *name, int32_t least, int32_t card, int32_t most, int32_t otherwise) {
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return otherwise;
    long n = strtol(text, &end, 10);
    if (*end || n < least || n > most) {
        fprintf(stderr, "[WARNING] EI0001: %s=%s is not a number from %d to %d; %d is taken\n", name, text, card, most,
                otherwise);
        return otherwise;
    }
    if (n < card) fprintf(stderr, "[WARNING] EI0001: %s=%s is taken; a card takes %d to %d\n", name, text, card, most);
    return (int32_t)n;
}

static void read_environment(void) {
    environment.connect_seconds = number("HCCL_CONNECT_TIMEOUT", 1, 120, 7200, 120);
    environment.execute_seconds = number("HCCL_EXEC_TIMEOUT", 0, 0, INT32_MAX, 1836);
    environment.buffer_mebibytes = (uint32_t)number("HCCL_BUFFSIZE", 1, 1, INT32_MAX, 200);
}

const asc_hccl_environment *asc_hccl_get_environment(void) {
    pthread_once(&once, read_environment);
    return &environment;
}
