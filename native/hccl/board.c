/* board.c - the file, its layout and locks, and waiting with futexes. */
#include "board.h"

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

static size_t rooms_at(uint32_t ranks) {
    size_t used = PAGE + ranks * sizeof(asc_rank_board) + (size_t)ranks * ranks * sizeof(asc_channel_board);
    return (used + PAGE - 1) / PAGE * PAGE;
}

static size_t parts_at(uint32_t ranks, size_t step_bytes) {
    return rooms_at(ranks) + 2 * ranks * step_bytes;
}

static size_t whole(uint32_t ranks, size_t step_bytes) {
    return parts_at(ranks, step_bytes) + 2 * (size_t)ranks * ranks * ASC_PART_BYTES;
}

int asc_board_file(uint32_t ranks, size_t step_bytes) {
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

/* ---- boards of this process, whose files a forked child closes: they would hold the parent's locks -------------- */

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    asc_board *first;
} mine = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void before_fork(void) {
    pthread_mutex_lock(&mine.lock);
}

static void in_parent(void) {
    pthread_mutex_unlock(&mine.lock);
}

static void in_child(void) {
    for (asc_board *board = mine.first; board; board = board->next) {
        close(board->file);
        board->file = -1;
    }
    pthread_mutex_unlock(&mine.lock);
}

static void watch_forks(void) {
    pthread_atfork(before_fork, in_parent, in_child);
}

static void keep(asc_board *board) {
    pthread_once(&mine.once, watch_forks);
    pthread_mutex_lock(&mine.lock);
    board->next = mine.first;
    if (board->next) board->next->before = board;
    mine.first = board;
    pthread_mutex_unlock(&mine.lock);
}

static void forget(asc_board *board) {
    pthread_mutex_lock(&mine.lock);
    if (board->next) board->next->before = board->before;
    if (board->before)
        board->before->next = board->next;
    else
        mine.first = board->next;
    pthread_mutex_unlock(&mine.lock);
}

/* ---- joining and leaving ----------------------------------------------------------------------------------------- */

static struct flock lock_of(uint32_t rank) {
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

static bool is_alive(const asc_board *board, uint32_t rank) {
    struct flock lock = lock_of(rank);
    return rank == board->rank || board->file < 0 || fcntl(board->file, F_OFD_GETLK, &lock) != 0 ||
           lock.l_type != F_UNLCK;
}

static HcclResult map(asc_board *board) {
    header head = {0};
    struct stat status;
    if (pread(board->file, &head, sizeof head, 0) != sizeof head || fstat(board->file, &status) != 0)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_SYSCALL, "the communicator's memory can't be read: %s",
                             strerror(errno));
    if (head.magic != MAGIC || head.layout != LAYOUT || !head.ranks || head.ranks > ASC_MAX_RANKS ||
        head.step_bytes > ASC_MOST_STEP_BYTES || (size_t)status.st_size != whole(head.ranks, head.step_bytes))
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_INTERNAL,
                             "the other ranks run a library of another version, whose memory isn't ours");
    board->ranks = head.ranks;
    board->step_bytes = head.step_bytes;
    board->bytes = (size_t)status.st_size;
    board->memory = mmap(NULL, board->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, board->file, 0);
    if (board->memory == MAP_FAILED)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "%zu bytes of the communicator can't be mapped: %s",
                             board->bytes, strerror(errno));
    board->of = (asc_rank_board *)(board->memory + PAGE);
    board->channels = (asc_channel_board *)(board->of + board->ranks);
    return HCCL_SUCCESS;
}

static HcclResult take_place(asc_board *board) {
    struct flock lock = lock_of(board->rank);
    if (board->rank >= board->ranks || fcntl(board->file, F_OFD_SETLK, &lock) != 0)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "the communicator of %u ranks has its rank %u already",
                             board->ranks, board->rank);
    atomic_store(&board->of[board->rank].state, ASC_RANK_JOINED);
    asc_board_ring_all(board);
    return HCCL_SUCCESS;
}

HcclResult asc_board_join(int file, uint32_t rank, asc_board **joined) {
    asc_board *board = calloc(1, sizeof *board);
    if (!board) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    /* Opened again: a lock belongs to what was opened, which a file that was handed over shares. */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *board = (asc_board){.file = open(path, O_RDWR | O_CLOEXEC), .memory = MAP_FAILED, .rank = rank};
    HcclResult code = board->file < 0
                          ? asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_OPEN_FILE_FAILURE,
                                          "the communicator's memory can't be opened (%s): %s", path, strerror(errno))
                          : map(board);
    if (code == HCCL_SUCCESS) code = take_place(board);
    if (code == HCCL_SUCCESS) {
        keep(board);
        *joined = board;
        return HCCL_SUCCESS;
    }
    if (board->memory != MAP_FAILED) munmap(board->memory, board->bytes);
    if (board->file >= 0) close(board->file);
    free(board);
    return code;
}

