/* operations.c - HCCL's functions of collectives and messages: their arguments. */
#include <stdlib.h>

#include "collective.h"
#include "element.h"
#include "exchange.h"
#include "group.h"

/* Elements of one call, beyond which no address space holds them; what is added up of fewer doesn't overflow. */
#define MOST_ELEMENTS ((uint64_t)1 << 44)

static HcclResult check_type(HcclDataType type, const char *name) {
    if (asc_element_bytes(type)) return HCCL_SUCCESS;
    return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "%s is %d, no HcclDataType", name, (int)type);
}

static HcclResult check_count(uint64_t count, const char *name) {
    if (count <= MOST_ELEMENTS) return HCCL_SUCCESS;
    return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "%s is %llu, more than an address space holds", name,
                         (unsigned long long)count);
}

static HcclResult check_counts(const asc_comm *comm, const uint64_t *counts, const char *name) {
    if (!counts) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PTR, "%s must not be NULL", name);
    HcclResult code = HCCL_SUCCESS;
    for (uint32_t rank = 0; rank < comm->ranks && code == HCCL_SUCCESS; rank++) code = check_count(counts[rank], name);
    return code;
}

static HcclResult check_root(const asc_comm *comm, uint32_t root) {
    if (root < comm->ranks) return HCCL_SUCCESS;
    return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "root is %u; communicator \"%s\" has 0 to %u", root, comm->name,
                         comm->ranks - 1);
}

static HcclResult check_reduction(HcclDataType type, HcclReduceOp op) {
    if (!asc_reduction_name(op))
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "op is %d, no HcclReduceOp", (int)op);
    if (!asc_element_reduces(type))
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_NOT_SUPPORT, "elements of %s can't be reduced",
                             asc_element_name(type));
    return HCCL_SUCCESS;
}

/* The communicator, once the arguments are sound; `reduces`, when there is a reduction. */
static HcclResult begin(HcclComm handle, uint64_t count, HcclDataType type, const HcclReduceOp *reduces, uint32_t root,
                        asc_comm **comm) {
    HcclResult code = asc_comm_get_sound(handle, comm);
    if (code == HCCL_SUCCESS) code = check_type(type, "dataType");
    if (code == HCCL_SUCCESS) code = check_count(count, "count");
    if (code == HCCL_SUCCESS && reduces) code = check_reduction(type, *reduces);
    if (code == HCCL_SUCCESS) code = check_root(*comm, root);
    return code;
}

