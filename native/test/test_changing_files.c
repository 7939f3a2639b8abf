/* A bundle whose mapped file changes: an error, never a signal; and signals that are somebody else's. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ascend_rt.h"
#include "bundle_builder.h"
#include "check.h"

#define COUNT 400000 /* of one weight: more than what is read */

static float numbers[COUNT];

/* y is the last element of a large weight, plus nothing. */
static bb_bytes make(float last, uint64_t count) {
    builder b = {0};
    numbers[count - 1] = last;
    uint32_t many = bb_const(&b, (int64_t)count), one = bb_const(&b, 1), at = bb_const(&b, (int64_t)count - 1);
    uint32_t w = bb_weight(&b, "w", ASC_FLOAT32, &many, 1, numbers, 4 * count);
    uint32_t v = bb_view(&b, "v", w, &one, 1, &one, at);
    uint32_t y = bb_value(&b, "y", ASC_FLOAT32, ASC_VALUE_OUTPUT, &one, 1);
    bb_insn(&b, "copy", &v, 1, &y, 1, BB_NOTHING);
    bb_partition(&b, "main", BB_NOTHING, &y, 1);
    return bb_finish(&b);
}

static void save(const char *path, const char *how, const bb_bytes *bytes) {
    FILE *f = fopen(path, how);
    CHECK(f && fwrite(bytes->at, 1, bytes->size, f) == bytes->size);
    if (f) fclose(f);
}

typedef struct session {
    asc_model *model;
    asc_bound *bound;
    asc_status status;
} session;

static session open_session(uint32_t flags) {
    asc_options o = {.struct_bytes = sizeof o, .flags = flags, .num_threads = 1};
    session s = {0};
    CHECK(asc_model_open("m.om", &o, &s.model, &s.status) == ASC_OK);
    if (s.model) CHECK(asc_bind(s.model, 0, NULL, 0, &s.bound, &s.status) == ASC_OK);
    return s;
}

static int32_t run(session *s, float *y) {
    void *out[] = {y};
    return s->bound ? asc_execute(s->bound, NULL, out, NULL, &s->status) : ASC_E_INTERNAL;
}

static void close_session(session *s) {
    asc_bound_release(s->bound);
    asc_model_release(s->model);
}

static void cut(const bb_bytes *other) {
    CHECK(truncate("m.om", (off_t)other->size / 2) == 0);
}
static void cut_to_nothing(const bb_bytes *other) {
    (void)other;
    CHECK(truncate("m.om", 0) == 0);
}
static void rewrite(const bb_bytes *other) {
    usleep(20000); /* the file system's clock must have gone on */
    save("m.om", "r+b", other);
}
static void replace(const bb_bytes *other) {
    save("n.om", "wb", other);
    CHECK(rename("n.om", "m.om") == 0);
}
static void remove_it(const bb_bytes *other) {
    (void)other;
    CHECK(unlink("m.om") == 0);
}

/* What a run ends in after a change, before or after a first run. */
static void test_change(void (*change)(const bb_bytes *), uint32_t flags, uint64_t count, int32_t wanted) {
    for (int early = 0; early < 2; early++) {
        bb_bytes file = make(1, count), other = make(2, count);
        float y = 0;
        unlink("m.om");
        save("m.om", "wb", &file);
        session s = open_session(flags);
        if (!early) CHECK(run(&s, &y) == ASC_OK && y == 1);
        change(&other);
        for (int again = 0; again < 2; again++) CHECK(run(&s, &y) == wanted);
        if (wanted == ASC_OK) CHECK(y == 1);
        if (wanted != ASC_OK) CHECK(strstr(s.status.text, "written to or cut short"));
        close_session(&s);
        free(file.at);
        free(other.at);
    }
}

/* Two sessions of two files: only the one whose file was cut ends in an error. */
static void test_two(void) {
    bb_bytes file = make(1, COUNT);
    for (int cut_first = 0; cut_first < 2; cut_first++) {
        float y = 0;
        session s[2];
        for (int i = 0; i < 2; i++) {
            unlink("m.om");
            save("m.om", "wb", &file);
            s[i] = open_session(0);
            if (i != cut_first) CHECK(truncate("m.om", (off_t)file.size / 2) == 0);
        }
        for (int i = 0; i < 2; i++) CHECK(run(&s[i], &y) == (i != cut_first ? ASC_E_CHANGED : ASC_OK));
        for (int i = 0; i < 2; i++) close_session(&s[i]);
    }
    free(file.at);
}

