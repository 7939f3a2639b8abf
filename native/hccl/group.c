/* group.c - the messages of a group are one exchange of each communicator and stream; ranks that join in it do so
 * together. Collectives of a group go to their streams at once, which is the same. */
#include "group.h"

#include <stdlib.h>

#include "joining.h"

typedef struct grouped {
    asc_message message;
    HcclComm comm; /* NULL: it is on its way */
    aclrtStream stream;
} grouped;

static _Thread_local struct {
    uint32_t depth, count, buffer;
    grouped *messages;
} group;

HcclResult asc_group_push(asc_comm *comm, const asc_message *message, aclrtStream stream) {
    if (!group.depth) return asc_exchange_push(comm, message, 1, stream);
    if (group.count == group.buffer) {
        uint32_t buffer = group.buffer ? group.buffer * 2 : 16;
        grouped *more = realloc(group.messages, buffer * sizeof *more);
        if (!more) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
        group.messages = more;
        group.buffer = buffer;
    }
    group.messages[group.count++] = (grouped){*message, comm->handle, stream};
    return HCCL_SUCCESS;
}

/* All messages from `first` on that are of its communicator and stream. */
static HcclResult push_together(uint32_t first, asc_message *together) {
    HcclComm handle = group.messages[first].comm;
    uint32_t count = 0;
    asc_comm *comm = NULL;
    for (uint32_t i = first; i < group.count; i++) {
        if (group.messages[i].comm != handle || group.messages[i].stream != group.messages[first].stream) continue;
        together[count++] = group.messages[i].message;
        group.messages[i].comm = NULL;
    }
    HcclResult code = asc_comm_get_sound(handle, &comm);
    return code == HCCL_SUCCESS ? asc_exchange_push(comm, together, count, group.messages[first].stream) : code;
}

HcclResult HcclGroupStart(void) {
    ASC_ENTER();
    if (!group.depth++) asc_joining_defer();
    return HCCL_SUCCESS;
}

HcclResult HcclGroupEnd(void) {
    ASC_ENTER();
    if (!group.depth) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "this thread has not called HcclGroupStart");
    if (--group.depth) return HCCL_SUCCESS;
    HcclResult code = asc_joining_finish();
    if (!group.count) return code;
    asc_message *together = malloc(group.count * sizeof *together);
    if (!together && code == HCCL_SUCCESS)
        code = asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    for (uint32_t i = 0; i < group.count && code == HCCL_SUCCESS; i++)
        if (group.messages[i].comm) code = push_together(i, together);
    free(together);
    free(group.messages);
    group.messages = NULL;
    group.count = group.buffer = 0;
    return code;
}
