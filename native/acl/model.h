/* model.h - a loaded bundle as AscendCL describes it. */
#ifndef ASC_ACL_MODEL_H
#define ASC_ACL_MODEL_H

#include <stdatomic.h>

#include "acl/acl_mdl.h"
#include "ascend_rt.h"
#include "error.h"

/* An input or output. Dims of -1 are free. */
typedef struct asc_io {
    const char *name;
    aclDataType type;
    aclFormat format;
    int32_t dtype; /* ASC_FLOAT32, ... */
    int32_t rank;
    int64_t dims[ASC_MAX_RANK];
    int64_t least[ASC_MAX_RANK], most[ASC_MAX_RANK]; /* of free dims; most -1: no limit */
    uint32_t symbols[ASC_MAX_RANK];                  /* of free dims of inputs; else ASC_NONE */
    size_t bytes;                                    /* at the largest sizes; 0: no limit */
    uint32_t edge;                                   /* ASC_NONE: the input that chooses a gear */
    size_t aipp_bytes;                               /* the most of pictures that dynamic AIPP takes; 0: none */
    uint32_t aipp_of;                                /* of the input of AIPP's parameters: whose; else ASC_NONE */
    bool is_image;                                   /* that static AIPP takes: NHWC */
    bool is_yuv;                                     /* of it: 420 semi-planar, so its dims have 3/2 of the rows */
} asc_io;

/* How the sizes of free dims are chosen. */
typedef enum asc_variety { ASC_FIXED, ASC_BATCHES, ASC_IMAGES, ASC_GEARS, ASC_RANGES } asc_variety;

/* Sizes of all symbols. */
typedef struct asc_sizes {
    int64_t *of; /* per symbol; -1: not known */
} asc_sizes;

typedef struct asc_om {
    atomic_uint uses;
    uint32_t id;           /* 0: described only */
    char file[256];        /* its name without folders and ending; "": from memory */
    struct asc_dump *dump; /* what is dumped of it; NULL: nothing */
    aclrtContext context;
    asc_model *model;
    asc_io *inputs, *outputs;
    uint32_t n_inputs, n_outputs; /* inputs: with the one that chooses a gear */
    uint32_t n_symbols;
    asc_variety variety;
    uint32_t n_gears, largest;
    int64_t *gears;   /* [n_gears][n_symbols] */
    int64_t *columns; /* per number of a gear, as aclmdlSetDynamic... gives them: [n_gears][n_columns] */
    uint32_t n_columns;
    atomic_uint gear; /* that was set last */
    uint64_t work_bytes, weight_bytes;
    uint32_t n_partitions; /* that run, in order */
    uint32_t *partitions;
    struct asc_chain *fixed; /* bound at fixed sizes; NULL: sizes vary */
} asc_om;

/* What the bundle says under a key; NULL: nothing. */
const char *asc_meta_of(const asc_model *model, const char *key);

/* The input by which gears are chosen, or ASC_NONE. */
uint32_t asc_om_chooser(const asc_om *om);

/* Opens and describes; the text is set when it fails. */
aclError asc_om_open(const char *path, asc_om **made);
aclError asc_om_from_memory(const void *bytes, size_t size, asc_om **made);
/* Takes the bundle over. */
aclError asc_om_describe(asc_model *model, asc_om **made);
asc_om *asc_om_retain(asc_om *om);
void asc_om_release(asc_om *om);

/* Loaded models have numbers, from 1. */
aclError asc_om_load(asc_om *om, uint32_t *id);
aclError asc_om_unload(uint32_t id);
/* A reference to the model of a number; fails with ACL_ERROR_GE_EXEC_MODEL_ID_INVALID. */
aclError asc_om_get(uint32_t id, asc_om **om);
void asc_om_unload_all(void);

/* A code of the runtime as one of AscendCL, with its text. `doing` begins the sentence. */
aclError asc_runtime_fail(int32_t code, const asc_status *status, const char *doing);

aclDataType asc_acl_type(int32_t dtype);
int32_t asc_rt_type(aclDataType type);

#endif
