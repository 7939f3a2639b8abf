/* hostile_bundle FILE MODE [COUNT [SEED]] - tries damaged versions of a bundle against the runtime.
 *
 *   truncate  every shorter file
 *   flip      every single-bit flip outside the weights
 *   reflip    likewise, with the digest stamped anew
 *   mutate    COUNT (10000) structure-aware changes from SEED (1), stamped anew
 *   all       all of these
 *
 * With COUNT, truncate, flip and reflip take about that many cases, evenly spread. FILE "-" is a small bundle
 * made here. Exits 0 when nothing crashed and every unstamped change was refused; under AddressSanitizer the
 * case at hand is printed before the report.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "bundle.h"
#include "bundle_case.h"
#include "mutate.h"
#include "sample_bundle.h"

#define CASE_SECONDS 30    /* a case that takes longer hangs */
#define MIN_WORK (1 << 20) /* run also what is this small, or up to four times the undamaged file's work */

static char current[96];

static void print_current(void) {
    size_t n = strlen(current);
    if (write(2, "in case: ", 9) + write(2, current, n) + write(2, "\n", 1) < 0) _exit(2);
}

static void on_alarm(int signal) {
    (void)signal;
    print_current();
    _exit(3);
}

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));
static void name_case_on_death(void) {
    __sanitizer_set_death_callback(print_current);
}
#else
static void name_case_on_death(void) {}
#endif

typedef struct campaign {
    const uint8_t *file;
    uint8_t *work; /* as large as the file */
    uint64_t size, count, seed;
    case_counts counts;
    uint64_t accepted; /* unstamped changes that were opened */
} campaign;

static int try_case(campaign *c, const uint8_t *bytes, uint64_t size) {
    const struct itimerval most = {.it_value.tv_sec = CASE_SECONDS};
    setitimer(ITIMER_PROF, &most, NULL); /* of its own time: the machine may have other things to do */
    alarm(20 * CASE_SECONDS);
    return bundle_case(bytes, size, &c->counts);
}

/* Odd, so that a sample of bits has each bit of a byte. */
static uint64_t step_for(const campaign *c, uint64_t cases) {
    return c->count && cases > c->count ? cases / c->count | 1 : 1;
}

static void truncate_all(campaign *c) {
    for (uint64_t size = 0; size < c->size; size += step_for(c, c->size)) {
        snprintf(current, sizeof current, "truncate %lu", size);
        uint8_t *exact = malloc(size ? size : 1);
        memcpy(exact, c->file, size);
        c->accepted += (uint64_t)try_case(c, exact, size);
        free(exact);
    }
}

static void flip_all(campaign *c, int stamp) {
    asc_frame frame;
    if (asc_frame_parse(&frame, c->file, c->size, NULL) != ASC_OK) return;
    const asc_part *weights = asc_frame_part(&frame, ASC_PART_WEIGHTS);
    uint64_t skipped = weights ? weights->size : 0, step = step_for(c, (c->size - skipped) * 8);
    for (uint64_t bit = 0; bit < (c->size - skipped) * 8; bit += step) {
        uint64_t at = bit / 8;
        if (weights && at >= weights->offset) at += skipped;
        snprintf(current, sizeof current, "%s byte %lu bit %lu", stamp ? "reflip" : "flip", at, bit % 8);
        c->work[at] ^= (uint8_t)(1u << bit % 8);
        if (stamp) stamp_bundle(c->work, c->size);
        int opened = try_case(c, c->work, c->size);
        if (!stamp) c->accepted += (uint64_t)opened;
        c->work[at] ^= (uint8_t)(1u << bit % 8);
        if (stamp) memcpy(c->work, c->file, ASC_OM_HEADER_BYTES);
    }
}

static void mutate_many(campaign *c) {
    uint64_t n = c->count ? c->count : 10000;
    for (uint64_t i = 0; i < n; i++) {
        random_state r = {c->seed * 0x10001 + i};
        snprintf(current, sizeof current, "mutate %lu of seed %lu", i, c->seed);
        memcpy(c->work, c->file, c->size);
        mutate_bundle(c->work, c->size, &r);
        try_case(c, c->work, c->size);
    }
    memcpy(c->work, c->file, c->size);
}

static int run_mode(campaign *c, const char *mode) {
    int all = strcmp(mode, "all") == 0, known = all;
    if (all || strcmp(mode, "truncate") == 0) known = 1, truncate_all(c);
    if (all || strcmp(mode, "flip") == 0) known = 1, flip_all(c, 0);
    if (all || strcmp(mode, "reflip") == 0) known = 1, flip_all(c, 1);
    if (all || strcmp(mode, "mutate") == 0) known = 1, mutate_many(c);
    return known;
}

static uint8_t *read_file(const char *path, uint64_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *size = (uint64_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*size);
    if (bytes && fread(bytes, 1, *size, f) != *size) *size = 0;
    fclose(f);
    return bytes;
}

static void print_counts(const campaign *c) {
    printf("cases %lu, opened %lu, partitions bound %lu, executed %lu\n", c->counts.cases, c->counts.opened,
           c->counts.bound, c->counts.executed);
    for (int i = 1; i < CASE_CODES; i++)
        if (c->counts.codes[i]) printf("  failed with code %d: %lu\n", i, c->counts.codes[i]);
    if (c->accepted) printf("unstamped changes that were accepted: %lu\n", c->accepted);
}

/* The undamaged file must open and run, or the campaign would show nothing. Returns an exit status. */
static int run_campaign(campaign *c, const char *name, const char *mode) {
    memcpy(c->work, c->file, c->size);
    strcpy(current, "the file as it is");
    if (!try_case(c, c->file, c->size) || c->counts.executed < c->counts.bound || !c->counts.bound) {
        fprintf(stderr, "%s: the undamaged file is refused, or a native partition of it does not run\n", name);
        return 2;
    }
    c->counts.max_work = 4 * c->counts.largest_work + MIN_WORK;
    if (!run_mode(c, mode)) {
        fprintf(stderr, "there is no mode %s\n", mode);
        return 2;
    }
    print_counts(c);
    return c->accepted ? 1 : 0;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE|- truncate|flip|reflip|mutate|all [COUNT [SEED]]\n", argv[0]);
        return 2;
    }
    campaign c = {.count = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
                  .seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1};
    uint8_t *file = strcmp(argv[1], "-") == 0 ? sample_bundle(&c.size) : read_file(argv[1], &c.size);
    int result = 2;
    c.file = file;
    c.work = file && c.size ? malloc(c.size) : NULL;
    name_case_on_death();
    signal(SIGALRM, on_alarm);
    signal(SIGPROF, on_alarm);
    if (c.work)
        result = run_campaign(&c, argv[1], argv[2]);
    else
        fprintf(stderr, "%s: can't be read\n", argv[1]);
    free(c.work);
    free(file);
    return result;
}
