/* settings.c - the environment's part in AscendCL. */
#include "settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static asc_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static long number(const char *name, long least, long most, long otherwise) {
    const char *text = getenv(name);
    char *end;
    if (!text || !*text) return otherwise;
    long n = strtol(text, &end, 10);
    if (*end || n < least || n > most) {
        fprintf(stderr, "[WARNING] %s=%s is not a number from %ld to %ld; %ld is taken\n", name, text, least, most,
                otherwise);
        return otherwise;
    }
    return n;
}

static void read_settings(void) {
    const char *soc = getenv("ASCEND_EP_SOC");
    settings.check = number("ASCEND_EP_ACL_CHECK", 0, 1, 0) == 1;
    settings.devices = (uint32_t)number("ASCEND_EP_DEVICES", 1, ASC_MAX_DEVICES, 1);
    settings.log_level = (int)number("ASCEND_GLOBAL_LOG_LEVEL", 0, 4, 3);
    settings.log_stdout = number("ASCEND_SLOG_PRINT_TO_STDOUT", 0, 1, 0) == 1;
    uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    long mebibytes = number("ASCEND_EP_DEVICE_MEMORY", 1, 1L << 30, 0);
    settings.memory = mebibytes ? (uint64_t)mebibytes << 20 : there / settings.devices;
    snprintf(settings.soc, sizeof settings.soc, "%s", soc && *soc ? soc : "Ascend910B3");
}

const asc_settings *asc_get_settings(void) {
    pthread_once(&once, read_settings);
    return &settings;
}
