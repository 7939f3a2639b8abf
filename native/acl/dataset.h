/* dataset.h - what a dataset's handle stands for. */
#ifndef ASC_ACL_DATASET_H
#define ASC_ACL_DATASET_H

#include "acl/acl_mdl.h"
#include "aipp_image.h"
#include "buffer.h"

#define ASC_NO_GEAR UINT32_MAX

/* The parameters of AIPP for the pictures of an input. */
typedef struct asc_dataset_aipp {
    struct asc_dataset_aipp *next;
    uint32_t input;
    asc_aipp *parameters;
} asc_dataset_aipp;

typedef struct asc_dataset {
    aclDataBuffer **buffers; /* handles */
    aclTensorDesc **descs;   /* of each, or NULL: set by the program for inputs, by the run for outputs */
    bool *own_desc;          /* made by a run */
    uint32_t count, room;
    uint32_t gear;       /* that aclmdlSetDynamic... chose */
    uint32_t gear_model; /* of which model */
    asc_dataset_aipp *aipp;
} asc_dataset;

/* The dataset behind a handle; NULL, with the text set, when it is none. */
asc_dataset *asc_dataset_get(const aclmdlDataset *handle, const char *name);
/* Gives one of its tensors a description of its own. */
aclError asc_dataset_describe(asc_dataset *dataset, uint32_t index, aclDataType type, int rank, const int64_t *dims,
                              aclFormat format);

/* Keeps a copy of the parameters; false when there is no memory. */
bool asc_dataset_set_aipp(asc_dataset *dataset, uint32_t input, const asc_aipp *parameters);
/* Those of an input; NULL: none were set. */
const asc_aipp *asc_dataset_aipp_of(const asc_dataset *dataset, uint32_t input);

#endif
