// Every device of one process, a thread each: communicators by HcclCommInitAll, a root info or a rank table; and all
// in one thread, in a group.
// usage: hccl_threads all|root|config|table|sub|group RANKS [FILE]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hccl/hccl.h"
#include "hccl/hccl_types.h"

#define CHECK(call)                                               \
    do {                                                          \
        int code = static_cast<int>(call);                        \
        if (code != 0) {                                          \
            const char *text = aclGetRecentErrMsg();              \
            printf("%s: %d %s\n", #call, code, text ? text : ""); \
            exit(1);                                              \
        }                                                         \
    } while (0)

static const uint64_t COUNT = 1003;

static void sum(HcclComm comm, float wanted) {
    aclrtStream stream;
    void *send = nullptr, *receive = nullptr;
    std::vector<float> host(COUNT);
    uint32_t rank = 0;
    CHECK(HcclGetRankId(comm, &rank));
    CHECK(aclrtCreateStream(&stream));
    CHECK(aclrtMalloc(&send, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&receive, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    for (uint64_t i = 0; i < COUNT; i++) host[i] = static_cast<float>(rank + 1);
    size_t bytes = COUNT * sizeof(float);
    CHECK(aclrtMemcpy(send, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(HcclAllReduce(send, receive, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(host.data(), bytes, receive, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    for (uint64_t i = 0; i < COUNT; i++)
        if (host[i] != wanted) {
            printf("rank %u: element %d is %g, not %g\n", rank, static_cast<int>(i), host[i], wanted);
            exit(1);
        }
    CHECK(aclrtFree(send));
    CHECK(aclrtFree(receive));
    CHECK(aclrtDestroyStream(stream));
}

// In one thread, rank after rank: what each sends is only brought to its stream when the group ends.
static void ring(std::vector<HcclComm> &comms) {
    uint32_t ranks = static_cast<uint32_t>(comms.size());
    std::vector<aclrtStream> streams(ranks);
    std::vector<void *> memory(ranks);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int values[2] = {static_cast<int>(rank), -1};
        CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
        CHECK(aclrtCreateStream(&streams[rank]));
        CHECK(aclrtMalloc(&memory[rank], sizeof values, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(aclrtMemcpy(memory[rank], sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE));
        CHECK(HcclGroupStart());
        CHECK(HcclRecv(static_cast<int *>(memory[rank]) + 1, 1, HCCL_DATA_TYPE_INT32, (rank + ranks - 1) % ranks,
                       comms[rank], streams[rank]));
        CHECK(HcclSend(memory[rank], 1, HCCL_DATA_TYPE_INT32, (rank + 1) % ranks, comms[rank], streams[rank]));
        CHECK(HcclGroupEnd());
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int values[2];
        CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
        CHECK(aclrtSynchronizeStream(streams[rank]));
        CHECK(aclrtMemcpy(values, sizeof values, memory[rank], sizeof values, ACL_MEMCPY_DEVICE_TO_HOST));
        if (values[1] != static_cast<int>((rank + ranks - 1) % ranks))
            exit(printf("rank %u got %d\n", rank, values[1]));
        CHECK(aclrtFree(memory[rank]));
        CHECK(HcclCommDestroy(comms[rank]));
    }
}

static HcclComm make(const std::string &way, uint32_t ranks, uint32_t rank, const HcclRootInfo &root,
                     const char *file) {
    HcclComm comm = nullptr;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 1;
    config.hcclDeterministic = 1;
    strcpy(config.hcclCommName, "comm_1");
    if (way == "table") CHECK(HcclCommInitClusterInfo(file, rank, &comm));
    if (way == "config") CHECK(HcclCommInitRootInfoConfig(ranks, &root, rank, &config, &comm));
    if (way == "root" || way == "sub") CHECK(HcclCommInitRootInfo(ranks, &root, rank, &comm));
    return comm;
}

// Of ranks 0, 2, ... a communicator of their own; the others say that they aren't in it.
static void even_ranks(HcclComm comm, uint32_t ranks, uint32_t rank) {
    std::vector<uint32_t> members;
    HcclComm sub = nullptr;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    for (uint32_t r = 0; r < ranks; r += 2) members.push_back(r);
    uint32_t count = static_cast<uint32_t>(members.size());
    if (rank % 2) {
        CHECK(HcclCreateSubCommConfig(&comm, count, nullptr, 0xFFFFFFFF, 0, &config, &sub));
        return;
    }
    CHECK(HcclCreateSubCommConfig(&comm, count, members.data(), 7, rank / 2, &config, &sub));
    char name[128], parent[128];
    CHECK(HcclGetCommName(comm, parent));
    CHECK(HcclGetCommName(sub, name));
    if (std::string(name) != std::string(parent) + "_sub_7") exit(printf("its name is %s\n", name));
    sum(sub, static_cast<float>(count * (count + 1)) / 2);
    CHECK(HcclCommDestroy(sub));
}

static void run(const std::string &way, uint32_t ranks, uint32_t rank, HcclComm comm, const HcclRootInfo &root,
                const char *file) {
    CHECK(aclrtSetDevice(static_cast<int32_t>(rank)));
    if (way != "all") comm = make(way, ranks, rank, root, file);
    uint32_t size = 0;
    char name[128];
    CHECK(HcclGetRankSize(comm, &size));
    CHECK(HcclGetCommName(comm, name));
    if (size != ranks || (way == "config" && strcmp(name, "comm_1") != 0)) exit(printf("%u ranks, %s\n", size, name));
    sum(comm, static_cast<float>(ranks * (ranks + 1)) / 2);
    if (way == "sub") even_ranks(comm, ranks, rank);
    CHECK(HcclCommDestroy(comm));
    CHECK(aclrtResetDevice(static_cast<int32_t>(rank)));
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    std::string way = argv[1];
    uint32_t ranks = static_cast<uint32_t>(atoi(argv[2]));
    const char *file = argc > 3 ? argv[3] : nullptr;
    HcclRootInfo root;
    std::vector<HcclComm> comms(ranks);
    std::vector<std::thread> threads;
    std::vector<int32_t> devices;
    for (uint32_t rank = 0; rank < ranks; rank++) devices.push_back(static_cast<int32_t>(rank));
    CHECK(aclInit(nullptr));
    CHECK(HcclGetRootInfo(&root));
    if (way == "all") CHECK(HcclCommInitAll(ranks, devices.data(), comms.data()));
    if (way == "group") {
        CHECK(HcclGroupStart());
        for (uint32_t rank = 0; rank < ranks; rank++) {
            CHECK(aclrtSetDevice(devices[rank]));
            CHECK(HcclCommInitRootInfo(ranks, &root, rank, &comms[rank]));
        }
        CHECK(HcclGroupEnd());
    }
    if (way == "group")
        ring(comms);
    else
        for (uint32_t rank = 0; rank < ranks; rank++)
            threads.emplace_back(run, way, ranks, rank, comms[rank], root, file);
    for (auto &thread : threads) thread.join();
    CHECK(aclFinalize());
    printf("done\n");
    return 0;
}