/* ---- collectives --------------------------------------------------------------------------------------------- */

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, count, dataType, &op, 0, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_collective asked = {
        .kind = ASC_ALL_REDUCE, .type = dataType, .op = op, .count = count, .in = sendBuf, .out = recvBuf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                      uint32_t root, HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, count, dataType, &op, root, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_collective asked = {
        .kind = ASC_REDUCE, .type = dataType, .op = op, .root = root, .count = count, .in = sendBuf, .out = recvBuf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, count, dataType, NULL, root, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_collective asked = {
        .kind = ASC_BROADCAST, .type = dataType, .root = root, .count = count, .in = buf, .out = buf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, sendCount, dataType, NULL, 0, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_collective asked = {
        .kind = ASC_ALL_GATHER, .type = dataType, .count = sendCount, .in = sendBuf, .out = recvBuf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                          const void *recvDispls, HcclDataType dataType, HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, sendCount, dataType, NULL, 0, &found);
    if (code == HCCL_SUCCESS) code = check_counts(found, recvCounts, "recvCounts");
    if (code == HCCL_SUCCESS) code = check_counts(found, recvDispls, "recvDispls");
    if (code != HCCL_SUCCESS) return code;
    uint64_t own = ((const uint64_t *)recvCounts)[found->rank];
    if (own != sendCount)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "sendCount is %llu, and recvCounts[%u], this rank's, %llu",
                             (unsigned long long)sendCount, found->rank, (unsigned long long)own);
    asc_collective asked = {.kind = ASC_ALL_GATHER,
                            .type = dataType,
                            .counts = recvCounts,
                            .offsets = recvDispls,
                            .in = sendBuf,
                            .out = recvBuf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, recvCount, dataType, &op, 0, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_collective asked = {
        .kind = ASC_REDUCE_SCATTER, .type = dataType, .op = op, .count = recvCount, .in = sendBuf, .out = recvBuf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, recvCount, dataType, &op, 0, &found);
    if (code == HCCL_SUCCESS) code = check_counts(found, sendCounts, "sendCounts");
    if (code == HCCL_SUCCESS) code = check_counts(found, sendDispls, "sendDispls");
    if (code != HCCL_SUCCESS) return code;
    uint64_t own = ((const uint64_t *)sendCounts)[found->rank];
    if (own != recvCount)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "recvCount is %llu, and sendCounts[%u], this rank's, %llu",
                             (unsigned long long)recvCount, found->rank, (unsigned long long)own);
    asc_collective asked = {.kind = ASC_REDUCE_SCATTER,
                            .type = dataType,
                            .op = op,
                            .counts = sendCounts,
                            .offsets = sendDispls,
                            .in = sendBuf,
                            .out = recvBuf};
    return asc_collective_push(found, &asked, stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = asc_comm_get_sound(comm, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_collective asked = {.kind = ASC_BARRIER};
    return asc_collective_push(found, &asked, stream);
}

/* ---- messages ------------------------------------------------------------------------------------------------ */

static void *at(const void *memory, uint64_t elements, size_t size) {
    return memory ? (char *)(uintptr_t)memory + elements * size : NULL;
}

HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank, HcclComm comm,
                    aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, count, dataType, NULL, 0, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_message message = {true, destRank, sendBuf, count * asc_element_bytes(dataType)};
    return asc_group_push(found, &message, stream);
}

HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank, HcclComm comm,
                    aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, count, dataType, NULL, 0, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_message message = {false, srcRank, recvBuf, count * asc_element_bytes(dataType)};
    return asc_group_push(found, &message, stream);
}

HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = asc_comm_get_sound(comm, &found);
    if (code != HCCL_SUCCESS) return code;
    ASC_HCCL_NEED(sendRecvInfo);
    if (!itemNum) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "itemNum is 0");
    asc_message *messages = malloc(itemNum * sizeof *messages);
    if (!messages) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    for (uint32_t i = 0; i < itemNum && code == HCCL_SUCCESS; i++) {
        const HcclSendRecvItem *item = &sendRecvInfo[i];
        code = check_type(item->dataType, "dataType");
        if (code == HCCL_SUCCESS) code = check_count(item->count, "count");
        if (code == HCCL_SUCCESS && item->sendRecvType != HCCL_SEND && item->sendRecvType != HCCL_RECV)
            code = asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "sendRecvType of item %u is %d, no HcclSendRecvType", i,
                                 (int)item->sendRecvType);
        messages[i] = (asc_message){item->sendRecvType == HCCL_SEND, item->remoteRank, item->buf,
                                    item->count * asc_element_bytes(item->dataType)};
    }
    if (code == HCCL_SUCCESS) code = asc_exchange_push(found, messages, itemNum, stream);
    free(messages);
    return code;
}

HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, uint32_t root,
                       HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin(comm, recvCount, dataType, NULL, root, &found);
    if (code != HCCL_SUCCESS) return code;
    asc_message messages[ASC_MAX_RANKS + 1];
    uint32_t count = 0;
    size_t size = asc_element_bytes(dataType);
    for (uint32_t rank = 0; root == found->rank && rank < found->ranks; rank++)
        messages[count++] = (asc_message){true, rank, at(sendBuf, rank * recvCount, size), recvCount * size};
    messages[count++] = (asc_message){false, root, recvBuf, recvCount * size};
    return asc_exchange_push(found, messages, count, stream);
}

/* What one rank sends each other, and gets from it: elements, and where they begin. */
typedef struct all_to_all {
    const uint64_t *send_counts, *send_offsets, *receive_counts, *receive_offsets;
    size_t send_size, receive_size;
    const void *in;
    void *out;
} all_to_all;

