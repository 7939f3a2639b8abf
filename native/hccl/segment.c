/* segment.c - the file, its layout and locks, and waiting with futexes. */
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failure.h"

#define MAGIC 0x4C434348u /* "HCCL" */
#define LAYOUT 1u         /* of two libraries that differ in it, neither can read what the other writes */
#define PAGE 4096
/* How often a waiting rank looks whether the others live. */
#define LOOK_NANOSECONDS 50000000
#define SPINS 64

typedef struct header {
    uint32_t magic, layout, ranks, step_bytes;
} header;

static size_t buffers_at(uint32_t ranks) {
    size_t used = PAGE + ranks * sizeof(asc_rank_slot) + (size_t)ranks * ranks * sizeof(asc_channel_slot);
    return (used + PAGE - 1) / PAGE * PAGE;
}

static size_t parts_at(uint32_t ranks, size_t step_bytes) {
    return buffers_at(ranks) + 2 * ranks * step_bytes;
}

static size_t whole(uint32_t ranks, size_t step_bytes) {
    return parts_at(ranks, step_bytes) + 2 * (size_t)ranks * ranks * ASC_PART_BYTES;
}

int asc_segment_file(uint32_t ranks, size_t step_bytes) {
    int file = memfd_create("ascend_ep communicator", MFD_CLOEXEC);
    if (file < 0) return -1;
    header head = {MAGIC, LAYOUT, ranks, (uint32_t)step_bytes};
    if (ftruncate(file, (off_t)whole(ranks, step_bytes)) == 0 && pwrite(file, &head, sizeof head, 0) == sizeof head)
        return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

/* ---- segments of this process, whose files a forked child closes: they would hold the parent's locks --------------
 */

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    asc_segment *first;
} mine = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void before_fork(void) {
    pthread_mutex_lock(&mine.lock);
}

static void in_parent(void) {
    pthread_mutex_unlock(&mine.lock);
}

static void in_child(void) {
    for (asc_segment *segment = mine.first; segment; segment = segment->next) {
        close(segment->file);
        segment->file = -1;
    }
    pthread_mutex_unlock(&mine.lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

static void keep(asc_segment *segment) {
    pthread_once(&mine.once, watch_forks);
    pthread_mutex_lock(&mine.lock);
    segment->next = mine.first;
    if (segment->next) segment->next->before = segment;
    mine.first = segment;
    pthread_mutex_unlock(&mine.lock);
}

static void forget(asc_segment *segment) {
    pthread_mutex_lock(&mine.lock);
    if (segment->next) segment->next->before = segment->before;
    if (segment->before)
        segment->before->next = segment->next;
    else
        mine.first = segment->next;
    pthread_mutex_unlock(&mine.lock);
}

/* ---- joining and leaving ----------------------------------------------------------------------------------------- */

static struct flock lock_of(uint32_t rank) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

static bool is_alive(const asc_segment *segment, uint32_t rank) {
    struct flock lock = lock_of(rank);
    return rank == segment->rank || segment->file < 0 || fcntl(segment->file, F_OFD_GETLK, &lock) != 0 ||
           lock.l_type != F_UNLCK;
}

static HcclResult map(asc_segment *segment) {
    header head = {0};
    struct stat status;
    if (pread(segment->file, &head, sizeof head, 0) != sizeof head || fstat(segment->file, &status) != 0)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_SYSCALL, "the communicator's memory can't be read: %s",
                             strerror(errno));
    if (head.magic != MAGIC || head.layout != LAYOUT || !head.ranks || head.ranks > ASC_MAX_RANKS ||
        head.step_bytes > ASC_MOST_STEP_BYTES || (size_t)status.st_size != whole(head.ranks, head.step_bytes))
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_INTERNAL,
                             "the other ranks run a library of another version, whose memory isn't ours");
    segment->ranks = head.ranks;
    segment->step_bytes = head.step_bytes;
    segment->bytes = (size_t)status.st_size;
    segment->memory = mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, segment->file, 0);
    if (segment->memory == MAP_FAILED)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "%zu bytes of the communicator can't be mapped: %s",
                             segment->bytes, strerror(errno));
    segment->of = (asc_rank_slot *)(segment->memory + PAGE);
    segment->channels = (asc_channel_slot *)(segment->of + segment->ranks);
    return HCCL_SUCCESS;
}

static HcclResult take_place(asc_segment *segment) {
    struct flock lock = lock_of(segment->rank);
    if (segment->rank >= segment->ranks || fcntl(segment->file, F_OFD_SETLK, &lock) != 0)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "the communicator of %u ranks has its rank %u already",
                             segment->ranks, segment->rank);
    atomic_store(&segment->of[segment->rank].state, ASC_RANK_JOINED);
    asc_segment_ring_all(segment);
    return HCCL_SUCCESS;
}

