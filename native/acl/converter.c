/* converter.c - conversions, and what ascend-atc said of them. */
#include "converter.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl/acl.h"
#include "converter_process.h"
#include "error.h"
#include "log_file.h"

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

aclError asc_convert(const char *folder, const char *const flags[], const char *what) {
    char log[MAX_PATH], reason[MAX_LINE];
    snprintf(log, sizeof log, "%s/log", folder);
    int status = asc_converter_run(flags, log);
    if (status == ASC_NO_CONVERTER)
        return asc_acl_fail(
            ACL_ERROR_FEATURE_UNSUPPORTED,
            "%s is compiled by ascend-atc, which is not on the PATH, nor in $ASCEND_HOME_PATH/bin; source the "
            "set_env.sh that `ascend-ep toolkit` made",
            what);
    read_said(log, reason, sizeof reason);
    if (status == 0) return ACL_SUCCESS;
    return asc_acl_fail(ACL_ERROR_GE_FAILURE, "ascend-atc %s %s: %s", status < 0 ? "ended at" : "refuses", what,
                        reason);
}
