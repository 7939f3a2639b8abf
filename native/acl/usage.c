/* usage.c - a file for each process in $ASCEND_EP_DEVICE_STATE, by default ascend_ep-devices-UID in $TMPDIR, that
 * ascend_ep/cli/device_state.py reads: a line "device bytes" for each device with memory in use. */
#include "usage.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ascend_rt.h"

#define PAUSE_NS 200000000u

static char path[512];

static void remove_file(void) {
    if (path[0]) unlink(path);
}

/* The file's path, in a folder that is this user's alone; false when there can't be one. */
static bool find_path(void) {
    char folder[400];
    struct stat info;
    const char *given = getenv("ASCEND_EP_DEVICE_STATE"), *temporary = getenv("TMPDIR");
    if (given && *given)
        snprintf(folder, sizeof folder, "%s", given);
    else
        snprintf(folder, sizeof folder, "%s/ascend_ep-devices-%u", temporary && *temporary ? temporary : "/tmp",
                 (unsigned)getuid());
    mkdir(folder, 0700);
    if (lstat(folder, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid()) return false;
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    atexit(remove_file);
    return true;
}

void asc_usage_write(const uint64_t *used, uint32_t devices) {
    static enum { UNKNOWN, KNOWN, NONE } state;
    static uint64_t last;
    char text[64 * 32];
    size_t length = 0;
    uint64_t now = asc_clock_ns();
    for (uint32_t i = 0; i < devices; i++)
        if (used[i])
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "%u %llu\n", i, (unsigned long long)used[i]);
    if (state == NONE || (length && last && now - last < PAUSE_NS)) return;
    last = now;
    if (state == UNKNOWN) state = find_path() ? KNOWN : NONE;
    if (state == NONE) return;
    if (!length) {
        unlink(path);
        return;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return;
    if (write(file, text, length) != (ssize_t)length) unlink(path);
    close(file);
}
