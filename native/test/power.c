/* power.c - the power fails: data that no fsync of its file followed is lost, and so are changes of names that no
 * fsync of their folder followed.
 *
 *   ASC_FAULTS_NAMES=kept|lost|N   which changes of names are lost: none (default), all, or those of the N-th call
 *                                  of them, as of a disk that keeps no order
 *
 * A name that comes back has a copy of what was behind it, cut as that is. A lost folder gets a hidden name; one that
 * moves keeps its new name. Names that fopen makes aren't seen: C's library doesn't call itself by name. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 256, FOLDERS = 64, CHANGES = 1024, KEPT_FROM = 500, UNSEEN = 98 };
enum { ABSENT = -1, FOLDER = -2 }; /* else a descriptor of the file or link */
enum { KEPT, LOST = -1 };          /* else which is lost, from 1 */

/* A file that was opened for writing: `kept` is a descriptor of it, `synced` the bytes that are on the disk. */
struct file {
    dev_t device;
    ino_t inode;
    off_t synced;
    int kept, is_dirty;
};

struct folder {
    dev_t device;
    ino_t inode;
    int kept;
};

/* What was behind a name before a call, and after it. */
struct change {
    int folder, before, after, is_open;
    long call;
    char name[NAME_MAX + 1];
};

static struct {
    int on, names, n_gone, n_files, n_folders, n_changes;
    long at, call;
    struct file files[FILES];
    struct folder folders[FOLDERS];
    struct change changes[CHANGES];
} power;

/* The failure can't be made as it would be: better no result than a wrong one. */
static void give_up(const char *why) {
    (void)!write(2, why, strlen(why));
    _exit(UNSEEN);
}

static int high(int fd) {
    int kept = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, KEPT_FROM);
    if (kept < 0) give_up("power.c: no descriptor is left\n");
    return kept;
}

void power_begin(long at) {
    const char *names = getenv("ASC_FAULTS_NAMES");
    power.at = at;
    power.on = 1;
    if (names) power.names = strcmp(names, "lost") == 0 ? LOST : atoi(names);
}

void power_end(void) {
    power.on = 0;
}

/* ---- data ----------------------------------------------------------------------------------------------------- */

static struct file *find_file(int fd, struct stat *now) {
    if (!power.on || syscall(SYS_fstat, fd, now) != 0 || !S_ISREG(now->st_mode)) return NULL;
    for (int i = 0; i < power.n_files; i++)
        if (power.files[i].device == now->st_dev && power.files[i].inode == now->st_ino) return &power.files[i];
    return NULL;
}

int power_opened(int fd, int flags) {
    struct stat now;
    if (!power.on || fd < 0 || (flags & O_ACCMODE) == O_RDONLY) return fd;
    struct file *f = find_file(fd, &now);
    if (!S_ISREG(now.st_mode)) return fd;
    if (!f) {
        if (power.n_files == FILES) give_up("power.c: too many files\n");
        f = &power.files[power.n_files++];
        *f = (struct file){now.st_dev, now.st_ino, now.st_size, high(fd), 0};
    }
    if (flags & O_TRUNC || !now.st_size) f->synced = 0, f->is_dirty = 1;
    return fd;
}

void power_written(int fd) {
    struct stat now;
    struct file *f = find_file(fd, &now);
    if (f) f->is_dirty = 1;
}

