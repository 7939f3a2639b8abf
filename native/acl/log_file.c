/* log_file.c - the log of a process, where users of CANN look for it:
 * $ASCEND_PROCESS_LOG_PATH, or $HOME/ascend/log, /debug/plog/plog-PID_TIME.log. Begun by the first line; where it can't
 * be written, or has grown to MAX_BYTES, lines are lost and programs go on. */
#include "log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"

#define MAX_PATH 1024
#define MAX_LINE 2048
#define MAX_BYTES (20u << 20)
static const char *const NAMES[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static size_t written;
static pid_t log_pid; /* a child has a file of its own */

/* mkdir -p of all but what stands behind the last slash. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0750);
        *slash = '/';
    }
}

static int open_log(const struct timeval *now, const struct tm *t) {
    char path[MAX_PATH];
    const char *given = getenv("ASCEND_PROCESS_LOG_PATH"), *home = getenv("HOME");
    int n;
    if (given && *given)
        n = snprintf(path, sizeof path, "%s/debug/plog/", given);
    else if (home && *home)
        n = snprintf(path, sizeof path, "%s/ascend/log/debug/plog/", home);
    else
        return -1;
    if (n < 0 || n >= MAX_PATH - 64) return -1;
    snprintf(path + n, sizeof path - (size_t)n, "plog-%d_%04d%02d%02d%02d%02d%02d%03ld.log", (int)getpid(),
             t->tm_year + 1900, t->tm_mon + 1, t->tm_mday, t->tm_hour, t->tm_min, t->tm_sec, (long)now->tv_usec / 1000);
    make_folders(path);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

static void write_line(const char *line, size_t n, const struct timeval *now, const struct tm *t) {
    pthread_mutex_lock(&lock);
    if (log_pid != getpid()) {
        if (log_fd >= 0) close(log_fd);
        log_fd = open_log(now, t);
        log_pid = getpid();
        written = 0;
    }
    if (log_fd >= 0 && (written + n > MAX_BYTES || write(log_fd, line, n) < 0)) {
        close(log_fd);
        log_fd = -1;
    }
    written += n;
    pthread_mutex_unlock(&lock);
}

void asc_log_line(aclLogLevel level, const char *module, const char *place, const char *text) {
    const asc_settings *settings = asc_get_settings();
    if (level < ACL_DEBUG || level > ACL_ERROR || (int)level < settings->log_level) return;
    char line[MAX_LINE];
    struct timeval now;
    struct tm t;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &t);
    int n = snprintf(line, sizeof line - 1, "[%s] %s(%d,%s):%04d-%02d-%02d-%02d:%02d:%02d.%03ld.%03ld [%s]%d %s",
                     NAMES[level], module, (int)getpid(), program_invocation_short_name, t.tm_year + 1900, t.tm_mon + 1,
                     t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, (long)now.tv_usec / 1000, (long)now.tv_usec % 1000,
                     place, (int)gettid(), text);
    if (n < 0) return;
    size_t length = n < (int)sizeof line - 1 ? (size_t)n : sizeof line - 2;
    line[length++] = '\n';
    if (settings->log_stdout)
        fwrite(line, 1, length, stdout);
    else
        write_line(line, length, &now, &t);
}
