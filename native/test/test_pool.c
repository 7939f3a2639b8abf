/* The thread pool: every chunk once, many callers at a time, regions within regions, on threads of the embedder, and
 * after fork. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "lent.h"

#define CHUNKS 500
#define CALLERS 8
#define ROUNDS 200

typedef struct tally {
    _Atomic int times[CHUNKS];
    _Atomic int wrong_worker;
    int32_t threads;
} tally;

static void count_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    tally *t = arg;
    t->times[chunk]++;
    if (worker < 0 || worker >= call->threads) t->wrong_worker = 1;
}

static int region_of(asc_call call, int64_t n_chunks) {
    int32_t threads = call.threads;
    tally t = {.threads = threads};
    asc_parallel(&call, n_chunks, count_chunk, &t);
    int good = !t.wrong_worker;
    for (int64_t i = 0; i < CHUNKS; i++) good &= t.times[i] == (i < n_chunks);
    return good;
}

static int region(int32_t threads, int64_t n_chunks) {
    return region_of((asc_call){.threads = threads, .pool = asc_pool_shared()}, n_chunks);
}

static void note_order(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)worker;
    int64_t *order = arg;
    order[++order[0]] = chunk;
}

/* Regions that turn go forwards and backwards, alone and with workers. */
static void turns(void) {
    asc_call call = {.threads = 1, .pool = asc_pool_shared(), .turns = 1};
    int64_t first[4] = {0}, second[4] = {0};
    asc_parallel(&call, 3, note_order, first);
    asc_parallel(&call, 3, note_order, second);
    for (int i = 1; i <= 3; i++) CHECK(first[i] + second[i] == 2);
    CHECK((first[1] == 0 && first[2] == 1) || (second[1] == 0 && second[2] == 1));
    call.threads = 3;
    for (int64_t n = 0; n < 10; n++) CHECK(region_of(call, n));
    CHECK(region_of(call, CHUNKS) && region_of(call, CHUNKS));
}

static void *caller(void *failures) {
    for (int i = 0; i < ROUNDS; i++) *(int *)failures += !region(1 + i % 7, i % CHUNKS);
    return NULL;
}

static void many_callers(void) {
    pthread_t threads[CALLERS];
    int failures[CALLERS] = {0};
    for (int i = 0; i < CALLERS; i++) pthread_create(&threads[i], NULL, caller, &failures[i]);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failures[i] == 0);
    }
}

static void nest(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)call, (void)chunk, (void)worker;
    if (!region(4, 40)) *(_Atomic int *)arg = 1;
}

static void regions_in_regions(void) {
    asc_call call = {.threads = 4, .pool = asc_pool_shared()};
    _Atomic int failed = 0;
    for (int i = 0; i < 20; i++) asc_parallel(&call, 30, nest, &failed);
    CHECK(!failed);
}

typedef struct half {
    asc_work_fn work;
    void *arg;
    size_t from, to;
} half;

static void *run_half(void *given) {
    half *h = given;
    for (size_t i = h->to; i-- > h->from;) h->work(h->arg, i);
    return NULL;
}

/* Two threads, of which each goes backwards. */
static void on_two_threads(void *count, size_t n, asc_work_fn work, void *arg) {
    half first = {work, arg, 0, n / 2}, second = {work, arg, n / 2, n};
    pthread_t thread;
    ++*(int *)count;
    pthread_create(&thread, NULL, run_half, &second);
    run_half(&first);
    pthread_join(thread, NULL);
}

static void not_at_all(void *count, size_t n, asc_work_fn work, void *arg) {
    (void)n, (void)work, (void)arg;
    ++*(int *)count;
}

static void lent_threads(void) {
    int count = 0;
    asc_lend_threads(on_two_threads, &count);
    for (int64_t n = 0; n < 40; n++) CHECK(region(4, n));
    CHECK(count == 38 && region(1000, CHUNKS)); /* no chunk, or one, is the caller's */
    regions_in_regions();
    asc_lend_threads(not_at_all, &count);
    CHECK(region(4, CHUNKS));
    asc_lend_threads(NULL, NULL);
    count = 0;
    CHECK(region(4, CHUNKS) && count == 0);
}

static void one_by_one(void *count, size_t n, asc_work_fn work, void *arg) {
    ++*(int *)count;
    for (size_t i = 0; i < n; i++) work(arg, i);
}

typedef struct others {
    asc_work_fn work;
    void *arg;
    size_t i;
} others;

static void *run_one(void *given) {
    others *o = given;
    o->work(o->arg, o->i);
    return NULL;
}

/* A thread for each of n, none of them the caller. */
static void on_others(void *count, size_t n, asc_work_fn work, void *arg) {
    pthread_t threads[16];
    others all[16];
    ++*(int *)count;
    for (size_t i = 0; i < n; i++) {
        all[i] = (others){work, arg, i};
        pthread_create(&threads[i], NULL, run_one, &all[i]);
    }
    for (size_t i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

enum { REGIONS = 40 };

/* Regions of every size, with pauses after which members sleep, and regions within regions. */
static void many_regions(void *given) {
    int *good = given;
    for (int n = 0; n < REGIONS; n++) {
        *good &= region(4, n % 7 ? n : CHUNKS);
        if (n % 16 == 3) usleep(300);
    }
    regions_in_regions();
}

/* The embedder is called once for all regions of a run, or for each when few are expected. */
static void lent_for_a_run(asc_parallel_for_fn embedder) {
    int count = 0, good = 1;
    asc_lend_threads(embedder, &count);
    int32_t regions = asc_lent_stay(4, 0, many_regions, &good);
    CHECK(good && count == regions && regions > REGIONS);
    for (int i = 0; i < 30; i++) CHECK(asc_lent_stay(4, regions, many_regions, &good) == regions && good);
    CHECK(count == regions + 30);
    asc_lend_threads(NULL, NULL);
    CHECK(asc_lent_stay(4, regions, many_regions, &good) == 0 && good && count == regions + 30);
}

static void teams(void) {
    lent_for_a_run(on_two_threads);
    lent_for_a_run(not_at_all);
    lent_for_a_run(one_by_one);
    lent_for_a_run(on_others);
}

static void *endless(void *stop) {
    while (!*(_Atomic int *)stop) region(3, 50);
    return NULL;
}

/* Forks while other threads are inside regions: the child has none of them, nor the workers. */
static void forks(void) {
    _Atomic int stop = 0;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, endless, &stop);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(region(4, CHUNKS) && region(2, 3) ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

int main(void) {
    CHECK(region(1, CHUNKS) && region(4, 0) && region(4, 1) && region(1000, CHUNKS));
    turns();
    many_callers();
    regions_in_regions();
    lent_threads();
    teams();
    forks();
    CHECK(region(4, CHUNKS));
    return check_failures();
}
