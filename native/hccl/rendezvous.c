/* rendezvous.c - rank 0 listens and hands out the file of the segment, others ask for it. The socket's name isn't in a
 * file system, and ends with the socket. */
#include "rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "environment.h"
#include "failure.h"

#define TEXT_BYTES 256
#define POLL_MILLISECONDS 20

typedef struct request {
    uint32_t ranks, rank;
} request;

typedef struct reply {
    int32_t code;
    char text[TEXT_BYTES];
} reply;

HcclResult asc_rendezvous_new_name(char name[ASC_RENDEZVOUS_NAME_BYTES]) {
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return asc_hccl_fail(ASC_EI_OTHER, HCCL_E_SYSCALL, "the system gives no random numbers: %s", strerror(errno));
    snprintf(name, ASC_RENDEZVOUS_NAME_BYTES, "%016llx%016llx", (unsigned long long)random[0],
             (unsigned long long)random[1]);
    return HCCL_SUCCESS;
}

/* FNV-1a, from two beginnings. */
void asc_rendezvous_name_of(const void *bytes, size_t count, char name[ASC_RENDEZVOUS_NAME_BYTES]) {
    uint64_t hash[2] = {0xCBF29CE484222325u, 0x9E3779B97F4A7C15u};
    for (int half = 0; half < 2; half++)
        for (size_t i = 0; i < count; i++)
            hash[half] = (hash[half] ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
    snprintf(name, ASC_RENDEZVOUS_NAME_BYTES, "%016llx%016llx", (unsigned long long)hash[0],
             (unsigned long long)hash[1]);
}

static socklen_t address_of(const char *name, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "ascend_ep.hccl.%u.%s", (unsigned)getuid(), name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool is_own_user(int connection) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == getuid();
}

static void limit_waiting(int connection) {
    struct timeval second = {.tv_sec = 1};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
}

/* ---- the time that is left --------------------------------------------------------------------------------- */

static int64_t now_milliseconds(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static HcclResult too_late(uint32_t ranks, uint32_t missing) {
    return asc_hccl_fail(
        ASC_EI_CONNECTION_TIMEOUT, HCCL_E_TIMEOUT,
        "rank %u of %u has not come within HCCL_CONNECT_TIMEOUT (%d s); start it, or look why it failed", missing,
        ranks, asc_hccl_get_environment()->connect_seconds);
}

static uint32_t absent(void *argument) {
    const asc_segment *segment = argument;
    for (uint32_t rank = 0; rank < segment->ranks; rank++)
        if (atomic_load(&segment->of[rank].state) == ASC_RANK_ABSENT) return rank;
    return ASC_NOBODY;
}

static HcclResult gone(uint32_t rank) {
    return asc_hccl_fail(ASC_EI_CONNECTION_TIMEOUT, HCCL_E_REMOTE,
                         "rank %u ended, or gave up, before all ranks had come; look why it failed", rank);
}

/* ---- rank 0 ------------------------------------------------------------------------------------------------ */

static HcclResult listen_at(const char *name, int64_t deadline, int *listener) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    *listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*listener < 0)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_SYSCALL, "no socket can be made: %s", strerror(errno));
    while (bind(*listener, (struct sockaddr *)&address, size) != 0) {
        bool late = now_milliseconds() > deadline;
        if (errno != EADDRINUSE || late)
            return asc_hccl_fail(ASC_EI_RESOURCE, late ? HCCL_E_TIMEOUT : HCCL_E_SYSCALL,
                                 "another process is rank 0 of this communicator already (%s)", strerror(errno));
        poll(NULL, 0, POLL_MILLISECONDS);
    }
    if (listen(*listener, ASC_MAX_RANKS) != 0)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_SYSCALL, "the socket doesn't listen: %s", strerror(errno));
    return HCCL_SUCCESS;
}

static void check(const asc_segment *segment, const request *asked, reply *answer) {
    if (asked->ranks != segment->ranks)
        snprintf(answer->text, TEXT_BYTES, "nRanks is %u in rank %u, and %u in rank 0", asked->ranks, asked->rank,
                 segment->ranks);
    else if (asked->rank >= segment->ranks)
        snprintf(answer->text, TEXT_BYTES, "rank is %u; it is 0 to %u", asked->rank, segment->ranks - 1);
    else if (atomic_load(&segment->of[asked->rank].state) != ASC_RANK_ABSENT)
        snprintf(answer->text, TEXT_BYTES, "the communicator of %u ranks has its rank %u already", segment->ranks,
                 asked->rank);
    answer->code = answer->text[0] ? HCCL_E_PARA : HCCL_SUCCESS;
}

static void hand_out(int connection, const reply *answer, int file) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec part = {(void *)(uintptr_t)answer, sizeof *answer};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (answer->code == HCCL_SUCCESS) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    /* One that is gone meanwhile is missed when it is waited for. */
    if (sendmsg(connection, &message, MSG_NOSIGNAL) < 0) return;
}

/* Answers one that asks. When all are there, it asks for another communicator of the same name, and is to ask again. */
static void serve(int listener, const asc_segment *segment) {
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0) return;
    request asked;
    reply answer = {0};
    limit_waiting(connection);
    if (is_own_user(connection) && recv(connection, &asked, sizeof asked, MSG_WAITALL) == sizeof asked &&
        absent((void *)(uintptr_t)segment) != ASC_NOBODY) {
        check(segment, &asked, &answer);
        hand_out(connection, &answer, segment->file);
    }
    close(connection);
}

static HcclResult gather(int listener, const asc_segment *segment, int64_t deadline) {
    uint32_t missing;
    while ((missing = absent((void *)(uintptr_t)segment)) != ASC_NOBODY) {
        uint32_t who = asc_segment_lost(segment);
        if (who != ASC_NOBODY) return gone(who);
        if (now_milliseconds() > deadline) return too_late(segment->ranks, missing);
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (poll(&ready, 1, POLL_MILLISECONDS) > 0) serve(listener, segment);
    }
    return HCCL_SUCCESS;
}

static HcclResult lead(const char *name, uint32_t ranks, size_t step_bytes, int64_t deadline, asc_segment **joined) {
    int listener = -1, file = asc_segment_file(ranks, step_bytes);
    HcclResult code =
        file < 0 ? asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "no memory for %u ranks: %s", ranks, strerror(errno))
                 : asc_segment_join(file, 0, joined);
    if (code == HCCL_SUCCESS) {
        code = listen_at(name, deadline, &listener);
        if (code == HCCL_SUCCESS) code = gather(listener, *joined, deadline);
        if (code != HCCL_SUCCESS) {
            asc_segment_leave(*joined, ASC_RANK_FAILED);
            asc_segment_close(*joined);
        }
    }
    if (listener >= 0) close(listener);
    if (file >= 0) close(file);
    return code;
}

/* ---- the others -------------------------------------------------------------------------------------------- */

/* The file, or -1: the connection ended without one. `answer` is then what it says, if its code isn't 0. */
static int receive(int connection, reply *answer) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {answer, sizeof *answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    int file = -1;
    if (recvmsg(connection, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC) != sizeof *answer) return -1;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy(&file, CMSG_DATA(head), sizeof file);
    return file;
}

static int ask_once(const char *name, const request *asked, reply *answer) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int file = -1, connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0) return -1;
    limit_waiting(connection);
    if (connect(connection, (struct sockaddr *)&address, size) == 0 && is_own_user(connection) &&
        send(connection, asked, sizeof *asked, MSG_NOSIGNAL) == sizeof *asked)
        file = receive(connection, answer);
    close(connection);
    return file;
}

static HcclResult wait_for_all(asc_segment *segment, int64_t deadline) {
    atomic_int never = 0;
    int64_t left = (deadline - now_milliseconds()) / 1000;
    asc_wait wait = {.missing = absent,
                     .argument = segment,
                     .seconds = left > 0 ? (int32_t)left : 1,
                     .stop = &never,
                     .everybody = true};
    HcclResult code = asc_segment_wait(segment, &wait);
    if (code == HCCL_E_REMOTE) return gone(wait.who);
    return code == HCCL_SUCCESS ? code : too_late(segment->ranks, wait.who);
}

static HcclResult follow(const char *name, uint32_t ranks, uint32_t rank, int64_t deadline, asc_segment **joined) {
    request asked = {ranks, rank};
    reply answer = {0};
    int file;
    while ((file = ask_once(name, &asked, &answer)) < 0) {
        if (answer.code) return asc_hccl_fail(ASC_EI_ARGUMENT, answer.code, "%.*s", TEXT_BYTES, answer.text);
        if (now_milliseconds() > deadline) return too_late(ranks, 0);
        poll(NULL, 0, POLL_MILLISECONDS / 4);
    }
    HcclResult code = asc_segment_join(file, rank, joined);
    close(file);
    if (code != HCCL_SUCCESS) return code;
    code = wait_for_all(*joined, deadline);
    if (code == HCCL_SUCCESS) return code;
    asc_segment_leave(*joined, ASC_RANK_FAILED);
    asc_segment_close(*joined);
    return code;
}

HcclResult asc_meet(const char *name, uint32_t ranks, uint32_t rank, size_t step_bytes, asc_segment **joined) {
    int64_t deadline = now_milliseconds() + (int64_t)asc_hccl_get_environment()->connect_seconds * 1000;
    return rank ? follow(name, ranks, rank, deadline, joined) : lead(name, ranks, step_bytes, deadline, joined);
}
