/* init.c - HCCL's functions that make communicators. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "context.h"
#include "joining.h"
#include "rank_table.h"

/* What lies in HcclRootInfo. */
typedef struct root_info {
    char mark[24];
    char rendezvous[ASC_RENDEZVOUS_NAME_BYTES];
} root_info;

static const char MARK[24] = "ascend_ep root of ranks";

static HcclResult check_rank(uint32_t ranks, uint32_t rank) {
    if (!ranks || ranks > ASC_MAX_RANKS)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "nRanks is %u; it is 1 to %u", ranks, ASC_MAX_RANKS);
    if (rank >= ranks) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "rank is %u; it is 0 to %u", rank, ranks - 1);
    return HCCL_SUCCESS;
}

/* What the rank asks for, on the current device. */
static HcclResult prepare(const char *rendezvous, uint32_t ranks, uint32_t rank, const HcclCommConfig *config,
                          HcclComm *comm, asc_joining *joining) {
    ASC_HCCL_NEED(comm);
    const asc_acl_context *context = asc_current_context();
    if (!context) return HCCL_E_RUNTIME; /* with the text that no device is set */
    *joining = (asc_joining){.ranks = ranks, .rank = rank, .device = context->device, .comm = comm};
    memcpy(joining->rendezvous, rendezvous, sizeof joining->rendezvous);
    HcclResult code = check_rank(ranks, rank);
    return code == HCCL_SUCCESS ? asc_comm_options_read(config, &joining->options) : code;
}

/* Joins those who come by the same name. */
static HcclResult meet(const char *rendezvous, uint32_t ranks, uint32_t rank, const HcclCommConfig *config,
                       HcclComm *comm) {
    asc_joining joining;
    HcclResult code = prepare(rendezvous, ranks, rank, config, comm, &joining);
    return code == HCCL_SUCCESS ? asc_join(&joining) : code;
}

/* ---- by what one rank made for all -------------------------------------------------------------------------- */

static HcclResult make_root(HcclRootInfo *rootInfo) {
    ASC_HCCL_NEED(rootInfo);
    root_info made = {0};
    HcclResult code = asc_rendezvous_new_name(made.rendezvous);
    if (code != HCCL_SUCCESS) return code;
    memcpy(made.mark, MARK, sizeof made.mark);
    memset(rootInfo, 0, sizeof *rootInfo);
    memcpy(rootInfo->internal, &made, sizeof made);
    return HCCL_SUCCESS;
}

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo) {
    ASC_ENTER();
    return make_root(rootInfo);
}

HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo) {
    ASC_ENTER();
    return make_root(rootInfo);
}

static HcclResult meet_by_root(uint32_t ranks, const HcclRootInfo *rootInfo, uint32_t rank,
                               const HcclCommConfig *config, HcclComm *comm) {
    ASC_HCCL_NEED(rootInfo);
    root_info given;
    memcpy(&given, rootInfo->internal, sizeof given);
    if (memcmp(given.mark, MARK, sizeof given.mark) != 0 || given.rendezvous[sizeof given.rendezvous - 1])
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA,
                             "rootInfo isn't what HcclGetRootInfo made; send all its %u bytes to each rank",
                             (unsigned)sizeof *rootInfo);
    return meet(given.rendezvous, ranks, rank, config, comm);
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm) {
    ASC_ENTER();
    return meet_by_root(nRanks, rootInfo, rank, NULL, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm) {
    ASC_ENTER();
    ASC_HCCL_NEED(config);
    return meet_by_root(nRanks, rootInfo, rank, config, comm);
}

HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot, const HcclRootInfo *rootInfoList,
                                        uint32_t rank, uint32_t nExtRoot, const HcclCommConfig *config,
                                        HcclComm *comm) {
    ASC_ENTER();
    if (!nRoot || nRoot > nRanks)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "nRoot is %u; it is 1 to nRanks (%u)", nRoot, nRanks);
    if (nExtRoot) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "nExtRoot is %u; it must be 0", nExtRoot);
    return meet_by_root(nRanks, rootInfoList, rank, config, comm); /* on one host the first root suffices for all */
}

/* ---- by a rank table ---------------------------------------------------------------------------------------- */

static HcclResult meet_by_table(const char *path, uint32_t rank, const HcclCommConfig *config, HcclComm *comm) {
    ASC_HCCL_NEED(path);
    asc_rank_table table;
    char rendezvous[ASC_RENDEZVOUS_NAME_BYTES];
    HcclResult code = asc_rank_table_read(path, &table);
    if (code != HCCL_SUCCESS) return code;
    asc_rendezvous_name_of(&table, sizeof table, rendezvous);
    return meet(rendezvous, table.ranks, rank, config, comm);
}

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm) {
    ASC_ENTER();
    return meet_by_table(clusterInfo, rank, NULL, comm);
}

HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config,
                                         HcclComm *comm) {
    ASC_ENTER();
    ASC_HCCL_NEED(config);
    return meet_by_table(clusterInfo, rank, config, comm);
}

/* ---- of another communicator's ranks ------------------------------------------------------------------------ */

#define NO_SUB_COMMUNICATOR 0xFFFFFFFFu

static HcclResult check_sub(const asc_comm *comm, uint32_t count, const uint32_t *ranks, uint32_t own) {
    HcclResult code = check_rank(count, own);
    if (code != HCCL_SUCCESS) return code;
    for (uint32_t i = 0; i < count; i++) {
        if (ranks[i] >= comm->ranks)
            return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "rankIds[%u] is %u; communicator \"%s\" has 0 to %u", i,
                                 ranks[i], comm->name, comm->ranks - 1);
        for (uint32_t j = 0; j < i; j++)
            if (ranks[i] == ranks[j])
                return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "rankIds has rank %u twice", ranks[i]);
    }
    if (ranks[own] != comm->rank)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "rankIds[subCommRankId] is %u, and this rank is %u",
                             ranks[own], comm->rank);
    return HCCL_SUCCESS;
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm) {
    ASC_ENTER();
    ASC_HCCL_NEED(comm);
    asc_comm *found = NULL;
    HcclResult code = asc_comm_get_sound(*comm, &found);
    if (code != HCCL_SUCCESS) return code;
    if (!rankIds && subCommId == NO_SUB_COMMUNICATOR) return HCCL_SUCCESS; /* this rank isn't in it */
    ASC_HCCL_NEED(rankIds);
    ASC_HCCL_NEED(config);
    code = check_sub(found, rankNum, rankIds, subCommRankId);
    if (code != HCCL_SUCCESS) return code;
    char text[COMM_NAME_MAX_LENGTH + 32];
    struct {
        char parent[COMM_NAME_MAX_LENGTH];
        uint64_t id;
        uint32_t ranks[ASC_MAX_RANKS];
    } key = {.id = subCommId};
    char rendezvous[ASC_RENDEZVOUS_NAME_BYTES];
    memcpy(key.parent, found->name, sizeof key.parent);
    memcpy(key.ranks, rankIds, rankNum * sizeof *rankIds);
    asc_rendezvous_name_of(&key, sizeof key, rendezvous);
    asc_joining joining;
    code = prepare(rendezvous, rankNum, subCommRankId, config, subComm, &joining);
    if (code != HCCL_SUCCESS) return code;
    snprintf(text, sizeof text, "%s_sub_%llu", found->name, (unsigned long long)subCommId);
    if (!joining.options.name[0]) snprintf(joining.options.name, sizeof joining.options.name, "%.127s", text);
    return asc_join(&joining);
}

/* ---- of one process ----------------------------------------------------------------------------------------- */

static HcclResult check_devices(uint32_t count, const int32_t *devices) {
    for (uint32_t i = 0; i < count; i++) {
        if (asc_device_check(devices[i]) != ACL_SUCCESS) return HCCL_E_PARA;
        for (uint32_t j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "devices has device %d twice", devices[i]);
    }
    return HCCL_SUCCESS;
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms) {
    ASC_ENTER();
    ASC_HCCL_NEED(devices);
    ASC_HCCL_NEED(comms);
    asc_comm_options options;
    char rendezvous[ASC_RENDEZVOUS_NAME_BYTES];
    HcclResult code = check_rank(ndev, 0);
    if (code == HCCL_SUCCESS) code = check_devices(ndev, devices);
    if (code == HCCL_SUCCESS) code = asc_comm_options_read(NULL, &options);
    if (code == HCCL_SUCCESS) code = asc_rendezvous_new_name(rendezvous);
    if (code != HCCL_SUCCESS) return code;
    int file = asc_segment_file(ndev, options.step_bytes);
    if (file < 0)
        return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "no memory for %u ranks: %s", ndev, strerror(errno));
    uint32_t made = 0;
    for (; made < ndev && code == HCCL_SUCCESS; made++) {
        asc_segment *segment = NULL;
        code = asc_segment_join(file, made, &segment);
        if (code == HCCL_SUCCESS) code = asc_comm_new(segment, devices[made], rendezvous, &options, &comms[made]);
    }
    close(file);
    while (code != HCCL_SUCCESS && made-- > 1) HcclCommDestroy(comms[made - 1]);
    return code;
}
