/* hccl/hccl.h - HCCL: operations that the devices of a communicator do together. The interface of CANN, written anew
 * for programs that run on a CPU. Operations are brought to a stream, and return before they are done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HCCL_H
#define ASCEND_EP_HCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "acl/acl.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- communicators -------------------------------------------------------------------------------- */

/* Each rank calls one of these, with the device current that it is to be on; they return when all ranks have. */
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                                    HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                                          const HcclCommConfig *config, HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot,
                                                            const HcclRootInfo *rootInfoList, uint32_t rank,
                                                            uint32_t nExtRoot, const HcclCommConfig *config,
                                                            HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank,
                                                             HcclCommConfig *config, HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds,
                                                       uint64_t subCommId, uint32_t subCommRankId,
                                                       HcclCommConfig *config, HcclComm *subComm);
/* All ranks of one process: comms[i] is that of rank i, on devices[i]. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms);
ACL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);

/* Of a configuration, what isn't set comes from the environment. */
static inline void HcclCommConfigInit(HcclCommConfig *config) {
    HcclCommConfigHead head = {sizeof(HcclCommConfig), HCCL_COMM_CONFIG_MARK, 10, 0};
    if (!config) return;
    memset(config, 0, sizeof *config);
    memcpy(config->reserved, &head, sizeof head);
    config->hcclBufferSize = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclDeterministic = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclRdmaTrafficClass = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclRdmaServiceLevel = HCCL_COMM_CONFIG_NOT_SET;
    config->hcclExecTimeOut = -1;
    config->hcclQos = HCCL_COMM_CONFIG_NOT_SET;
}

ACL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);
/* commName: room for COMM_NAME_MAX_LENGTH bytes */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char *commName);
ACL_FUNC_VISIBILITY HcclResult HcclCommGetHandleWithName(const char *commName, HcclComm *comm);
ACL_FUNC_VISIBILITY HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError);
ACL_FUNC_VISIBILITY const char *HcclGetErrorString(HcclResult code);
ACL_FUNC_VISIBILITY HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue);
ACL_FUNC_VISIBILITY HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue);
ACL_FUNC_VISIBILITY uint32_t HcclGetCommConfigCapability(void);

/* Between these, a thread's calls of HcclSend and HcclRecv are gathered, and brought to their streams as batches; and
 * several ranks of one thread may join communicators, which they have once the group ends. */
ACL_FUNC_VISIBILITY HcclResult HcclGroupStart(void);
ACL_FUNC_VISIBILITY HcclResult HcclGroupEnd(void);

/* Not supported: these return HCCL_E_NOT_SUPPORT, and aclGetRecentErrMsg says why. */
ACL_FUNC_VISIBILITY HcclResult HcclCommSuspend(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommResume(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks, bool *useBackup,
                                                        uint32_t nRanks);
ACL_FUNC_VISIBILITY HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment,
                                                      uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr);
ACL_FUNC_VISIBILITY HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset,
                                                          aclrtDrvMemHandle handle, uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr);
ACL_FUNC_VISIBILITY HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeregister(HcclComm comm, void *handle);
ACL_FUNC_VISIBILITY HcclResult HcclCommExchangeMem(HcclComm comm, void *windowHandle, uint32_t *peerRanks,
                                                   uint32_t peerRankNum);
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size, void **winHandle,
                                                      uint32_t flag);
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinDeregister(void *winHandle);

/* ---- collectives: every rank calls them, in the same order, with the same counts, types and reduction ---------- */

ACL_FUNC_VISIBILITY HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                                             HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType,
                                          HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                                 HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                                 aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls,
                                                  void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                                                  HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf, const void *recvCounts,
                                              const void *recvDispls, HcclDataType dataType, HcclComm comm,
                                              aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType,
                                           uint32_t root, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount, HcclDataType sendType,
                                            const void *recvBuf, uint64_t recvCount, HcclDataType recvType,
                                            HcclComm comm, aclrtStream stream);
/* Counts and displacements are arrays of uint64_t, one of each rank, in elements. */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts, const void *sdispls,
                                             HcclDataType sendType, const void *recvBuf, const void *recvCounts,
                                             const void *rdispls, HcclDataType recvType, HcclComm comm,
                                             aclrtStream stream);
/* sendCountMatrix[i * ranks + j]: elements that rank i sends to rank j, which lie one after another. */
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix, HcclDataType sendType,
                                              const void *recvBuf, HcclDataType recvType, HcclComm comm,
                                              aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);

/* ---- between two ranks ------------------------------------------------------------------------------------- */

ACL_FUNC_VISIBILITY HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                                        HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                                        HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum, HcclComm comm,
                                                 aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif
