/* graphs.c - `graphs m.om SEED GRAPHS STEPS THREADS`: random copies, sets, runs of a model (int32[16] + 5), host
 * functions and callbacks over streams of three contexts on two devices, ordered by events, notifications and the
 * program's own waits only where one needs what another does. Each thread computes in order what must come out, and
 * prints, with its seed, where that isn't so. The last line is the count of steps. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acl/acl.h"

enum { DEVICES = 2, CONTEXTS = 3, STREAMS = 6, HOST = STREAMS, ACTORS, CELLS = 12, EVENTS = 5, NOTES = 3, WIDTH = 16 };
#define BYTES (WIDTH * sizeof(int32_t))
#define MUST(call)                                                                            \
    do {                                                                                      \
        aclError must_code = call;                                                            \
        if (must_code) printf("%s %d %s\n", #call, must_code, aclGetRecentErrMsg()), exit(1); \
    } while (0)

/* What an actor, a stream or the program, is known to have done: its steps so far. */
typedef struct stamp {
    int actor;
    unsigned step;
} stamp;

typedef struct cell {
    int32_t *at;
    int device; /* -1: the host's */
    stamp written;
    unsigned read[ACTORS]; /* the last step of each that read it */
    int32_t expected[WIDTH];
} cell;

typedef struct graph {
    unsigned seed, random;
    pthread_t reporter;
    atomic_bool over;
    aclrtContext contexts[CONTEXTS];
    aclrtStream streams[STREAMS];
    aclrtEvent events[EVENTS];
    aclrtNotify notes[NOTES];
    stamp note_used[NOTES];
    unsigned clock[ACTORS][ACTORS]; /* what each knows of each */
    cell cells[CELLS];
    atomic_int unordered; /* callbacks that block nothing */
    int launched;
    int wrong;
} graph;

/* The context of stream s is s / 2; the first two contexts are the first device's. */
static int device_of(int stream) {
    return stream / 2 == 2;
}

static uint32_t model;
static int steps;
static atomic_int done, wrong;

static unsigned drawn(graph *g, unsigned below) {
    g->random = g->random * 1103515245u + 12345u;
    return (g->random >> 8) % below;
}

/* ---- who knows what ----------------------------------------------------------------------------------- */

static void learn(graph *g, int actor, const unsigned *clock) {
    for (int i = 0; i < ACTORS; i++)
        if (clock[i] > g->clock[actor][i]) g->clock[actor][i] = clock[i];
}

static bool knows(graph *g, int actor, stamp s) {
    return g->clock[actor][s.actor] >= s.step;
}

/* The program brings a step to the stream, after all that it waited for. */
static void enter(graph *g, int stream) {
    MUST(aclrtSetCurrentContext(g->contexts[stream / 2]));
    learn(g, stream, g->clock[HOST]);
    g->clock[stream][stream]++;
}

static void wait_here(graph *g, int stream) {
    MUST(aclrtSetCurrentContext(g->contexts[stream / 2]));
    if (drawn(g, 4)) {
        MUST(aclrtSynchronizeStream(g->streams[stream]));
        learn(g, HOST, g->clock[stream]);
    } else {
        MUST(aclrtSynchronizeDevice());
        for (int i = 0; i < STREAMS; i++)
            if (device_of(i) == device_of(stream)) learn(g, HOST, g->clock[i]);
    }
}

static void by_event(graph *g, int from, int to) {
    aclrtEvent event = g->events[drawn(g, EVENTS)];
    enter(g, from);
    MUST(aclrtRecordEvent(event, g->streams[from]));
    if (to == HOST) {
        MUST(aclrtSynchronizeEvent(event));
    } else {
        enter(g, to);
        MUST(aclrtStreamWaitEvent(g->streams[to], event));
    }
    learn(g, to, g->clock[from]);
}

/* A notification is one mark, which whoever waits takes: it serves again when both streams know that the last wait is
 * over. */
