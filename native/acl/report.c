/* report.c - lines of checking mode, and the names of places in the program. */
#include "report.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "settings.h"

extern char **environ;
static atomic_uint reported;

/* Whether the object is linked at the addresses at which it lies, as programs without -fpie are. */
static int is_fixed(const char *path) {
    unsigned char head[18];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t n = read(file, head, sizeof head);
    close(file);
    return n == (ssize_t)sizeof head && head[16] == 2; /* ET_EXEC */
}

/* What addr2line says of an address of an object: "file:line", or "" when it says nothing. */
static void source_line(const char *object, uintptr_t address, char *text, size_t bytes) {
    char number[32];
    int ends[2];
    pid_t child;
    text[0] = 0;
    snprintf(number, sizeof number, "0x%lx", (unsigned long)address);
    char *arguments[] = {"addr2line", "-e", (char *)object, number, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!failed) {
        size_t used = 0;
        ssize_t n;
        while (used + 1 < bytes && (n = read(ends[0], text + used, bytes - 1 - used)) > 0) used += (size_t)n;
        text[used] = 0;
        waitpid(child, NULL, 0);
        text[strcspn(text, "\n(")] = 0;
        size_t end = strlen(text);
        while (end > 0 && text[end - 1] == ' ') text[--end] = 0;
        if (text[0] == '?') text[0] = 0;
    }
    close(ends[0]);
}

void asc_describe_site(const void *caller, char *text, size_t bytes) {
    Dl_info info;
    if (!caller || !dladdr(caller, &info) || !info.dli_fname) {
        snprintf(text, bytes, "an unknown place");
        return;
    }
    char self[1024];
    const char *object = info.dli_fname;
    ssize_t n = strchr(object, '/') ? 0 : readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        object = self;
    }
    /* One byte back: the call, not the instruction that it returns to. */
    uintptr_t address = (uintptr_t)caller - 1;
    uintptr_t offset = is_fixed(object) ? address : address - (uintptr_t)info.dli_fbase;
    source_line(object, offset, text, bytes);
    if (text[0]) return;
    const char *name = strrchr(info.dli_fname, '/');
    name = name ? name + 1 : info.dli_fname;
    if (info.dli_sname)
        snprintf(text, bytes, "%s in %s+0x%lx", info.dli_sname, name, (unsigned long)offset);
    else
        snprintf(text, bytes, "%s+0x%lx", name, (unsigned long)offset);
}

static void say(asc_site site, const char *what) {
    char place[512];
    asc_describe_site(site.caller, place, sizeof place);
    atomic_fetch_add(&reported, 1);
    fprintf(stderr, "[ACL CHECK] %s at %s: %s\n", site.function ? site.function : "AscendCL", place, what);
}

void asc_report_failure(asc_site site, aclError code, const char *what) {
    char text[ASC_TEXT_BYTES];
    if (!asc_get_settings()->check) return;
    snprintf(text, sizeof text, "%s (returns %d)", what, code);
    say(site, text);
}

void asc_report(asc_site site, const char *format, ...) {
    char text[ASC_TEXT_BYTES];
    va_list arguments;
    if (!asc_get_settings()->check) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(site, text);
}

unsigned asc_report_count(void) {
    return atomic_load(&reported);
}