/* Of what isn't on the disk nothing or half stays, in turn; what was written over is cut in the middle. */
static void lose_data(void) {
    for (int i = 0; i < power.n_files; i++) {
        struct file *f = &power.files[i];
        struct stat now;
        if (!f->is_dirty || syscall(SYS_fstat, f->kept, &now) != 0) continue;
        off_t more = now.st_size - f->synced,
              size = more > 0 ? f->synced + (power.at & 1 ? 0 : more / 2) : now.st_size / 2;
        (void)syscall(SYS_ftruncate, f->kept, size);
    }
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

static int find_folder(const struct stat *now) {
    for (int i = 0; i < power.n_folders; i++)
        if (power.folders[i].device == now->st_dev && power.folders[i].inode == now->st_ino) return i;
    return -1;
}

/* The number of the folder that `path` is in; -1: there is none. */
static int parent_of(int at, const char *path, const char **name) {
    char folder[PATH_MAX] = ".";
    struct stat now;
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (slash && snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path) >= (int)sizeof folder) return -1;
    int fd = (int)syscall(SYS_openat, at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    (void)syscall(SYS_fstat, fd, &now);
    int found = find_folder(&now);
    if (found < 0) {
        if (power.n_folders == FOLDERS) give_up("power.c: too many folders\n");
        found = power.n_folders++;
        power.folders[found] = (struct folder){now.st_dev, now.st_ino, high(fd)};
    }
    (void)syscall(SYS_close, fd);
    return found;
}

static int behind(const struct change *c) {
    int folder = power.folders[c->folder].kept;
    struct stat now;
    if (syscall(SYS_newfstatat, folder, c->name, &now, AT_SYMLINK_NOFOLLOW) != 0) return ABSENT;
    if (S_ISDIR(now.st_mode)) return FOLDER;
    if (!S_ISREG(now.st_mode) && !S_ISLNK(now.st_mode)) return ABSENT;
    int flags = S_ISLNK(now.st_mode) ? O_PATH | O_NOFOLLOW : O_RDONLY;
    int fd = (int)syscall(SYS_openat, folder, c->name, flags | O_CLOEXEC);
    if (fd < 0) give_up("power.c: what is behind a name can't be opened\n");
    int kept = high(fd);
    (void)syscall(SYS_close, fd);
    return kept;
}

/* This change is on the disk, or never was. */
static void settle(struct change *c) {
    if (c->is_open && c->before >= 0) (void)syscall(SYS_close, c->before);
    if (c->is_open && c->after >= 0) (void)syscall(SYS_close, c->after);
    c->is_open = 0;
}

void power_next_call(void) {
    power.call++;
}

int power_name_before(int folder, const char *path) {
    const char *name;
    if (!power.on || power.names == KEPT || !path) return -1;
    int parent = parent_of(folder, path, &name);
    if (parent < 0 || !*name || strlen(name) > NAME_MAX) return -1;
    if (power.n_changes == CHANGES) give_up("power.c: too many changes\n");
    struct change *c = &power.changes[power.n_changes];
    *c = (struct change){.folder = parent, .after = ABSENT, .call = power.call, .is_open = 1};
    strcpy(c->name, name);
    c->before = behind(c);
    return power.n_changes++;
}

void power_name_after(int noted, int done) {
    if (noted < 0) return;
    struct change *c = &power.changes[noted];
    if (done >= 0) c->after = behind(c);
    if (done < 0 || (c->before < 0 && c->before == c->after)) settle(c);
}

/* A folder that moves: its content can't be brought back by a link. */
void power_name_moved(int from, int to) {
    if (from < 0 || to < 0 || power.changes[from].before != FOLDER) return;
    settle(&power.changes[from]);
    settle(&power.changes[to]);
}

static int is_lost(const struct change *c) {
    return power.names == LOST || c->call == power.names;
}

/* Calls whose changes aren't on the disk are counted from 1. */
static void number_calls(void) {
    long last = -1, n = 0;
    for (int i = 0; i < power.n_changes; i++) {
        struct change *c = &power.changes[i];
        if (!c->is_open) continue;
        if (c->call != last) n++;
        last = c->call;
        c->call = n;
    }
}

static void copy(int from, int folder, const char *name) {
    char text[4096];
    struct stat info;
    ssize_t got;
    (void)syscall(SYS_fstat, from, &info);
    if (S_ISLNK(info.st_mode)) {
        got = syscall(SYS_readlinkat, from, "", text, sizeof text - 1);
        text[got > 0 ? got : 0] = 0;
        (void)syscall(SYS_symlinkat, text, folder, name);
        return;
    }
    int to = (int)syscall(SYS_openat, folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, info.st_mode & 0777);
    if (to < 0 && errno == ENOENT) return; /* its folder was removed */
    if (to < 0) give_up("power.c: a name can't be put back\n");
    for (off_t at = 0; (got = syscall(SYS_pread64, from, text, sizeof text, at)) > 0; at += got)
        if (syscall(SYS_write, to, text, (size_t)got) != got) give_up("power.c: a file can't be copied\n");
}

static int is_same(int a, int b) {
    struct stat one, other;
    return a == b || (a >= 0 && b >= 0 && syscall(SYS_fstat, a, &one) == 0 && syscall(SYS_fstat, b, &other) == 0 &&
                      one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

static void put_back(const struct change *c, int what) {
    int folder = power.folders[c->folder].kept;
    char gone[32];
    snprintf(gone, sizeof gone, ".gone-%d", power.n_gone++);
    if (syscall(SYS_unlinkat, folder, c->name, 0) != 0 && errno == EISDIR)
        (void)syscall(SYS_renameat, folder, c->name, folder, gone);
    if (what == FOLDER) (void)syscall(SYS_mkdirat, folder, c->name, 0700);
    if (what >= 0) copy(what, folder, c->name);
}

/* Behind each name is what the last of its changes that wasn't lost put there. */
static void lose_names(void) {
    number_calls();
    for (int i = 0; i < power.n_changes; i++) {
        struct change *first = &power.changes[i];
        if (!first->is_open) continue;
        int on_disk = first->before, now = first->after;
        for (int j = i; j < power.n_changes; j++) {
            struct change *c = &power.changes[j];
            if (!c->is_open || c->folder != first->folder || strcmp(c->name, first->name) != 0) continue;
            if (!is_lost(c)) on_disk = c->after;
            now = c->after;
            if (j > i) c->is_open = 0;
        }
        if (!is_same(on_disk, now)) put_back(first, on_disk);
    }
}

void power_synced(int fd) {
    struct stat now;
    if (!power.on || syscall(SYS_fstat, fd, &now) != 0) return;
    int folder = S_ISDIR(now.st_mode) ? find_folder(&now) : -1;
    for (int i = 0; folder >= 0 && i < power.n_changes; i++)
        if (power.changes[i].folder == folder) settle(&power.changes[i]);
    struct file *f = find_file(fd, &now);
    if (f) f->is_dirty = 0, f->synced = now.st_size;
}

void power_off(void) {
    lose_data();
    if (power.names != KEPT) lose_names();
    (void)syscall(SYS_kill, getpid(), SIGKILL);
}