HcclResult asc_segment_join(int file, uint32_t rank, asc_segment **joined) {
    asc_segment *segment = calloc(1, sizeof *segment);
    if (!segment) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    /* Opened again: a lock belongs to what was opened, which a file that was handed over shares. */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *segment = (asc_segment){.file = open(path, O_RDWR | O_CLOEXEC), .memory = MAP_FAILED, .rank = rank};
    HcclResult code = segment->file < 0
                          ? asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_OPEN_FILE_FAILURE,
                                          "the communicator's memory can't be opened (%s): %s", path, strerror(errno))
                          : map(segment);
    if (code == HCCL_SUCCESS) code = take_place(segment);
    if (code == HCCL_SUCCESS) {
        keep(segment);
        *joined = segment;
        return HCCL_SUCCESS;
    }
    if (segment->memory != MAP_FAILED) munmap(segment->memory, segment->bytes);
    if (segment->file >= 0) close(segment->file);
    free(segment);
    return code;
}

void asc_segment_leave(asc_segment *segment, asc_rank_state state) {
    unsigned joined = ASC_RANK_JOINED;
    atomic_compare_exchange_strong(&segment->of[segment->rank].state, &joined, state);
    asc_segment_ring_all(segment);
}

void asc_segment_close(asc_segment *segment) {
    forget(segment);
    munmap(segment->memory, segment->bytes);
    if (segment->file >= 0) close(segment->file);
    free(segment);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

char *asc_segment_step_buffer(const asc_segment *segment, uint32_t rank, uint64_t step) {
    return segment->memory + buffers_at(segment->ranks) + (2 * rank + (step & 1)) * segment->step_bytes;
}

char *asc_segment_part_buffer(const asc_segment *segment, uint32_t from, uint32_t to, uint64_t part) {
    size_t channel = (size_t)from * segment->ranks + to;
    return segment->memory + parts_at(segment->ranks, segment->step_bytes) +
           (2 * channel + (part & 1)) * ASC_PART_BYTES;
}

asc_channel_slot *asc_segment_channel(const asc_segment *segment, uint32_t from, uint32_t to) {
    return &segment->channels[(size_t)from * segment->ranks + to];
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static long futex(atomic_uint *word, int operation, unsigned value, const struct timespec *time) {
    return syscall(SYS_futex, word, operation, value, time, NULL, 0);
}

void asc_segment_ring(asc_segment *segment, uint32_t rank) {
    asc_rank_slot *of = &segment->of[rank];
    atomic_fetch_add(&of->doorbell, 1);
    if (atomic_load(&of->sleepers)) futex(&of->doorbell, FUTEX_WAKE, INT32_MAX, NULL);
}

void asc_segment_ring_all(asc_segment *segment) {
    for (uint32_t rank = 0; rank < segment->ranks; rank++) asc_segment_ring(segment, rank);
}

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* Sleeps until the doorbell isn't `heard` any more, or it is time to see who lives. */
static void sleep_until_rung(asc_rank_slot *own, unsigned heard) {
    static const struct timespec time = {.tv_nsec = LOOK_NANOSECONDS};
    atomic_fetch_add(&own->sleepers, 1);
    futex(&own->doorbell, FUTEX_WAIT, heard, &time);
    atomic_fetch_sub(&own->sleepers, 1);
}

/* Whether a rank won't do any more; what it is then. */
static bool is_lost(const asc_segment *segment, uint32_t rank, asc_rank_state *state) {
    *state = (asc_rank_state)atomic_load(&segment->of[rank].state);
    if (rank == segment->rank || *state == ASC_RANK_ABSENT) return false; /* it is still to come */
    if (*state == ASC_RANK_JOINED && is_alive(segment, rank)) return false;
    if (*state == ASC_RANK_JOINED) *state = ASC_RANK_DIED;
    return true;
}

uint32_t asc_segment_lost(const asc_segment *segment) {
    asc_rank_state state;
    for (uint32_t rank = 0; rank < segment->ranks; rank++)
        if (is_lost(segment, rank, &state)) return rank;
    return ASC_NOBODY;
}

static bool sees_loss(const asc_segment *segment, asc_wait *wait) {
    uint32_t who = wait->everybody ? asc_segment_lost(segment) : wait->who;
    if (who == ASC_NOBODY || !is_lost(segment, who, &wait->state)) return false;
    /* What it did before it was lost counts. */
    if (wait->missing(wait->argument) == ASC_NOBODY) return false;
    wait->who = who;
    return true;
}

HcclResult asc_segment_wait(asc_segment *segment, asc_wait *wait) {
    asc_rank_slot *own = &segment->of[segment->rank];
    for (int spin = 0; spin < SPINS; spin++)
        if ((wait->who = wait->missing(wait->argument)) == ASC_NOBODY) return HCCL_SUCCESS;
    int64_t begun = now(), looked = begun;
    for (;;) {
        unsigned heard = atomic_load(&own->doorbell);
        if ((wait->who = wait->missing(wait->argument)) == ASC_NOBODY) return HCCL_SUCCESS;
        if (atomic_load(wait->stop)) return HCCL_E_AGAIN;
        sleep_until_rung(own, heard);
        int64_t at = now();
        if (at - looked < LOOK_NANOSECONDS) continue;
        looked = at;
        if ((wait->who = wait->missing(wait->argument)) == ASC_NOBODY) return HCCL_SUCCESS;
        if (sees_loss(segment, wait)) return HCCL_E_REMOTE;
        if (wait->seconds && at - begun > (int64_t)wait->seconds * 1000000000) return HCCL_E_TIMEOUT;
    }
}
