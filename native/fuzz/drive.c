/* drive - runs a fuzz entry without libFuzzer: fuzz_X SECONDS CORPUS [SEED [INPUTS]]
 *
 * Every file of the folder CORPUS as it is, then mutations of them until the time is over or INPUTS were tried: bytes
 * changed, cut out, repeated and joined with another file's, and the entry's own mutator. The same SEED gives the same
 * inputs. One during which the process dies, takes longer than LONGEST seconds or grows by more than MOST_MEMORY is
 * left in the file `failed-input`.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz_entry.h"
#include "mutate.h"

#define LONGEST 20
#define MOST_MEMORY (500 << 10) /* kilobytes beyond those that the corpus took */
#define ROOM (1 << 20)
#define MOST_FILES 256

typedef struct input {
    uint8_t *bytes;
    size_t size;
} input;

static struct corpus {
    input files[MOST_FILES];
    size_t count;
} corpus;

static input now; /* being tried */

static void keep_input(void) {
    int fd = open("failed-input", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, now.bytes, now.size) < 0) _exit(3);
    close(fd);
}

static void on_signal(int number) {
    static const char late[] = "the input took too long\n";
    keep_input();
    int is_late = number == SIGALRM || number == SIGPROF;
    if (is_late && write(2, late, sizeof late - 1) < 0) _exit(3);
    signal(number, SIG_DFL);
    raise(is_late ? SIGABRT : number);
}

#if defined(__SANITIZE_ADDRESS__)
void __sanitizer_set_death_callback(void (*callback)(void));
static void watch_death(void) {
    __sanitizer_set_death_callback(keep_input);
}
#else
static void watch_death(void) {}
#endif

static long peak_memory(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void try_input(void) {
    const struct itimerval most = {.it_value.tv_sec = LONGEST}, none = {0};
    setitimer(ITIMER_PROF, &most, NULL); /* of its own time: the machine may have other things to do */
    alarm(20 * LONGEST);
    LLVMFuzzerTestOneInput(now.bytes, now.size);
    alarm(0);
    setitimer(ITIMER_PROF, &none, NULL);
}

static int load_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    input *in = &corpus.files[corpus.count];
    in->bytes = malloc(ROOM);
    in->size = in->bytes ? fread(in->bytes, 1, ROOM, file) : 0;
    fclose(file);
    corpus.count += in->size > 0;
    return 1;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int load_corpus(const char *folder) {
    struct dirent **names;
    char path[4096];
    int n = scandir(folder, &names, NULL, by_name);
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.' && corpus.count < MOST_FILES) load_file(path);
        free(names[i]);
    }
    if (n >= 0) free(names);
    return corpus.count > 0;
}

/* One change of bytes. */
static void change(input *in, random_state *r) {
    static const uint8_t BYTES[] = {0, 1, 0x7F, 0x80, 0xFF, '(', ')', '0', '-'};
    const input *other = &corpus.files[random_next(r) % corpus.count];
    size_t at = in->size ? random_next(r) % in->size : 0, left = in->size - at, from = random_next(r) % other->size;
    size_t length = 1 + random_next(r) % 16;
    uint64_t pick = random_next(r);
    switch (pick % 6) {
        case 0:
            if (left) in->bytes[at] ^= (uint8_t)(1u << (pick >> 8 & 7));
            break;
        case 1:
            if (left) in->bytes[at] = BYTES[(pick >> 8) % sizeof BYTES];
            break;
        case 2: /* cut out */
            if (length > left) length = left;
            memmove(in->bytes + at, in->bytes + at + length, left - length);
            in->size -= length;
            break;
        case 3: /* repeat */
            if (length > left) length = left;
            if (in->size + length > ROOM) break;
            memmove(in->bytes + at + length, in->bytes + at, left);
            in->size += length;
            break;
        case 4: /* another file's bytes over these */
            if (length > left) length = left;
            if (length > other->size - from) length = other->size - from;
            memcpy(in->bytes + at, other->bytes + from, length);
            break;
        default: /* the beginning of this with the end of another */
            if (pick >> 8 & 7 || at + other->size - from > ROOM) break;
            memcpy(in->bytes + at, other->bytes + from, other->size - from);
            in->size = at + other->size - from;
    }
}

static void mutate(random_state *r) {
    const input *from = &corpus.files[random_next(r) % corpus.count];
    memcpy(now.bytes, from->bytes, from->size);
    now.size = from->size;
    int own = LLVMFuzzerCustomMutator && random_next(r) % 4;
    for (uint64_t n = 1 + random_next(r) % 4; n; n--) {
        if (own)
            now.size = LLVMFuzzerCustomMutator(now.bytes, now.size, ROOM, (unsigned)random_next(r));
        else
            change(&now, r);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || !load_corpus(argv[2])) {
        fprintf(stderr, "usage: %s SECONDS CORPUS [SEED [INPUTS]]; CORPUS is a folder of files\n", argv[0]);
        return 2;
    }
    random_state r = {argc > 3 ? strtoull(argv[3], NULL, 10) : 1};
    unsigned long tried = 0, most = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    now.bytes = malloc(ROOM);
    watch_death();
    signal(SIGALRM, on_signal);
    signal(SIGPROF, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGSEGV, on_signal);
    for (; tried < corpus.count; tried++) {
        memcpy(now.bytes, corpus.files[tried].bytes, now.size = corpus.files[tried].size);
        try_input();
    }
    long memory = peak_memory();
    for (time_t end = time(NULL) + atoi(argv[1]); time(NULL) < end && (!most || tried < most); tried++) {
        mutate(&r);
        try_input();
        if (peak_memory() - memory > MOST_MEMORY) {
            fprintf(stderr, "memory grew by more than %d MB\n", MOST_MEMORY >> 10);
            abort();
        }
    }
    printf("%s: %lu inputs\n", argv[0], tried);
    return 0;
}