static void test_openings(void) {
    asc_status status;
    asc_model *m;
    bb_bytes file = make(1, COUNT);
    CHECK(asc_model_open("absent.om", NULL, &m, &status) == ASC_E_IO && !m);
    CHECK(asc_model_open(".", NULL, &m, &status) == ASC_E_IO && strstr(status.text, "not a regular file"));
    CHECK(mkfifo("pipe", 0600) == 0);
    CHECK(asc_model_open("pipe", NULL, &m, &status) == ASC_E_IO && strstr(status.text, "not a regular file"));
    CHECK(unlink("pipe") == 0);
    save("m.om", "wb", &file);
    CHECK(truncate("m.om", 100) == 0 && asc_model_open("m.om", NULL, &m, &status) == ASC_E_FORMAT);
    CHECK(truncate("m.om", 0) == 0 && asc_model_open("m.om", NULL, &m, &status) == ASC_E_FORMAT);
    free(file.at);
}

static volatile sig_atomic_t heard;
static void hear(int number) {
    heard = number;
}
static void hear_more(int number, siginfo_t *info, void *context) {
    (void)info, (void)context;
    heard = number;
}

/* Reads a page of the program's own mapping whose file ended, on either side of a bundle's; the handler jumps back. */
static sigjmp_buf back;
static void jump(int number) {
    siglongjmp(back, number);
}
static void touch_own(void) {
    FILE *f = fopen("own", "w+b");
    CHECK(f && ftruncate(fileno(f), 8192) == 0);
    volatile char *low = mmap((void *)0x10000000, 8192, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    volatile char *high = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    CHECK(low != MAP_FAILED && high != MAP_FAILED && truncate("own", 0) == 0);
    for (int i = 0; i < 2; i++) {
        heard = 0;
        int number = sigsetjmp(back, 1);
        if (!number) CHECK((i ? high : low)[4096] == 99); /* never compared */
        CHECK(number == SIGBUS);
    }
    fclose(f);
    heard = SIGBUS;
}

/* In a process of its own: a handler of the program's was there before ours, and gets what isn't ours. Two bundles are
 * mapped. */
static int hears(struct sigaction *before, void (*meet)(void)) {
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        sigaction(SIGBUS, before, NULL);
        bb_bytes file = make(1, COUNT);
        unlink("m.om");
        save("m.om", "wb", &file);
        session s = open_session(0), other = open_session(0);
        meet();
        close_session(&other);
        close_session(&s);
        free(file.at);
        exit(heard != (before->sa_handler == SIG_IGN ? 0 : SIGBUS) || check_failures());
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static void meet_sent(void) {
    raise(SIGBUS);
}

static void test_signals(void) {
    struct sigaction plain = {.sa_handler = hear}, more = {.sa_flags = SA_SIGINFO}, none = {.sa_handler = SIG_DFL};
    more.sa_sigaction = hear_more;
    struct sigaction jumping = {.sa_handler = jump}, ignored = {.sa_handler = SIG_IGN};
    CHECK(hears(&plain, meet_sent) == 0);
    CHECK(hears(&more, meet_sent) == 0);
    CHECK(hears(&ignored, meet_sent) == 0);
    CHECK(hears(&jumping, touch_own) == 0);
    struct sigaction *ending[] = {&none, &none, &ignored};
    for (int i = 0; i < 3; i++) { /* one that is met can't be ignored: nothing could go on */
        int status = hears(ending[i], i ? touch_own : meet_sent);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    }
}

int main(void) {
    char folder[] = "/tmp/asc_test_XXXXXX", remove[64];
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    test_signals();
    test_change(cut, 0, COUNT, ASC_E_CHANGED);
    test_change(cut_to_nothing, 0, COUNT, ASC_E_CHANGED);
    test_change(rewrite, 0, COUNT, ASC_E_CHANGED);
    test_change(replace, 0, COUNT, ASC_OK);
    test_change(remove_it, 0, COUNT, ASC_OK);
    test_change(cut, ASC_OPEN_NO_MMAP, COUNT, ASC_OK);
    test_change(cut, 0, 1000, ASC_OK); /* small ones are read */
    test_change(cut, ASC_OPEN_LOW_MEMORY, COUNT, ASC_E_CHANGED);
    test_two();
    test_openings();
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    CHECK(system(remove) == 0);
    return check_failures();
}
