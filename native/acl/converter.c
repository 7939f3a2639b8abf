/* converter.c - starting ascend-atc, and what it said. */
#include "converter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl.h"
#include "error.h"
#include "log_file.h"

extern char **environ;

#define MAX_FLAGS 60
#define MAX_PATH 1100
#define MAX_LINE 700

aclError asc_make_folder(char folder[ASC_FOLDER_BYTES]) {
    const char *temporary = getenv("TMPDIR");
    if (!temporary || !*temporary || strlen(temporary) > ASC_FOLDER_BYTES - 40) temporary = "/tmp";
    snprintf(folder, ASC_FOLDER_BYTES, "%s/ascend_ep-convert-XXXXXX", temporary);
    if (mkdtemp(folder)) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_WRITE_FILE, "no folder can be made under %s: %s", temporary, strerror(errno));
}

void asc_remove_folder(const char *folder) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        char path[MAX_PATH];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (unlink(path) != 0) asc_remove_folder(path);
    }
    if (dir) closedir(dir);
    rmdir(folder);
}

/* The first line that begins with a code; those of warnings go to the log. */
static void read_said(const char *path, char *reason, size_t bytes) {
    char line[MAX_LINE];
    FILE *file = fopen(path, "re");
    snprintf(reason, bytes, "it said nothing");
    bool found = false;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "[WARNING]", 9) || !strncmp(line, "WARNING", 7))
            asc_log_line(ACL_WARNING, "ATC", "ascend-atc", line);
        if (found || line[0] != 'E' || line[1] < '0' || line[1] > '9') continue;
        snprintf(reason, bytes, "%s", line);
        found = true;
    }
    if (file) fclose(file);
}

static int spawn(const char *program, char *const arguments[], const char *log, int *status) {
    pid_t child;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed = posix_spawnp(&child, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return failed;
    while (waitpid(child, status, 0) < 0 && errno == EINTR) continue;
    return 0;
}

aclError asc_convert(const char *folder, const char *const flags[], const char *what) {
    char program[MAX_PATH] = "ascend-atc", log[MAX_PATH], reason[MAX_LINE], *arguments[MAX_FLAGS + 2] = {program};
    const char *home = getenv("ASCEND_HOME_PATH");
    int n = 0;
    for (; flags[n]; n++) {
        if (n == MAX_FLAGS) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s: more than %d options", what, MAX_FLAGS);
        arguments[n + 1] = (char *)flags[n];
    }
    snprintf(log, sizeof log, "%s/log", folder);
    if (home) snprintf(program, sizeof program, "%s/bin/ascend-atc", home);
    if (!home || access(program, X_OK) != 0) snprintf(program, sizeof program, "ascend-atc");
    int status = 0, failed = spawn(program, arguments, log, &status);
    if (failed || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return asc_acl_fail(
            ACL_ERROR_FEATURE_UNSUPPORTED,
            "%s is compiled by ascend-atc, which is not on the PATH, nor in $ASCEND_HOME_PATH/bin; source the "
            "set_env.sh that `ascend-ep toolkit` made",
            what);
    read_said(log, reason, sizeof reason);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_GE_FAILURE, "ascend-atc refuses %s: %s", what, reason);
}