static bool by_note(graph *g, int from, int to) {
    int i = (int)drawn(g, NOTES);
    learn(g, from, g->clock[HOST]);
    learn(g, to, g->clock[HOST]);
    if (!knows(g, from, g->note_used[i]) || !knows(g, to, g->note_used[i])) return false;
    enter(g, from);
    MUST(aclrtRecordNotify(g->notes[i], g->streams[from]));
    enter(g, to);
    MUST(aclrtWaitAndResetNotify(g->notes[i], g->streams[to], 0));
    g->note_used[i] = (stamp){to, g->clock[to][to]};
    learn(g, to, g->clock[from]);
    return true;
}

static void order(graph *g, int from, int to) {
    if (from == to || from == HOST) return; /* streams are in order; the program's steps come before what it brings */
    if (to == HOST) {
        drawn(g, 3) ? wait_here(g, from) : by_event(g, from, HOST);
    } else if (drawn(g, 8) == 0) {
        wait_here(g, from);
        learn(g, to, g->clock[HOST]);
    } else if (device_of(from) == device_of(to) && drawn(g, 2)) {
        by_event(g, from, to);
    } else if (!by_note(g, from, to)) {
        wait_here(g, from);
        learn(g, to, g->clock[HOST]);
    }
}

static void before_reading(graph *g, cell *c, int actor) {
    learn(g, actor, g->clock[HOST]);
    if (!knows(g, actor, c->written)) order(g, c->written.actor, actor);
}

static void before_writing(graph *g, cell *c, int actor) {
    before_reading(g, c, actor);
    for (int i = 0; i < ACTORS; i++)
        if (!knows(g, actor, (stamp){i, c->read[i]})) order(g, i, actor);
}

static void has_read(graph *g, cell *c, int actor) {
    c->read[actor] = g->clock[actor][actor];
}

static void has_written(graph *g, cell *c, int actor) {
    c->written = (stamp){actor, g->clock[actor][actor]};
}

/* ---- steps --------------------------------------------------------------------------------------------- */

typedef struct change {
    int32_t *at;
    unsigned factor, term, nanoseconds;
} change;

static void change_all(int32_t *at, unsigned factor, unsigned term) {
    for (int i = 0; i < WIDTH; i++) at[i] = (int32_t)(((unsigned)at[i] * factor + term) & 0xffffff);
}

static void run_change(void *argument) {
    change *c = argument;
    if (c->nanoseconds) nanosleep(&(struct timespec){0, c->nanoseconds}, NULL);
    change_all(c->at, c->factor, c->term);
    free(c);
}

static void count_call(void *argument) {
    atomic_fetch_add((atomic_int *)argument, 1);
}

/* A cell that the stream reaches, or NULL. host: -1 any, 0 the device's, 1 the host's. */
static cell *pick(graph *g, int stream, int host) {
    cell *c = &g->cells[drawn(g, CELLS)];
    if (c->device >= 0 && c->device != device_of(stream)) return NULL;
    return host >= 0 && host != (c->device < 0) ? NULL : c;
}

static void change_on_host(graph *g, int stream) {
    cell *c = pick(g, stream, 1);
    if (!c) return;
    change *made = malloc(sizeof *made);
    *made = (change){c->at, drawn(g, 7) + 2, drawn(g, 1000), drawn(g, 8) ? 0 : drawn(g, 200000)};
    before_writing(g, c, stream);
    enter(g, stream);
    change_all(c->expected, made->factor, made->term);
    if (drawn(g, 2))
        MUST(aclrtLaunchHostFunc(g->streams[stream], run_change, made));
    else
        MUST(aclrtLaunchCallback(run_change, made, ACL_CALLBACK_BLOCK, g->streams[stream]));
    has_written(g, c, stream);
}

static void copy_some(graph *g, int stream) {
    cell *from = pick(g, stream, -1), *to = pick(g, stream, -1);
    if (!from || !to || from == to || (from->device < 0 && to->device < 0)) return;
    size_t first = drawn(g, WIDTH), size = (1 + drawn(g, (unsigned)(WIDTH - first))) * sizeof(int32_t);
    aclrtMemcpyKind kind = from->device < 0 ? ACL_MEMCPY_HOST_TO_DEVICE
                           : to->device < 0 ? ACL_MEMCPY_DEVICE_TO_HOST
                                            : ACL_MEMCPY_DEVICE_TO_DEVICE;
    before_reading(g, from, stream);
    before_writing(g, to, stream);
    enter(g, stream);
    MUST(aclrtMemcpyAsync(to->at + first, size, from->at + first, size, kind, g->streams[stream]));
    memcpy(to->expected + first, from->expected + first, size);
    has_read(g, from, stream);
    has_written(g, to, stream);
}

