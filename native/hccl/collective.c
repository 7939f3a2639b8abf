/* collective.c - the steps of collectives. */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "memory.h"

typedef struct collective_task {
    asc_comm_task task;
    asc_collective asked;
    uint64_t ticket;
    size_t size;       /* bytes of an element */
    uint64_t per_step; /* elements; of parts: of each rank's */
    uint64_t longest;  /* elements that steps go through */
    uint64_t in_elements, out_elements;
    uint64_t parts[]; /* of kinds of parts: elements of each rank, then where they begin */
} collective_task;

static bool has_parts(asc_collective_kind kind) {
    return kind == ASC_ALL_GATHER || kind == ASC_REDUCE_SCATTER;
}

static bool reduces(asc_collective_kind kind) {
    return kind == ASC_ALL_REDUCE || kind == ASC_REDUCE || kind == ASC_REDUCE_SCATTER;
}

/* ---- what a rank does in a step ------------------------------------------------------------------------------- */

/* A step's share of a range: `first` elements are behind, `count` are its own. */
typedef struct share {
    uint64_t first, count;
} share;

static share of_step(const collective_task *t, uint64_t elements, uint64_t step) {
    uint64_t first = step * t->per_step;
    if (first >= elements) return (share){elements, 0};
    return (share){first, elements - first < t->per_step ? elements - first : t->per_step};
}

/* The part of `count` elements that a rank reduces for all. */
static share of_rank(const asc_comm *comm, uint64_t count, uint32_t rank) {
    uint64_t first = count * rank / comm->ranks;
    return (share){first, count * (rank + 1) / comm->ranks - first};
}

static const uint64_t *counts(const collective_task *t) {
    return t->parts;
}

static const uint64_t *offsets(const collective_task *t) {
    return t->parts + t->task.comm->ranks;
}

static const char *input(const collective_task *t) {
    return asc_real(t->asked.in);
}

static char *output(const collective_task *t) {
    return asc_real(t->asked.out);
}

static char *buffer(const collective_task *t, uint32_t rank) {
    return asc_segment_step_buffer(t->task.comm->segment, rank, t->task.comm->steps);
}

static void fill(const collective_task *t, uint64_t step) {
    const asc_comm *comm = t->task.comm;
    const asc_collective *asked = &t->asked;
    char *own = buffer(t, comm->rank);
    if (asked->kind == ASC_BARRIER || (asked->kind == ASC_BROADCAST && asked->root != comm->rank)) return;
    if (asked->kind == ASC_REDUCE_SCATTER) { /* for each rank its part, at equal distances */
        for (uint32_t rank = 0; rank < comm->ranks; rank++) {
            share s = of_step(t, counts(t)[rank], step);
            memcpy(own + rank * t->per_step * t->size, input(t) + (offsets(t)[rank] + s.first) * t->size,
                   s.count * t->size);
        }
        return;
    }
    share s = of_step(t, asked->kind == ASC_ALL_GATHER ? counts(t)[comm->rank] : asked->count, step);
    if (s.count) memcpy(own, input(t) + s.first * t->size, s.count * t->size);
}

static void reduce_share(const collective_task *t, char *out, uint64_t first, uint64_t count) {
    const asc_comm *comm = t->task.comm;
    const void *parts[ASC_MAX_RANKS];
    for (uint32_t rank = 0; rank < comm->ranks; rank++) parts[rank] = buffer(t, rank) + first * t->size;
    asc_reduce(out, parts, comm->ranks, count, t->asked.type, t->asked.op);
}

/* Of what all are to read, this rank's part, in its own buffer; no other rank reads that before. */
static void reduce(const collective_task *t, uint64_t step) {
    const asc_comm *comm = t->task.comm;
    share own = of_rank(comm, of_step(t, t->asked.count, step).count, comm->rank);
    reduce_share(t, buffer(t, comm->rank) + own.first * t->size, own.first, own.count);
}

static void drain_reduced(const collective_task *t, uint64_t step) {
    const asc_comm *comm = t->task.comm;
    share s = of_step(t, t->asked.count, step);
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        share of = of_rank(comm, s.count, rank);
        memcpy(output(t) + (s.first + of.first) * t->size, buffer(t, rank) + of.first * t->size, of.count * t->size);
    }
}

static void drain(const collective_task *t, uint64_t step) {
    const asc_comm *comm = t->task.comm;
    share s;
    switch (t->asked.kind) {
        case ASC_REDUCE:
            if (t->asked.root == comm->rank) drain_reduced(t, step);
            break;
        case ASC_ALL_REDUCE: drain_reduced(t, step); break;
        case ASC_BROADCAST:
            s = of_step(t, t->asked.count, step);
            if (t->asked.root != comm->rank)
                memcpy(output(t) + s.first * t->size, buffer(t, t->asked.root), s.count * t->size);
            break;
        case ASC_ALL_GATHER:
            for (uint32_t rank = 0; rank < comm->ranks; rank++) {
                s = of_step(t, counts(t)[rank], step);
                memcpy(output(t) + (offsets(t)[rank] + s.first) * t->size, buffer(t, rank), s.count * t->size);
            }
            break;
        case ASC_REDUCE_SCATTER:
            s = of_step(t, counts(t)[comm->rank], step);
            reduce_share(t, output(t) + s.first * t->size, comm->rank * t->per_step, s.count);
            break;
        case ASC_BARRIER: break;
    }
}

