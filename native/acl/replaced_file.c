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

#ifndef STATX_ATTR_MOUNT_ROOT /* younger than the C libraries that this is built with */
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

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

/* A new file in a folder of `length` bytes. With `old`, its owner and mode. */
static int open_beside(asc_replaced *r, const char *folder, int length, const struct stat *old) {
    const char *name = strrchr(r->target, '/') + 1;
    mode_t mode = old ? old->st_mode & 0777 : r->place < 0 ? 0666 : 0600;
    for (int i = 0; i < 1000; i++) {
        int used = snprintf(r->beside, sizeof r->beside, "%.*s/.%.*s.%d-%d.part", length, folder, STEM, name,
                            (int)getpid(), i);
        if (used >= (int)sizeof r->beside) errno = ENAMETOOLONG;
        int fd = used < (int)sizeof r->beside ? open(r->beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode) : -1;
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

/* What is copied into a mount point when it is whole: beside it, or with temporary files when its folder takes none. */
static int open_apart(asc_replaced *r) {
    const char *temporary = getenv("TMPDIR");
    if (!temporary || !*temporary) temporary = "/tmp";
    r->place = open(r->target, O_WRONLY | O_CLOEXEC);
    if (r->place < 0) return -1;
    int fd = open_beside(r, r->target, (int)(strrchr(r->target, '/') - r->target), NULL);
    if (fd < 0) fd = open_beside(r, temporary, (int)strlen(temporary), NULL);
    int why = errno;
    if (fd < 0) close(r->place);
    errno = why;
    return fd;
}

bool asc_replace_begin(asc_replaced *r, const char *path) {
    struct stat old;
    *r = (asc_replaced){.place = -1};
    if (!follow(path, r->target)) return false;
    bool is_there = stat(r->target, &old) == 0;
    if (is_there && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    bool stands = is_in_proc(r->target) || (is_there && !S_ISREG(old.st_mode));
    int folder = (int)(strrchr(r->target, '/') - r->target);
    int fd = stands                              ? open_standing(r->target)
             : is_there && is_mounted(r->target) ? open_apart(r)
                                                 : open_beside(r, r->target, folder, is_there ? &old : NULL);
    if (fd < 0) return false;
    r->file = fdopen(fd, "wb");
    if (r->file) return true;
    int why = errno;
    close(fd);
    if (r->place >= 0) close(r->place);
    if (r->beside[0]) unlink(r->beside);
    errno = why;
    return false;
}

static bool waits(void) {
    const char *sync = getenv("ASCEND_EP_SYNC");
    return !sync || strcmp(sync, "0") != 0;
}

/* Whether it is on the disk; true on file systems that can't say. */
static bool synced(int fd) {
    if (!waits() || fsync(fd) == 0) return true;
    return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP || errno == EROFS;
}

static void sync_folder(char *path) {
    *strrchr(path, '/') = 0;
    int fd = waits() ? open(path[0] ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* Room for the end of a file that grows, so that a full disk says so before anything is lost. */
static bool reserve(int fd, off_t before, off_t size) {
    int why = size > before ? posix_fallocate(fd, before, size - before) : 0;
    if (why == 0 || why == EINVAL || why == EOPNOTSUPP) return true;
    if (ftruncate(fd, before) != 0) why = errno;
    errno = why;
    return false;
}

static bool copy(int from, int to) {
    char bytes[1 << 16];
    struct stat made, old;
    if (fstat(from, &made) != 0 || fstat(to, &old) != 0 || !reserve(to, old.st_size, made.st_size)) return false;
    for (off_t at = 0; at < made.st_size;) {
        ssize_t n = pread(from, bytes, sizeof bytes, at);
        if (n == 0) errno = EIO;
        ssize_t put = n > 0 ? pwrite(to, bytes, (size_t)n, at) : -1;
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) at += put;
    }
    return ftruncate(to, made.st_size) == 0;
}

/* Copies what was made whole into the mount point. */
static bool fill_place(const asc_replaced *r) {
    return copy(fileno(r->file), r->place) && synced(r->place);
}

bool asc_replace_end(asc_replaced *r, bool whole) {
    bool is_copied = r->place >= 0, is_new = r->beside[0] && !is_copied;
    whole = whole && fflush(r->file) == 0 && (!is_new || synced(fileno(r->file))) && (!is_copied || fill_place(r));
    int why = errno;
    if (fclose(r->file) != 0 && whole) {
        whole = false;
        why = errno;
    }
    if (whole && is_new && rename(r->beside, r->target) != 0) {
        whole = false;
        why = errno;
    }
    if (is_copied) close(r->place);
    if (is_copied || (!whole && is_new)) unlink(r->beside);
    if (whole && is_new) sync_folder(r->target);
    errno = why;
    return whole;
}
