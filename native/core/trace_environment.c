/* Traces that the environment asks for. ASCEND_EP_PROFILE names a folder and, behind a '?', counters and a limit as
 * ascend-prof sets them; PROFILING_MODE and PROFILING_OPTIONS, or GE_PROFILING_..., are written as for CANN. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

enum { PATH_ROOM = 1024 };

static void say(const char *text) {
    char line[PATH_ROOM + 600];
    asc_format(line, sizeof line, "[WARNING] PROFILING(%d): %s\n", (int)getpid(), text);
    ssize_t written = write(STDERR_FILENO, line, strlen(line));
    (void)written;
}

static void begin(const char *folder, const asc_trace_options *options) {
    asc_status status;
    if (asc_trace_start(folder, options, &status) != ASC_OK) say(status.text);
}

/* FOLDER?counters=N&limit=BYTES */
static void begin_as_told(const char *told) {
    asc_trace_options options = {.struct_bytes = sizeof options};
    char folder[PATH_ROOM];
    const char *more = strrchr(told, '?');
    size_t n = more ? (size_t)(more - told) : strlen(told);
    if (n >= sizeof folder) {
        say("ASCEND_EP_PROFILE is too long");
        return;
    }
    memcpy(folder, told, n);
    folder[n] = 0;
    const char *counters = more ? strstr(more, "counters=") : NULL, *limit = more ? strstr(more, "limit=") : NULL;
    if (counters) options.counters = (uint32_t)strtoul(counters + 9, NULL, 10);
    if (limit) options.max_bytes = strtoull(limit + 6, NULL, 10);
    begin(folder, &options);
}

/* Cuts the next word off a flat JSON object of strings or, without braces, off words between colons and semicolons.
 * NULL: there is none. `is_key` says whether a value follows. */
static char *next_word(char **at, int *is_key) {
    static const char *const between = " \t\r\n{},:;";
    char *word = *at + strspn(*at, between), *end;
    if (!*word) return NULL;
    if (*word == '"') {
        end = strchr(++word, '"');
        if (!end) end = word + strlen(word);
    } else {
        end = word + strcspn(word, between);
    }
    char *behind = *end ? end + 1 : end;
    *is_key = (*end == '"' ? behind + strspn(behind, " \t\r\n") : end)[0] == ':';
    *end = 0;
    *at = behind;
    return word;
}

static void add_word(char *list, size_t room, const char *word) {
    size_t n = strlen(list);
    if (n + strlen(word) + 3 < room) asc_format(list + n, room - n, "%s%s", n ? ", " : "", word);
}

/* What the options ask for: a folder, and the rest. What has no effect is said, by the name of their variable. */
static void take_options(const char *variable, const char *given, char *output, size_t room, asc_trace_options *how) {
    char idle[PATH_ROOM] = "", line[PATH_ROOM + 128], *text = strdup(given ? given : ""), *at = text, *key, *value;
    int has_value, is_object = text && text[strspn(text, " \t\r\n")] == '{';
    while (text && (key = next_word(&at, &has_value))) {
        value = is_object && has_value ? next_word(&at, &has_value) : NULL;
        if (value && strcmp(key, "output") == 0 && strlen(value) < room)
            asc_format(output, room, "%s", value);
        else if (!asc_trace_option(how, key, value ? value : ""))
            add_word(idle, sizeof idle, key);
    }
    free(text);
    if (!*idle) return;
    asc_format(line, sizeof line, "of %s there is no effect here of %s", variable, idle);
    say(line);
}

/* host/start_info, by which readers bring what they recorded on the raw clock to the time of day. Without it they
 * guess, so a failure is none of ours. */
static void write_start(const char *folder) {
    char path[PATH_ROOM + 64], text[128];
    struct timespec day, raw;
    clock_gettime(CLOCK_REALTIME, &day);
    clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
    asc_format(path, sizeof path, "%s/host/start_info", folder);
    asc_format(text, sizeof text, "{\"collectionTimeBegin\": \"%lu\", \"clockMonotonicRaw\": \"%lu\"}\n",
               (uint64_t)day.tv_sec * 1000000 + (uint64_t)day.tv_nsec / 1000,
               (uint64_t)raw.tv_sec * 1000000000 + (uint64_t)raw.tv_nsec);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return;
    ssize_t written = write(file, text, strlen(text));
    (void)written;
    close(file);
}

/* PROF_000001_<year to milliseconds>_<16 letters> */
static int make_folder(const char *output, char *folder, size_t room) {
    struct timeval now;
    struct tm t;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &t);
    char letters[17] = {0}, stamp[16];
    uint64_t seed = asc_clock_ns() ^ (uint64_t)getpid() << 40;
    for (int i = 0; i < 16; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        letters[i] = (char)('A' + (seed >> 33) % 26);
    }
    strftime(stamp, sizeof stamp, "%Y%m%d%H%M%S", &t);
    uint32_t ms = (uint32_t)(now.tv_usec / 1000);
    asc_format(folder, room, "%s/PROF_000001_%s%u%u%u_%s", output, stamp, ms / 100, ms / 10 % 10, ms % 10, letters);
    const char *inside[] = {"", "/host", "/host/data"};
    char path[PATH_ROOM + 64];
    for (int i = 0; i < 3; i++) {
        asc_format(path, sizeof path, "%s%s", folder, inside[i]);
        if (mkdir(path, 0755) != 0 && errno != EEXIST) return 0;
    }
    write_start(folder);
    asc_format(folder, room, "%s", path);
    return 1;
}

int32_t asc_trace_start_inside(const char *output, const asc_trace_options *options, asc_status *status) {
    char folder[PATH_ROOM + 128];
    if (strlen(output) < PATH_ROOM && make_folder(output, folder, sizeof folder))
        return asc_trace_start(folder, options, status);
    if (strlen(output) >= PATH_ROOM) errno = ENAMETOOLONG;
    char text[PATH_ROOM + 128];
    asc_format(text, sizeof text, "nothing is recorded: can't make a folder in '%s': %s", output, strerror(errno));
    return asc_fail(status, ASC_E_IO, text);
}

static void begin_as_for_cann(const char *variable) {
    char output[PATH_ROOM] = ".";
    asc_status status;
    asc_trace_options how = {.struct_bytes = sizeof how};
    take_options(variable, getenv(variable), output, sizeof output, &how);
    if (asc_trace_start_inside(output, &how, &status) != ASC_OK) say(status.text);
}

static int is_one_of(const char *mode, const char *const *words, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(mode, words[i]) == 0) return 1;
    return 0;
}

static int is_switched_on(const char *variable) {
    static const char *const on[] = {"1", "true", "on"}, *const off[] = {"", "0", "false", "off"};
    const char *mode = getenv(variable);
    char line[PATH_ROOM];
    if (!mode || is_one_of(mode, off, 4)) return 0;
    if (is_one_of(mode, on, 3)) return 1;
    asc_format(line, sizeof line, "nothing is recorded: %s is true (1) or false (0) here", variable);
    say(line);
    return 0;
}

static void look(void) {
    const char *told = getenv("ASCEND_EP_PROFILE");
    if (told && *told)
        begin_as_told(told);
    else if (is_switched_on("PROFILING_MODE"))
        begin_as_for_cann("PROFILING_OPTIONS");
    else if (is_switched_on("GE_PROFILING_MODE"))
        begin_as_for_cann("GE_PROFILING_OPTIONS");
}

void asc_trace_from_environment(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
}
