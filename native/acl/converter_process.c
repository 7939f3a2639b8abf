/* converter_process.c - one process that answers on a socket, begun with the first conversion, and again where it
 * ended, as it does after a while without work, or where this process is a fork of the one that began it. */
#include "converter_process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MAX_PATH 1100
static struct {
    pthread_mutex_t lock;
    pid_t owner; /* who began it; 0: nobody */
    int socket;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void leave(void) {
    if (process.owner) close(process.socket);
    process.owner = 0;
}

/* Starts the program, that of the toolkit folder, else of the path, with the socket as its standard input. What is
 * waited for is its parent, so that it is no child of this process. */
static int begin(const char *log) {
    char program[MAX_PATH] = "ascend-ep";
    const char *home = getenv("ASCEND_HOME_PATH");
    if (home) snprintf(program, sizeof program, "%s/bin/ascend-ep", home);
    if (!home || access(program, X_OK) != 0) snprintf(program, sizeof program, "ascend-ep");
    int ends[2], status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return ASC_CONVERTER_ENDED;
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    char *const arguments[] = {program, "converter", NULL};
    int failed = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (!failed && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (failed || !WIFEXITED(status) || WEXITSTATUS(status)) {
        close(ends[0]);
        return failed || (WIFEXITED(status) && WEXITSTATUS(status) == 127) ? ASC_NO_CONVERTER : ASC_CONVERTER_ENDED;
    }
    process.owner = getpid();
    process.socket = ends[0];
    return 0;
}

static int send_all(const void *bytes, size_t count) {
    for (const char *at = bytes; count;) {
        ssize_t n = send(process.socket, at, count, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return ASC_CONVERTER_ENDED;
        at += n;
        count -= (size_t)n;
    }
    return 0;
}

/* Each with its closing NUL; the count is that of the words. */
static int send_words(const char *const words[]) {
    uint32_t count = 0;
    while (words[count]) count++;
    int failed = send_all(&count, sizeof count);
    for (uint32_t i = 0; i < count && !failed; i++) failed = send_all(words[i], strlen(words[i]) + 1);
    return failed;
}

/* Sends the folder and the log, the flags and the environment; waits for the status. */
static int ask(const char *const flags[], const char *log) {
    char folder[MAX_PATH];
    if (!getcwd(folder, sizeof folder)) snprintf(folder, sizeof folder, "/");
    if (send_words((const char *const[]){folder, log, NULL}) || send_words(flags) ||
        send_words((const char *const *)environ))
        return ASC_CONVERTER_ENDED;
    int32_t status;
    ssize_t n;
    do n = recv(process.socket, &status, sizeof status, MSG_WAITALL);
    while (n < 0 && errno == EINTR);
    return n == sizeof status ? (int)(status & 0xff) : ASC_CONVERTER_ENDED;
}

int asc_converter_run(const char *const flags[], const char *log) {
    int result = ASC_CONVERTER_ENDED;
    pthread_mutex_lock(&process.lock);
    for (int trial = 0; trial < 2 && result == ASC_CONVERTER_ENDED; trial++) {
        if (process.owner != getpid()) {
            leave();
            result = begin(log);
            if (result < 0) continue;
        }
        result = ask(flags, log);
        if (result < 0) leave();
    }
    pthread_mutex_unlock(&process.lock);
    return result;
}
