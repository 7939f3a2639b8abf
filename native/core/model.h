/* model.h - an open bundle, and a partition of it bound to one set of input shapes. */
#ifndef ASC_CORE_MODEL_H
#define ASC_CORE_MODEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "custom.h"
#include "dims.h"
#include "plan.h"

typedef struct asc_context asc_context;

/* The bound shapes of one partition, most recently used first. */
typedef struct asc_bound_cache {
    asc_bound *first;
    int32_t count;
} asc_bound_cache;

struct asc_model {
    _Atomic int32_t references;
    char *path; /* NULL: from memory */
    asc_region region;
    asc_region outside; /* weights in files beside the bundle */
    asc_frame frame;
    asc_plan plan;
    int32_t isa;
    int32_t threads;
    int32_t max_bound;
    uint32_t flags;
    uint64_t max_memory;
    asc_log_fn log;
    void *log_user;
    asc_library *libraries;  /* per native library of the plan */
    const void **weights;    /* per weight: its bytes */
    pthread_mutex_t lock;    /* of the caches */
    asc_bound_cache *caches; /* per partition */
    asc_model *apart;        /* made without names of dims and declared shapes; NULL: there is none */
    asc_model *owner;        /* of such a model, the one that it belongs to, which counts its references */
    uint32_t *stands_in;     /* per partition: that of `apart` with the same boundary, or ASC_NONE */
    _Atomic int32_t said_apart;
};

/* Where a value's bytes lie during a run, and from which instruction to which they are in use. */
typedef struct asc_storage {
    uint64_t offset;              /* of a temporary, in the arena */
    uint64_t bytes;               /* of a temporary */
    int64_t delta;                /* of a view: bytes from the start of its root */
    uint32_t first_use, last_use; /* instructions of the partition; of a root, with all its views */
    uint32_t takes;               /* temporary whose memory this one takes over, or ASC_NONE */
} asc_storage;

/* An operand whose address depends on the run. */
typedef struct asc_patch {
    uint32_t operand;
    uint32_t slot;  /* the caller's buffer: inputs, then outputs; ASC_NONE for a temporary */
    uint32_t value; /* root value, within the partition */
    int64_t delta;  /* bytes from its start */
} asc_patch;

/* A buffer of the caller's. */
typedef struct asc_boundary {
    uint64_t bytes;
    uint64_t align; /* of its elements */
} asc_boundary;

#define ASC_IDLE_CONTEXTS 32

struct asc_bound {
    _Atomic int32_t references; /* one is the cache's while it is in it */
    asc_bound *next;
    asc_model *model;
    uint32_t partition;
    uint32_t n_inputs, n_outputs, n_insns, n_operands;
    int64_t *key; /* dims of all inputs */

    asc_tensor *values;   /* per value of the partition; data only where it is a weight's */
    asc_storage *storage; /* per value of the partition */
    asc_tensor *outputs;
    asc_boundary *boundary; /* per input, then per output */
    asc_call *calls;        /* per instruction; operands point into `operands` */
    asc_run_fn *runs;       /* per instruction */
    uint8_t *notes;         /* of the calls that have one */
    asc_tensor *operands;
    int64_t *ints;
    asc_attr *attrs;
    asc_patch *boundary_patches, *arena_patches; /* from the front and from the back of one array */
    uint32_t n_boundary_patches, n_arena_patches;
    uint64_t arena_bytes;
    uint64_t workspace_bytes;
    _Atomic int32_t regions;                 /* on threads of the embedder, in the last run */
    uint32_t trace, trace_pid, trace_number; /* the trace that describes it, and under which number */
    int32_t max_idle;
    _Atomic(asc_context *) idle[ASC_IDLE_CONTEXTS];
};

/* Finds the bytes of every weight. Files of weights are opened relative to `path`, the bundle's (NULL: in memory). */
int32_t asc_weights_place(asc_model *model, const char *path, asc_status *status);
void asc_weights_free(asc_model *model);
/* Maps the files of weights back to back, each in asc_weight_file_room bytes. */
int32_t asc_weight_files_open(asc_region *region, const asc_plan *plan, const char *path, uint32_t flags,
                              asc_status *status);
uint64_t asc_weight_file_room(const asc_weight_file *file);
/* ASC_E_CHANGED when a mapped file isn't what it was: what was computed since is void. */
int32_t asc_files_unchanged(const asc_model *model, asc_status *status);

/* Opens the plan without names, once everything else of `model` is there. */
int32_t asc_apart_open(asc_model *model, asc_status *status);
void asc_apart_free(asc_model *model);
/* The partition of model->apart to bind these inputs with, as they contradict names; or ASC_NONE. */
uint32_t asc_apart_partition(const asc_model *model, uint32_t partition, const asc_tensor *inputs, asc_status *why);

void asc_model_log(const asc_model *model, int32_t level, const char *text);
/* Says once which partitions run without their native code, and why. */
void asc_model_log_fallbacks(const asc_model *model);

/* Resolves a partition at these dims: symbols, value shapes, arena, prepared calls. */
int32_t asc_bound_make(asc_model *model, uint32_t partition, const asc_tensor *inputs, asc_bound **out,
                       asc_status *status);
void asc_bound_free(asc_bound *bound);
void asc_caches_free(asc_model *model);
void asc_contexts_free(asc_bound *bound);

/* The steps of asc_bound_make, each on the results of the one before. */
/* Symbols, dimension nodes and the shapes of all values. */
int32_t asc_bound_resolve(asc_bound *bound, const asc_tensor *inputs, asc_dims *dims, asc_status *status);
/* Offsets of all temporaries in the arena. */
int32_t asc_bound_place(asc_bound *bound, asc_status *status);
/* Operands, arguments and prepare() of every instruction; slots is scratch, one per value. */
int32_t asc_bound_prepare(asc_bound *bound, const asc_dims *dims, uint32_t *slots, asc_status *status);

static inline const asc_partition *asc_bound_partition(const asc_bound *b) {
    return &asc_plan_partitions(&b->model->plan)[b->partition];
}

#endif