static void set_all(graph *g, int stream) {
    cell *c = pick(g, stream, 0);
    int byte = (int)drawn(g, 127);
    if (!c) return;
    before_writing(g, c, stream);
    enter(g, stream);
    MUST(aclrtMemsetAsync(c->at, BYTES, byte, BYTES, g->streams[stream]));
    memset(c->expected, byte, BYTES);
    has_written(g, c, stream);
}

static void free_sets(void *argument) {
    aclmdlDataset **sets = argument;
    for (int i = 0; i < 2; i++) {
        aclDestroyDataBuffer(aclmdlGetDatasetBuffer(sets[i], 0));
        aclmdlDestroyDataset(sets[i]);
    }
    free(sets);
}

/* Bundles belong to the first device. */
static void run_model(graph *g, int stream) {
    cell *from = pick(g, stream, 0), *to = pick(g, stream, 0);
    if (!from || !to || from == to || device_of(stream)) return;
    before_reading(g, from, stream);
    before_writing(g, to, stream);
    enter(g, stream);
    aclmdlDataset **sets = malloc(2 * sizeof *sets);
    for (int i = 0; i < 2; i++) {
        sets[i] = aclmdlCreateDataset();
        MUST(aclmdlAddDatasetBuffer(sets[i], aclCreateDataBuffer(i ? to->at : from->at, BYTES)));
    }
    MUST(aclmdlExecuteAsync(model, sets[0], sets[1], g->streams[stream]));
    MUST(aclrtLaunchHostFunc(g->streams[stream], free_sets, sets));
    for (int i = 0; i < WIDTH; i++) to->expected[i] = (int32_t)((unsigned)from->expected[i] + 5);
    has_read(g, from, stream);
    has_written(g, to, stream);
}

static void look(graph *g, cell *c, unsigned step) {
    int32_t found[WIDTH];
    before_reading(g, c, HOST);
    if (c->device < 0) {
        memcpy(found, c->at, BYTES);
    } else {
        MUST(aclrtSetCurrentContext(g->contexts[c->device ? 2 : 0]));
        MUST(aclrtMemcpy(found, BYTES, c->at, BYTES, ACL_MEMCPY_DEVICE_TO_HOST));
    }
    g->clock[HOST][HOST]++;
    has_read(g, c, HOST);
    if (memcmp(found, c->expected, BYTES) == 0) return;
    printf("seed %u step %u cell %td: %d, not %d\n", g->seed, step, c - g->cells, found[0], c->expected[0]);
    g->wrong++;
}

static void one_step(graph *g, unsigned step) {
    int stream = (int)drawn(g, STREAMS);
    switch (drawn(g, 9)) {
        case 0:
        case 1: change_on_host(g, stream); break;
        case 2: set_all(g, stream); break;
        case 3:
        case 4: run_model(g, stream); break;
        case 5:
            if (drawn(g, 4) == 0) look(g, &g->cells[drawn(g, CELLS)], step);
            break;
        case 6:
            if (drawn(g, 4)) break;
            enter(g, stream);
            MUST(aclrtLaunchCallback(count_call, &g->unordered, ACL_CALLBACK_NO_BLOCK, g->streams[stream]));
            g->launched++;
            break;
        default: copy_some(g, stream);
    }
}

/* ---- a graph ------------------------------------------------------------------------------------------- */

static void *report(void *argument) {
    graph *g = argument;
    while (!atomic_load(&g->over)) aclrtProcessReport(10);
    return NULL;
}