static HcclResult exchange_all(asc_comm *comm, const all_to_all *a, aclrtStream stream) {
    asc_message messages[2 * ASC_MAX_RANKS];
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        messages[2 * rank] = (asc_message){true, rank, at(a->in, a->send_offsets[rank], a->send_size),
                                           a->send_counts[rank] * a->send_size};
        messages[2 * rank + 1] = (asc_message){false, rank, at(a->out, a->receive_offsets[rank], a->receive_size),
                                               a->receive_counts[rank] * a->receive_size};
    }
    return asc_exchange_push(comm, messages, 2 * comm->ranks, stream);
}

static HcclResult begin_all(HcclComm handle, HcclDataType sends, HcclDataType receives, asc_comm **comm) {
    HcclResult code = asc_comm_get_sound(handle, comm);
    if (code == HCCL_SUCCESS) code = check_type(sends, "sendType");
    if (code == HCCL_SUCCESS) code = check_type(receives, "recvType");
    return code;
}

HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType, const void *recvBuf,
                        uint64_t recvCount, HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin_all(comm, sendType, recvType, &found);
    if (code == HCCL_SUCCESS) code = check_count(sendCount, "sendCount");
    if (code == HCCL_SUCCESS) code = check_count(recvCount, "recvCount");
    if (code != HCCL_SUCCESS) return code;
    uint64_t table[4][ASC_MAX_RANKS];
    for (uint32_t rank = 0; rank < found->ranks; rank++) {
        table[0][rank] = sendCount;
        table[1][rank] = rank * sendCount;
        table[2][rank] = recvCount;
        table[3][rank] = rank * recvCount;
    }
    all_to_all a = {table[0],
                    table[1],
                    table[2],
                    table[3],
                    asc_element_bytes(sendType),
                    asc_element_bytes(recvType),
                    sendBuf,
                    (void *)(uintptr_t)recvBuf};
    return exchange_all(found, &a, stream);
}

HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls, HcclDataType sendType,
                         const void *recvBuf, const void *recvCounts, const void *rdispls, HcclDataType recvType,
                         HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin_all(comm, sendType, recvType, &found);
    if (code == HCCL_SUCCESS) code = check_counts(found, sendCounts, "sendCounts");
    if (code == HCCL_SUCCESS) code = check_counts(found, sdispls, "sdispls");
    if (code == HCCL_SUCCESS) code = check_counts(found, recvCounts, "recvCounts");
    if (code == HCCL_SUCCESS) code = check_counts(found, rdispls, "rdispls");
    if (code != HCCL_SUCCESS) return code;
    all_to_all a = {sendCounts,
                    sdispls,
                    recvCounts,
                    rdispls,
                    asc_element_bytes(sendType),
                    asc_element_bytes(recvType),
                    sendBuf,
                    (void *)(uintptr_t)recvBuf};
    return exchange_all(found, &a, stream);
}

HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType, const void *recvBuf,
                          HcclDataType recvType, HcclComm comm, aclrtStream stream) {
    ASC_ENTER();
    asc_comm *found = NULL;
    HcclResult code = begin_all(comm, sendType, recvType, &found);
    if (code != HCCL_SUCCESS) return code;
    ASC_HCCL_NEED(sendCountMatrix);
    const uint64_t *matrix = sendCountMatrix;
    uint64_t table[4][ASC_MAX_RANKS], sent = 0, received = 0;
    for (uint32_t rank = 0; rank < found->ranks && code == HCCL_SUCCESS; rank++) {
        table[0][rank] = matrix[found->rank * found->ranks + rank];
        table[2][rank] = matrix[rank * found->ranks + found->rank];
        code = check_count(table[0][rank], "a count of sendCountMatrix");
        if (code == HCCL_SUCCESS) code = check_count(table[2][rank], "a count of sendCountMatrix");
        table[1][rank] = sent;
        table[3][rank] = received;
        sent += table[0][rank];
        received += table[2][rank];
    }
    if (code != HCCL_SUCCESS) return code;
    all_to_all a = {table[0],
                    table[1],
                    table[2],
                    table[3],
                    asc_element_bytes(sendType),
                    asc_element_bytes(recvType),
                    sendBuf,
                    (void *)(uintptr_t)recvBuf};
    return exchange_all(found, &a, stream);
}
