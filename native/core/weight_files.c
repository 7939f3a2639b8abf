/* Files of weights beside a bundle (--external_weight): what the plan may say of them, and opening them.
 *
 * A bundle is data from elsewhere, and must not choose files outside its own folder: a name has no absolute
 * path and no "..", and files are opened component by component, no component being a link. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model.h"

#define MAX_FOLDERS 8
#define MAX_COMPONENT 255

/* One or more components of a path, none of them "", "." or "..". */
static int is_contained(const char *name) {
    for (int folders = 0; folders <= MAX_FOLDERS; folders++) {
        size_t n = strcspn(name, "/\\");
        int dots = name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'));
        if (!n || n > MAX_COMPONENT || dots || name[n] == '\\') return 0;
        if (!name[n]) return 1;
        name += n + 1;
    }
    return 0;
}

int32_t asc_verify_weight_files(const asc_plan *plan, asc_status *status) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < asc_plan_n_weight_files(plan); i++) {
        const asc_weight_file *f = &asc_plan_weight_files(plan)[i];
        if (f->pad || f->first_weight < end || !f->n_weights ||
            !asc_in_table(plan, ASC_SEC_WEIGHTS, f->first_weight, f->n_weights) || !f->bytes ||
            f->bytes > ASC_MAX_WEIGHT_FILE_BYTES)
            return asc_failf(status, ASC_E_FORMAT, "file of weights %u is malformed", i);
        if (!is_contained(asc_plan_string(plan, f->name)))
            return asc_failf(status, ASC_E_FORMAT, "file of weights %u would not be in the bundle's folder: [%s]", i,
                             asc_plan_string(plan, f->name));
        end = (uint64_t)f->first_weight + f->n_weights;
    }
    return ASC_OK;
}

static int folder_of(const char *bundle) {
    const char *slash = strrchr(bundle, '/');
    char *folder = slash ? strndup(bundle, (size_t)(slash - bundle) + 1) : strdup(".");
    int fd = folder ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    return fd;
}

/* The bundle's folder: of a link the one it is in, or, if it hasn't this file of weights, that of the bundle itself. */
static int open_folder(const char *bundle, const char *name) {
    struct stat info;
    int folder = folder_of(bundle);
    if (folder < 0 || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0) return folder;
    char *real = realpath(bundle, NULL);
    int other = real ? folder_of(real) : -1;
    free(real);
    if (other < 0) return folder;
    close(folder);
    return other;
}

/* A descriptor of the file; or -1, with the reason. */
static int open_below(int folder, const char *name, const char **why) {
    char part[MAX_COMPONENT + 1];
    int at = folder;
    for (;;) {
        size_t n = strcspn(name, "/");
        memcpy(part, name, n);
        part[n] = 0;
        int kind = name[n] ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
        int next = openat(at, part, kind | O_NOFOLLOW | O_CLOEXEC);
        struct stat info;
        if (next < 0) *why = strerror(errno);
        if (next < 0 && fstatat(at, part, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode))
            *why = "it is, or its folder is, a symbolic link";
        if (at != folder) close(at);
        if (next < 0 || !name[n]) return next;
        at = next;
        name += n + 1;
    }
}

static int32_t refuse(const char *why, const char *name, asc_status *status) {
    return asc_failf(status, ASC_E_IO, "a file of weights that belongs beside the bundle can't be used: %s: [%s]", why,
                     name);
}

static int32_t check_file(int fd, const asc_weight_file *f, const char *name, asc_status *status) {
    struct stat info;
    if (fstat(fd, &info) != 0) return refuse(strerror(errno), name, status);
    if (!S_ISREG(info.st_mode)) return refuse("it is no regular file", name, status);
    if (info.st_nlink > 1) return refuse("it has more than one hard link", name, status);
    if ((uint64_t)info.st_size == f->bytes) return ASC_OK;
    return asc_failf(status, ASC_E_CHECKSUM, "a file of weights has %lu bytes, the bundle says %lu: [%s]",
                     (uint64_t)info.st_size, f->bytes, name);
}

static int32_t map_file(asc_region *region, uint64_t at, int folder, const asc_plan *plan, uint32_t i, uint32_t flags,
                        asc_status *status) {
    const asc_weight_file *f = &asc_plan_weight_files(plan)[i];
    const char *name = asc_plan_string(plan, f->name), *why = "";
    int fd = open_below(folder, name, &why);
    if (fd < 0) return refuse(why, name, status);
    int32_t code = check_file(fd, f, name, status);
    if (code == ASC_OK) code = asc_region_place(region, i, at, fd, f->bytes, flags, status);
    close(fd);
    return code;
}

uint64_t asc_weight_file_room(const asc_weight_file *file) {
    uint64_t page = asc_page_bytes();
    return asc_align_up(file->bytes, page) + page;
}

int32_t asc_weight_files_open(asc_region *region, const asc_plan *plan, const char *path, uint32_t flags,
                              asc_status *status) {
    const asc_weight_file *files = asc_plan_weight_files(plan);
    uint32_t n = asc_plan_n_weight_files(plan);
    uint64_t room = 0;
    if (!n) return ASC_OK;
    if (!path)
        return asc_failf(status, ASC_E_ARGUMENT,
                         "the bundle keeps weights in files beside it, so it can't be opened from bytes; open it by "
                         "its path, or convert with --external_weight=0: [%s]",
                         asc_plan_string(plan, files[0].name));
    for (uint32_t i = 0; i < n; i++) room += asc_weight_file_room(&files[i]);
    int folder = open_folder(path, asc_plan_string(plan, files[0].name));
    if (folder < 0) return asc_failf(status, ASC_E_IO, "the bundle's folder can't be opened: %s", strerror(errno));
    int32_t code = asc_region_reserve(region, room, n, folder, status);
    uint64_t at = 0;
    for (uint32_t i = 0; i < n && code == ASC_OK; at += asc_weight_file_room(&files[i++]))
        code = map_file(region, at, folder, plan, i, flags, status);
    close(folder);
    return code;
}

static int32_t changed(const char *name, asc_status *status) {
    return asc_failf(status, ASC_E_CHANGED, "the file was written to or cut short while a session maps it: [%s]", name);
}

int32_t asc_files_unchanged(const asc_model *model, asc_status *status) {
    const asc_model *m = model->owner ? model->owner : model;
    const asc_region *bundle = &m->region, *outside = &m->outside;
    if (bundle->n_watched && (atomic_load(&bundle->guard->lost) || !asc_unchanged(bundle->watched, bundle->fd, NULL)))
        return changed("the bundle", status);
    for (uint32_t i = 0; i < outside->n_watched; i++) {
        const char *name = asc_plan_string(&m->plan, asc_plan_weight_files(&m->plan)[i].name);
        if (!asc_unchanged(&outside->watched[i], outside->fd, name)) return changed(name, status);
    }
    if (outside->n_watched && atomic_load(&outside->guard->lost)) return changed("weights", status);
    return ASC_OK;
}