static void begin(graph *g) {
    for (int i = 0; i < CONTEXTS; i++) MUST(aclrtCreateContext(&g->contexts[i], i == 2));
    for (int i = 0; i < STREAMS; i++) {
        MUST(aclrtSetCurrentContext(g->contexts[i / 2]));
        MUST(aclrtCreateStream(&g->streams[i]));
        MUST(aclrtSubscribeReport((uint64_t)g->reporter, g->streams[i]));
    }
    for (int i = 0; i < EVENTS; i++) MUST(aclrtCreateEvent(&g->events[i]));
    for (int i = 0; i < NOTES; i++) MUST(aclrtCreateNotify(&g->notes[i], 0));
    for (int i = 0; i < CELLS; i++) {
        cell *c = &g->cells[i];
        c->device = i % 3 - 1;
        c->written.actor = HOST;
        MUST(aclrtSetCurrentContext(g->contexts[c->device > 0 ? 2 : 0]));
        if (c->device < 0)
            MUST(aclrtMallocHost((void **)&c->at, BYTES));
        else
            MUST(aclrtMalloc((void **)&c->at, BYTES, ACL_MEM_MALLOC_HUGE_FIRST));
        if (c->device < 0)
            memset(c->at, 0, BYTES);
        else
            MUST(aclrtMemset(c->at, BYTES, 0, BYTES));
    }
}

static void finish(graph *g) {
    for (int i = 0; i < CELLS; i++) {
        look(g, &g->cells[i], (unsigned)steps);
        MUST(aclrtSetCurrentContext(g->contexts[g->cells[i].device > 0 ? 2 : 0]));
        for (int k = 0; k < STREAMS; k++) wait_here(g, k);
        MUST(aclrtSetCurrentContext(g->contexts[g->cells[i].device > 0 ? 2 : 0]));
        MUST(g->cells[i].device < 0 ? aclrtFreeHost(g->cells[i].at) : aclrtFree(g->cells[i].at));
    }
    for (int i = 0; i < 2000 && atomic_load(&g->unordered) < g->launched; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (atomic_load(&g->unordered) != g->launched) printf("seed %u: a callback is missing\n", g->seed), g->wrong++;
    for (int i = 0; i < STREAMS; i++) {
        MUST(aclrtSetCurrentContext(g->contexts[i / 2]));
        MUST(aclrtUnSubscribeReport((uint64_t)g->reporter, g->streams[i]));
        MUST(aclrtDestroyStream(g->streams[i]));
    }
    for (int i = 0; i < EVENTS; i++) MUST(aclrtDestroyEvent(g->events[i]));
    for (int i = 0; i < NOTES; i++) MUST(aclrtDestroyNotify(g->notes[i]));
    for (int i = 0; i < CONTEXTS; i++) MUST(aclrtDestroyContext(g->contexts[i]));
    atomic_store(&g->over, true);
    pthread_join(g->reporter, NULL);
}

static unsigned first_seed;
static int graphs;
static atomic_uint next_graph;

static void *work(void *unused) {
    for (unsigned i; (i = atomic_fetch_add(&next_graph, 1)) < (unsigned)graphs;) {
        graph *g = calloc(1, sizeof *g);
        g->seed = g->random = first_seed + i;
        pthread_create(&g->reporter, NULL, report, g);
        begin(g);
        for (int k = 0; k < steps; k++) one_step(g, (unsigned)k);
        finish(g);
        atomic_fetch_add(&done, steps);
        atomic_fetch_add(&wrong, g->wrong);
        free(g);
    }
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[16];
    if (argc < 6) return 2;
    first_seed = (unsigned)atoi(argv[2]);
    graphs = atoi(argv[3]);
    steps = atoi(argv[4]);
    int count = atoi(argv[5]) < 16 ? atoi(argv[5]) : 16;
    MUST(aclInit(NULL));
    for (int i = DEVICES; i-- > 0;) MUST(aclrtSetDevice(i));
    MUST(aclmdlLoadFromFile(argv[1], &model));
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    MUST(aclrtSetDevice(0));
    MUST(aclmdlUnload(model));
    for (int i = 0; i < DEVICES; i++) MUST(aclrtResetDevice(i));
    MUST(aclFinalize());
    printf("%d\n", atomic_load(&done));
    return atomic_load(&wrong) != 0;
}
