/* unsupported.c - functions of HCCL that mean something on cards alone. */
#include "comm.h"

static HcclResult unsupported(const char *why) {
    return asc_hccl_fail(ASC_EI_OTHER, HCCL_E_NOT_SUPPORT, "%s", why);
}

#define NO_RESUME "ranks are processes of one host: there is no link to suspend, or to resume"
#define NO_WINDOW "data goes through memory that the communicator has by itself; it takes no memory of programs"

HcclResult HcclCommSuspend(HcclComm comm) {
    ASC_ENTER();
    (void)comm;
    return unsupported(NO_RESUME);
}

HcclResult HcclCommResume(HcclComm comm) {
    ASC_ENTER();
    (void)comm;
    return unsupported(NO_RESUME);
}

HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t *ranks, bool *useBackup, uint32_t nRanks) {
    ASC_ENTER();
    (void)comm, (void)ranks, (void)useBackup, (void)nRanks;
    return unsupported("simulated devices have no network interfaces");
}

HcclResult HcclCommSetMemoryRange(HcclComm comm, void *baseVirPtr, size_t size, size_t alignment, uint64_t flags) {
    ASC_ENTER();
    (void)comm, (void)baseVirPtr, (void)size, (void)alignment, (void)flags;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void *baseVirPtr) {
    ASC_ENTER();
    (void)comm, (void)baseVirPtr;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommActivateCommMemory(HcclComm comm, void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                      uint64_t flags) {
    ASC_ENTER();
    (void)comm, (void)virPtr, (void)size, (void)offset, (void)handle, (void)flags;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void *virPtr) {
    ASC_ENTER();
    (void)comm, (void)virPtr;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommRegister(HcclComm comm, void *addr, uint64_t size, void **handle, uint32_t flag) {
    ASC_ENTER();
    (void)comm, (void)addr, (void)size, (void)handle, (void)flag;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommDeregister(HcclComm comm, void *handle) {
    ASC_ENTER();
    (void)comm, (void)handle;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommExchangeMem(HcclComm comm, void *windowHandle, uint32_t *peerRanks, uint32_t peerRankNum) {
    ASC_ENTER();
    (void)comm, (void)windowHandle, (void)peerRanks, (void)peerRankNum;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommSymWinRegister(HcclComm comm, void *addr, uint64_t size, void **winHandle, uint32_t flag) {
    ASC_ENTER();
    (void)comm, (void)addr, (void)size, (void)winHandle, (void)flag;
    return unsupported(NO_WINDOW);
}

HcclResult HcclCommSymWinDeregister(void *winHandle) {
    ASC_ENTER();
    (void)winHandle;
    return unsupported(NO_WINDOW);
}
