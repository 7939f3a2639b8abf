/* exchange.c - messages go through the parts of their channel, two of which may be on their way. */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

typedef struct message {
    asc_message asked;
    uint64_t ticket, moved; /* bytes moved so far */
    bool done;
} message;

typedef struct exchange_task {
    asc_comm_task task;
    uint32_t count;
    HcclResult code; /* of a message that isn't what was expected */
    message messages[];
} exchange_task;

static asc_lane *lane_of(const asc_comm *comm, const message *m) {
    return m->asked.sends ? &comm->sends[m->asked.peer] : &comm->receives[m->asked.peer];
}

/* ---- moving one part ----------------------------------------------------------------------------------------- */

static size_t part_bytes(const message *m) {
    uint64_t left = m->asked.bytes - m->moved;
    return left < ASC_PART_BYTES ? (size_t)left : ASC_PART_BYTES;
}

static bool send_part(const asc_comm *comm, message *m) {
    asc_channel_slot *channel = asc_segment_channel(comm->segment, comm->rank, m->asked.peer);
    uint64_t part = atomic_load(&channel->written);
    if (part - atomic_load(&channel->read) == 2) return false;
    size_t bytes = part_bytes(m);
    channel->message_bytes[part & 1] = m->asked.bytes;
    memcpy(asc_segment_part_buffer(comm->segment, comm->rank, m->asked.peer, part),
           (const char *)asc_real(m->asked.memory) + m->moved, bytes);
    m->moved += bytes;
    atomic_store(&channel->written, part + 1);
    return true;
}

static bool receive_part(exchange_task *t, message *m) {
    asc_comm *comm = t->task.comm;
    asc_channel_slot *channel = asc_segment_channel(comm->segment, m->asked.peer, comm->rank);
    uint64_t part = atomic_load(&channel->read);
    if (atomic_load(&channel->written) == part) return false;
    uint64_t sent = channel->message_bytes[part & 1];
    if (sent != m->asked.bytes) {
        t->code = asc_hccl_fail(
            ASC_EI_DIFFERENT, HCCL_E_PARA, "rank %u of communicator \"%s\" sent %llu bytes where rank %u expects %llu",
            m->asked.peer, comm->name, (unsigned long long)sent, comm->rank, (unsigned long long)m->asked.bytes);
        return false;
    }
    size_t bytes = part_bytes(m);
    memcpy((char *)asc_real(m->asked.memory) + m->moved,
           asc_segment_part_buffer(comm->segment, m->asked.peer, comm->rank, part), bytes);
    m->moved += bytes;
    atomic_store(&channel->read, part + 1);
    return true;
}

/* Moves what can be moved; whether anything was. */
static bool move(exchange_task *t, message *m) {
    asc_comm *comm = t->task.comm;
    asc_lane *lane = lane_of(comm, m);
    bool moved = false;
    if (atomic_load(&lane->finished) != m->ticket) return false;
    while (m->moved < m->asked.bytes && (m->asked.sends ? send_part(comm, m) : receive_part(t, m))) {
        asc_segment_ring(comm->segment, m->asked.peer);
        moved = true;
    }
    if (m->moved < m->asked.bytes) return moved;
    m->done = true;
    atomic_store(&lane->finished, m->ticket + 1);
    asc_segment_ring(comm->segment, comm->rank); /* for messages of other streams */
    return true;
}

/* ---- running ------------------------------------------------------------------------------------------------- */

/* The peer of a message that can't go on by itself. */
static uint32_t stuck(void *argument) {
    exchange_task *t = argument;
    for (bool moved = true; moved && !t->code;) {
        moved = false;
        for (uint32_t i = 0; i < t->count; i++)
            if (!t->messages[i].done && move(t, &t->messages[i])) moved = true;
    }
    for (uint32_t i = 0; i < t->count && !t->code; i++)
        if (!t->messages[i].done) return t->messages[i].asked.peer;
    return ASC_NOBODY;
}

static HcclResult run(asc_comm_task *task) {
    exchange_task *t = (exchange_task *)task;
    HcclResult code = asc_comm_wait(task->comm, stuck, t);
    return code == HCCL_SUCCESS && t->code ? asc_comm_break(task->comm, t->code) : code;
}

static void issue(asc_comm_task *task) {
    exchange_task *t = (exchange_task *)task;
    for (uint32_t i = 0; i < t->count; i++) t->messages[i].ticket = lane_of(task->comm, &t->messages[i])->issued++;
}

static void end(asc_comm_task *task) {
    exchange_task *t = (exchange_task *)task;
    for (uint32_t i = 0; i < t->count; i++) asc_memory_unpin(t->messages[i].asked.memory, !t->messages[i].asked.sends);
    free(t);
}

static HcclResult check(const asc_comm *comm, const asc_message *m) {
    const char *name = m->sends ? "sendBuf" : "recvBuf";
    if (m->peer >= comm->ranks)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "the other rank is %u; communicator \"%s\" has 0 to %u",
                             m->peer, comm->name, comm->ranks - 1);
    if (!m->memory) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PTR, "%s must not be NULL", name);
    return asc_memory_check(m->memory, m->bytes, ASC_PLACE_DEVICE, name) == ACL_SUCCESS ? HCCL_SUCCESS : HCCL_E_PARA;
}

HcclResult asc_exchange_push(asc_comm *comm, const asc_message *messages, uint32_t count, aclrtStream stream) {
    exchange_task *t = calloc(1, sizeof *t + count * sizeof *t->messages);
    if (!t) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    t->task = (asc_comm_task){.comm = comm, .run = run, .end = end};
    HcclResult code = HCCL_SUCCESS;
    for (uint32_t i = 0; i < count && code == HCCL_SUCCESS; i++)
        if (messages[i].bytes) {
            code = check(comm, &messages[i]);
            t->messages[t->count++].asked = messages[i];
        }
    if (code != HCCL_SUCCESS || !t->count) {
        free(t);
        return code;
    }
    for (uint32_t i = 0; i < t->count; i++)
        *(t->messages[i].asked.sends ? &t->task.given : &t->task.taken) += t->messages[i].asked.bytes;
    t->task.name = !t->task.given ? "hcom_receive_" : !t->task.taken ? "hcom_send_" : "hcom_batchSendRecv_";
    t->task.type = HCCL_DATA_TYPE_UINT8; /* bytes: messages of one task may be of several types */
    for (uint32_t i = 0; i < t->count; i++) asc_memory_pin(t->messages[i].asked.memory, !t->messages[i].asked.sends);
    return asc_comm_push(&t->task, stream, issue);
}
