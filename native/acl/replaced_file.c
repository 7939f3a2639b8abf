#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "replaced_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A bit of the system's interface that C libraries before 2.30 don't name. */
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

enum { LINKS = 40, STEM = 40 };

bool asc_make_folders(const char *folder) {
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s", folder) >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *at = path + 1;; at++) {
        char here = *at;
        if (here && here != '/') continue;
        *at = 0;
        if (mkdir(path, 0750) != 0 && errno != EEXIST) return false;
        *at = here;
        if (!here) return true;
    }
}

/* `path` with its folder's links followed. */
static bool settle_folder(const char *path, char real[PATH_MAX]) {
    char folder[PATH_MAX] = ".", found[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int length = slash ? snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path) : 1;
    if (length < (int)sizeof folder && !realpath(folder, found)) return false;
    if (length >= (int)sizeof folder ||
        snprintf(real, PATH_MAX, "%s/%s", strcmp(found, "/") == 0 ? "" : found, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

static bool is_in_proc(const char *path) {
    return strncmp(path, "/proc/", 6) == 0;
}

/* What the links lead to, there or not; links of /proc are not followed: they lead to what has no name. */
static bool follow(const char *path, char real[PATH_MAX]) {
    char next[PATH_MAX], link[PATH_MAX];
    if (snprintf(next, sizeof next, "%s", path) >= (int)sizeof next) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (int i = 0; i < LINKS; i++) {
        if (!settle_folder(next, real)) return false;
        ssize_t length = is_in_proc(real) ? -1 : readlink(real, link, sizeof link - 1);
        if (length < 0) return true;
        link[length] = 0;
        int folder = link[0] == '/' ? 0 : (int)(strrchr(real, '/') + 1 - real);
        if (snprintf(next, sizeof next, "%.*s%s", folder, real, link) >= (int)sizeof next) {
            errno = ENAMETOOLONG;
            return false;
        }
    }
    errno = ELOOP;
    return false;
}

/* A descriptor of this process goes on where it is, and cuts nothing. */
static int open_standing(const char *path) {
    int pid, fd, end = 0;
    if (sscanf(path, "/proc/%d/fd/%d%n", &pid, &fd, &end) == 2 && !path[end] && pid == getpid())
        return fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
}

static int open_beside(asc_replaced *r, const struct stat *old) {
    const char *slash = strrchr(r->target, '/');
    mode_t mode = old ? old->st_mode & 0777 : 0666;
    for (int i = 0; i < 1000; i++) {
        int length = snprintf(r->beside, sizeof r->beside, "%.*s/.%.*s.%d-%d.part", (int)(slash - r->target), r->target,
                              STEM, slash + 1, (int)getpid(), i);
        if (length >= (int)sizeof r->beside) errno = ENAMETOOLONG;
        int fd = length < (int)sizeof r->beside ? open(r->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0 || !old) return fd;
        if (fchown(fd, old->st_uid, old->st_gid) != 0) errno = 0; /* only root gives files away */
        if (fchmod(fd, mode) == 0) return fd;
        int why = errno;
        close(fd);
        unlink(r->beside);
        errno = why;
        return -1;
    }
    return -1;
}

/* A file that is mounted by itself, as in containers: nothing can be renamed over it. */
static bool is_mounted(const char *path) {
    struct statx info;
    return statx(AT_FDCWD, path, 0, 0, &info) == 0 && info.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

bool asc_replace_begin(asc_replaced *r, const char *path) {
    struct stat old;
    *r = (asc_replaced){.file = NULL};
    if (!follow(path, r->target)) return false;
    bool is_there = stat(r->target, &old) == 0;
    if (is_there && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    bool stands = is_in_proc(r->target) || (is_there && (!S_ISREG(old.st_mode) || is_mounted(r->target)));
    int fd = stands ? open_standing(r->target) : open_beside(r, is_there ? &old : NULL);
    if (fd < 0) return false;
    r->file = fdopen(fd, "wb");
    if (r->file) return true;
    int why = errno;
    close(fd);
    if (r->beside[0]) unlink(r->beside);
    errno = why;
    return false;
}

static bool waits(void) {
    const char *sync = getenv("ASCEND_EP_SYNC");
    return !sync || strcmp(sync, "0") != 0;
}

/* Whether it is on the disk; true on file systems that can't say. */
static bool synced(FILE *file) {
    if (!waits() || fsync(fileno(file)) == 0) return true;
    return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == EROFS;
}

static void sync_folder(char *path) {
    *strrchr(path, '/') = 0;
    int fd = waits() ? open(path[0] ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

bool asc_replace_end(asc_replaced *r, bool whole) {
    bool is_new = r->beside[0] != 0;
    whole = whole && fflush(r->file) == 0 && (!is_new || synced(r->file));
    int why = errno;
    if (fclose(r->file) != 0 && whole) {
        whole = false;
        why = errno;
    }
    if (whole && is_new && rename(r->beside, r->target) != 0) {
        whole = false;
        why = errno;
    }
    if (!whole && is_new) unlink(r->beside);
    if (whole && is_new) sync_folder(r->target);
    errno = why;
    return whole;
}