/* ---- waiting for the others ------------------------------------------------------------------------------------ */

/* A rank that has not come so far in one of its counts of steps. */
typedef struct progress {
    asc_segment *segment;
    size_t member; /* of asc_rank_slot */
    uint64_t least;
} progress;

static uint32_t behind(void *argument) {
    const progress *p = argument;
    for (uint32_t rank = 0; rank < p->segment->ranks; rank++) {
        const char *of = (const char *)&p->segment->of[rank];
        if (atomic_load((atomic_uint_fast64_t *)(uintptr_t)(of + p->member)) < p->least) return rank;
    }
    return ASC_NOBODY;
}

static HcclResult wait_for(asc_comm *comm, size_t member, uint64_t least) {
    progress p = {comm->segment, member, least};
    return asc_comm_wait(comm, behind, &p);
}

static void publish(asc_comm *comm, size_t member, uint64_t done) {
    char *own = (char *)&comm->segment->of[comm->rank];
    atomic_store((atomic_uint_fast64_t *)(own + member), done);
    asc_segment_ring_all(comm->segment);
}

#define FILLED offsetof(asc_rank_slot, filled)
#define REDUCED offsetof(asc_rank_slot, reduced)
#define DRAINED offsetof(asc_rank_slot, drained)

/* ---- whether all ranks call the same ------------------------------------------------------------------------------
 */

static uint64_t count_key(const collective_task *t) {
    if (!has_parts(t->asked.kind)) return t->asked.count;
    uint64_t hash = 0xCBF29CE484222325u;
    for (uint32_t rank = 0; rank < t->task.comm->ranks; rank++) hash = (hash ^ counts(t)[rank]) * 0x100000001B3u;
    return hash;
}

static asc_collective_key key_of(const collective_task *t) {
    const asc_collective *a = &t->asked;
    return (asc_collective_key){a->kind, a->type, reduces(a->kind) ? a->op : 0, a->root, count_key(t)};
}

static const char *kind_name(uint32_t kind) {
    static const char *const names[] = {"nothing",   "AllReduce",     "Reduce", "Broadcast",
                                        "AllGather", "ReduceScatter", "Barrier"};
    return kind < sizeof names / sizeof *names ? names[kind] : "nothing";
}

static HcclResult compare(const collective_task *t) {
    asc_comm *comm = t->task.comm;
    asc_collective_key own = key_of(t);
    for (uint32_t rank = 0; rank < comm->ranks; rank++) {
        asc_collective_key other = comm->segment->of[rank].keys[comm->steps & 1];
        const char *what = other.kind != own.kind     ? "operations"
                           : other.type != own.type   ? "types"
                           : other.op != own.op       ? "reductions"
                           : other.root != own.root   ? "roots"
                           : other.count != own.count ? "counts"
                                                      : NULL;
        if (!what) continue;
        return asc_comm_break(
            comm, asc_hccl_fail(ASC_EI_DIFFERENT, HCCL_E_PARA,
                                "rank %u and rank %u of communicator \"%s\" called operations that differ in their %s: "
                                "%s of %s, root %u, and %s of %s, root %u",
                                rank, comm->rank, comm->name, what, kind_name(other.kind),
                                asc_element_name((HcclDataType)other.type), other.root, kind_name(own.kind),
                                asc_element_name((HcclDataType)own.type), own.root));
    }
    return HCCL_SUCCESS;
}

/* ---- running ------------------------------------------------------------------------------------------------- */

static HcclResult run_step(const collective_task *t, uint64_t step) {
    asc_comm *comm = t->task.comm;
    uint64_t done = comm->steps + 1;
    /* The buffer was used two steps ago. */
    HcclResult code = done > 2 ? wait_for(comm, DRAINED, done - 2) : HCCL_SUCCESS;
    if (code != HCCL_SUCCESS) return code;
    if (!step) comm->segment->of[comm->rank].keys[comm->steps & 1] = key_of(t);
    fill(t, step);
    publish(comm, FILLED, done);
    code = wait_for(comm, FILLED, done);
    if (code == HCCL_SUCCESS && !step) code = compare(t);
    if (code != HCCL_SUCCESS) return code;
    if (t->asked.kind == ASC_ALL_REDUCE || t->asked.kind == ASC_REDUCE) {
        reduce(t, step);
        publish(comm, REDUCED, done);
        code = wait_for(comm, REDUCED, done);
        if (code != HCCL_SUCCESS) return code;
    } else
        atomic_store(&comm->segment->of[comm->rank].reduced, done);
    drain(t, step);
    publish(comm, DRAINED, done);
    comm->steps = done;
    return HCCL_SUCCESS;
}

static uint32_t before_turn(void *argument) {
    const collective_task *t = argument;
    return atomic_load(&t->task.comm->collectives.finished) < t->ticket ? t->task.comm->rank : ASC_NOBODY;
}

static HcclResult run(asc_comm_task *task) {
    collective_task *t = (collective_task *)task;
    asc_comm *comm = task->comm;
    HcclResult code = asc_comm_wait(comm, before_turn, t);
    uint64_t steps = (t->longest + t->per_step - 1) / t->per_step;
    for (uint64_t step = 0; step < steps && code == HCCL_SUCCESS; step++) code = run_step(t, step);
    if (code != HCCL_SUCCESS) return code;
    atomic_store(&comm->collectives.finished, t->ticket + 1);
    asc_segment_ring(comm->segment, comm->rank);
    return HCCL_SUCCESS;
}

static void issue(asc_comm_task *task) {
    ((collective_task *)task)->ticket = task->comm->collectives.issued++;
}

static void end(asc_comm_task *task) {
    collective_task *t = (collective_task *)task;
    if (t->in_elements) asc_memory_unpin(t->asked.in, false);
    if (t->out_elements) asc_memory_unpin(t->asked.out, true);
    free(t);
}

/* ---- bringing it to a stream ---------------------------------------------------------------------------------- */

/* Elements that the rank reads and writes, and those that steps go through. */
static void measure(collective_task *t) {
    const asc_comm *comm = t->task.comm;
    const asc_collective *a = &t->asked;
    bool root = a->root == comm->rank;
    uint64_t *part_counts = t->parts, *part_offsets = t->parts + comm->ranks, together = 0;
    t->longest = a->kind == ASC_BARRIER ? 1 : a->count;
    for (uint32_t rank = 0; has_parts(a->kind) && rank < comm->ranks; rank++) {
        part_counts[rank] = a->counts ? a->counts[rank] : a->count;
        part_offsets[rank] = a->offsets ? a->offsets[rank] : rank * a->count;
        if (part_counts[rank] > t->longest || !rank) t->longest = part_counts[rank];
        uint64_t end_of = part_offsets[rank] + part_counts[rank];
        if (part_counts[rank] && end_of > together) together = end_of;
    }
    uint64_t buffers = a->kind == ASC_REDUCE_SCATTER ? comm->ranks : 1;
    t->per_step = comm->segment->step_bytes / t->size / buffers;
    switch (a->kind) {
        case ASC_ALL_GATHER: t->in_elements = part_counts[comm->rank], t->out_elements = together; break;
        case ASC_REDUCE_SCATTER: t->in_elements = together, t->out_elements = part_counts[comm->rank]; break;
        case ASC_BROADCAST: t->in_elements = root ? a->count : 0, t->out_elements = root ? 0 : a->count; break;
        case ASC_REDUCE: t->in_elements = a->count, t->out_elements = root ? a->count : 0; break;
        case ASC_ALL_REDUCE: t->in_elements = t->out_elements = a->count; break;
        case ASC_BARRIER: break;
    }
}

static HcclResult check_memory(const void *memory, uint64_t elements, size_t size, const char *name) {
    if (!elements) return HCCL_SUCCESS;
    if (!memory) return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PTR, "%s must not be NULL", name);
    if (elements > SIZE_MAX / 2 / size)
        return asc_hccl_fail(ASC_EI_ARGUMENT, HCCL_E_PARA, "%llu elements are more than an address space holds",
                             (unsigned long long)elements);
    aclError code = asc_memory_check(memory, elements * size, ASC_PLACE_DEVICE, name);
    return code == ACL_SUCCESS ? HCCL_SUCCESS : HCCL_E_PARA; /* with the text of the memory's failure */
}

static const char *const names[] = {[ASC_ALL_REDUCE] = "hcom_allReduce_", [ASC_REDUCE] = "hcom_reduce_",
                                    [ASC_BROADCAST] = "hcom_broadcast_",  [ASC_ALL_GATHER] = "hcom_allGather_",
                                    [ASC_BARRIER] = "hcom_barrier_",      [ASC_REDUCE_SCATTER] = "hcom_reduceScatter_"};

HcclResult asc_collective_push(asc_comm *comm, const asc_collective *asked, aclrtStream stream) {
    collective_task *t = calloc(1, sizeof *t + 2 * comm->ranks * sizeof(uint64_t));
    if (!t) return asc_hccl_fail(ASC_EI_RESOURCE, HCCL_E_MEMORY, "this machine has no memory left");
    t->task = (asc_comm_task){.comm = comm, .run = run, .end = end, .name = names[asked->kind], .type = asked->type};
    t->asked = *asked;
    t->size = asked->kind == ASC_BARRIER ? 1 : asc_element_bytes(asked->type);
    measure(t);
    t->task.given = t->in_elements;
    t->task.taken = t->out_elements;
    HcclResult code = check_memory(asked->in, t->in_elements, t->size, "sendBuf");
    if (code == HCCL_SUCCESS) code = check_memory(asked->out, t->out_elements, t->size, "recvBuf");
    if (code != HCCL_SUCCESS || !t->longest) {
        free(t);
        return code; /* of nothing, there is nothing to do */
    }
    if (t->in_elements) asc_memory_pin(asked->in, false);
    if (t->out_elements) asc_memory_pin(asked->out, true);
    return asc_comm_push(&t->task, stream, issue);
}