void asc_board_leave(asc_board *board, asc_rank_state state) {
    unsigned joined = ASC_RANK_JOINED;
    atomic_compare_exchange_strong(&board->of[board->rank].state, &joined, state);
    asc_board_ring_all(board);
}

void asc_board_close(asc_board *board) {
    forget(board);
    munmap(board->memory, board->bytes);
    if (board->file >= 0) close(board->file);
    free(board);
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

char *asc_board_step_room(const asc_board *board, uint32_t rank, uint64_t step) {
    return board->memory + rooms_at(board->ranks) + (2 * rank + (step & 1)) * board->step_bytes;
}

char *asc_board_part_room(const asc_board *board, uint32_t from, uint32_t to, uint64_t part) {
    size_t channel = (size_t)from * board->ranks + to;
    return board->memory + parts_at(board->ranks, board->step_bytes) + (2 * channel + (part & 1)) * ASC_PART_BYTES;
}

asc_channel_board *asc_board_channel(const asc_board *board, uint32_t from, uint32_t to) {
    return &board->channels[(size_t)from * board->ranks + to];
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static long futex(atomic_uint *word, int operation, unsigned value, const struct timespec *time) {
    return syscall(SYS_futex, word, operation, value, time, NULL, 0);
}

void asc_board_ring(asc_board *board, uint32_t rank) {
    asc_rank_board *of = &board->of[rank];
    atomic_fetch_add(&of->bell, 1);
    if (atomic_load(&of->sleepers)) futex(&of->bell, FUTEX_WAKE, INT32_MAX, NULL);
}

void asc_board_ring_all(asc_board *board) {
    for (uint32_t rank = 0; rank < board->ranks; rank++) asc_board_ring(board, rank);
}

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

/* Sleeps until the bell isn't `heard` any more, or it is time to see who lives. */
static void sleep_until_rung(asc_rank_board *own, unsigned heard) {
    static const struct timespec time = {.tv_nsec = LOOK_NANOSECONDS};
    atomic_fetch_add(&own->sleepers, 1);
    futex(&own->bell, FUTEX_WAIT, heard, &time);
    atomic_fetch_sub(&own->sleepers, 1);
}

/* Whether a rank won't do any more; what it is then. */
static bool is_lost(const asc_board *board, uint32_t rank, asc_rank_state *state) {
    *state = (asc_rank_state)atomic_load(&board->of[rank].state);
    if (rank == board->rank || *state == ASC_RANK_ABSENT) return false; /* it is still to come */
    if (*state == ASC_RANK_JOINED && is_alive(board, rank)) return false;
    if (*state == ASC_RANK_JOINED) *state = ASC_RANK_DIED;
    return true;
}

uint32_t asc_board_lost(const asc_board *board) {
    asc_rank_state state;
    for (uint32_t rank = 0; rank < board->ranks; rank++)
        if (is_lost(board, rank, &state)) return rank;
    return ASC_NOBODY;
}

static bool sees_loss(const asc_board *board, asc_wait *wait) {
    uint32_t who = wait->everybody ? asc_board_lost(board) : wait->who;
    if (who == ASC_NOBODY || !is_lost(board, who, &wait->state)) return false;
    /* What it did before it was lost counts. */
    if (wait->missing(wait->argument) == ASC_NOBODY) return false;
    wait->who = who;
    return true;
}

HcclResult asc_board_wait(asc_board *board, asc_wait *wait) {
    asc_rank_board *own = &board->of[board->rank];
    for (int spin = 0; spin < SPINS; spin++)
        if ((wait->who = wait->missing(wait->argument)) == ASC_NOBODY) return HCCL_SUCCESS;
    int64_t begun = now(), looked = begun;
    for (;;) {
        unsigned heard = atomic_load(&own->bell);
        if ((wait->who = wait->missing(wait->argument)) == ASC_NOBODY) return HCCL_SUCCESS;
        if (atomic_load(wait->stop)) return HCCL_E_AGAIN;
        sleep_until_rung(own, heard);
        int64_t at = now();
        if (at - looked < LOOK_NANOSECONDS) continue;
        looked = at;
        if ((wait->who = wait->missing(wait->argument)) == ASC_NOBODY) return HCCL_SUCCESS;
        if (sees_loss(board, wait)) return HCCL_E_REMOTE;
        if (wait->seconds && at - begun > (int64_t)wait->seconds * 1000000000) return HCCL_E_TIMEOUT;
    }
}
