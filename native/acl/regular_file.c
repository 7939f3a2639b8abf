/* regular_file.c - see regular_file.h. */
#include "regular_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *asc_open_regular(const char *path) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    int wrong = fstat(fd, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : S_ISREG(info.st_mode) ? 0 : EINVAL;
    FILE *file = wrong ? NULL : fdopen(fd, "r");
    if (file) return file;
    close(fd);
    if (wrong) errno = wrong;
    return NULL;
}

void *asc_load_regular(const char *path, const char **why) {
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* what isn't there is for dlopen to say */
        *why = "it is no regular file";
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
    const char *said = dlerror();
    *why = said ? said : "it can't be loaded";
    return NULL;
}
