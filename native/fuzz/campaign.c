/* campaign STATE SEED CASES FILE... - tries CASES mutated bundles, goes on where it stopped, and keeps count.
 *
 * Case n of a seed is bundle n modulo their number, changed as mutate.h says, its digest stamped anew; opened, bound
 * and executed in this process. STATE is a line of text, replaced every few thousand cases; a campaign that is stopped
 * and started again begins behind the last of them. What kills the process, or takes longer than CASE_SECONDS, is left
 * in STATE.failed, and its number is said. Bundles that don't run as they are, undamaged, are left out.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "bundle_case.h"
#include "mutate.h"

#define CASE_SECONDS 30
#define MOST_BUNDLES 2048
#define MOST_BYTES (1 << 18)
#define SAVE_EVERY 5000
#define MIN_WORK (1 << 18)

typedef struct bundle {
    uint8_t *bytes;
    uint64_t size;
    int64_t max_work;
} bundle;

static struct campaign {
    bundle bundles[MOST_BUNDLES];
    uint64_t n_bundles, seed, next;
    case_counts counts;
    const char *state;
    uint8_t *work; /* the case at hand */
    uint64_t work_bytes;
} now;

static void keep_case(void) {
    char path[512], text[128];
    snprintf(path, sizeof path, "%s.failed", now.state);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, now.work, now.work_bytes) < 0) _exit(3);
    close(fd);
    int n = snprintf(text, sizeof text, "case %" PRIu64 " of seed %" PRIu64 "\n", now.next, now.seed);
    if (write(2, text, (size_t)n) < 0) _exit(3);
}

static void on_signal(int number) {
    keep_case();
    signal(number, SIG_DFL);
    raise(number == SIGPROF ? SIGABRT : number);
}

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));
static void watch_death(void) {
    __sanitizer_set_death_callback(keep_case);
}
#else
static void watch_death(void) {}
#endif

static int load_bundle(const char *path, bundle *out) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = file ? malloc(MOST_BYTES) : NULL;
    uint64_t size = bytes ? fread(bytes, 1, MOST_BYTES, file) : 0;
    if (file) fclose(file);
    case_counts counts = {0};
    if (!size || size == MOST_BYTES || !bundle_case(bytes, size, &counts) || counts.executed < counts.bound ||
        !counts.bound) {
        free(bytes);
        return 0;
    }
    *out = (bundle){bytes, size, 4 * counts.largest_work + MIN_WORK};
    return 1;
}

static void read_state(void) {
    uint64_t seed = 0;
    FILE *file = fopen(now.state, "r");
    if (!file) return;
    case_counts *c = &now.counts;
    int n = fscanf(file, "seed %" SCNu64 " cases %" SCNu64 " opened %" SCNu64 " bound %" SCNu64 " executed %" SCNu64,
                   &seed, &c->cases, &c->opened, &c->bound, &c->executed);
    fclose(file);
    if (n != 5 || seed != now.seed) {
        fprintf(stderr, "%s: is not of seed %" PRIu64 "\n", now.state, now.seed);
        exit(2);
    }
    now.next = c->cases;
}

static void write_state(void) {
    char path[512];
    snprintf(path, sizeof path, "%s.new", now.state);
    FILE *file = fopen(path, "w");
    const case_counts *c = &now.counts;
    int ok =
        file &&
        fprintf(file, "seed %" PRIu64 " cases %" PRIu64 " opened %" PRIu64 " bound %" PRIu64 " executed %" PRIu64 "\n",
                now.seed, c->cases, c->opened, c->bound, c->executed) > 0;
    if (!file || fclose(file) != 0 || !ok || rename(path, now.state) != 0) {
        perror(now.state);
        exit(2);
    }
}

static void try_next(void) {
    const bundle *b = &now.bundles[now.next % now.n_bundles];
    random_state r = {now.seed * 0x9E3779B97F4A7C15u + now.next};
    memcpy(now.work, b->bytes, now.work_bytes = b->size);
    mutate_bundle(now.work, b->size, &r);
    now.counts.max_work = b->max_work;
    const struct itimerval most = {.it_value.tv_sec = CASE_SECONDS};
    setitimer(ITIMER_PROF, &most, NULL); /* of this process's own time: it runs when nobody else does */
    bundle_case(now.work, b->size, &now.counts);
    now.next++;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: %s STATE SEED CASES FILE...\n", argv[0]);
        return 2;
    }
    now.state = argv[1];
    now.seed = strtoull(argv[2], NULL, 10);
    for (int i = 4; i < argc && now.n_bundles < MOST_BUNDLES; i++)
        now.n_bundles += (uint64_t)load_bundle(argv[i], &now.bundles[now.n_bundles]);
    if (now.n_bundles < (uint64_t)argc - 4)
        printf("%" PRIu64 " of %d bundles run as they are\n", now.n_bundles, argc - 4);
    now.work = malloc(MOST_BYTES);
    if (!now.n_bundles || !now.work) return 2;
    read_state();
    watch_death();
    signal(SIGPROF, on_signal);
    signal(SIGABRT, on_signal);
#if !defined(__SANITIZE_ADDRESS__)
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
    signal(SIGFPE, on_signal);
#endif
    for (uint64_t end = now.next + strtoull(argv[3], NULL, 10); now.next < end;) {
        try_next();
        if (now.next % SAVE_EVERY == 0 || now.next == end) write_state();
    }
    printf("%" PRIu64 " cases of seed %" PRIu64 "\n", now.counts.cases, now.seed);
    for (uint64_t i = 0; i < now.n_bundles; i++) free(now.bundles[i].bytes);
    free(now.work);
    return 0;
}
