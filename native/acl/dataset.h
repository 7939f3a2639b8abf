/* dataset.h - what a dataset's handle stands for. */
#ifndef ASC_ACL_DATASET_H
#define ASC_ACL_DATASET_H

#include "acl/acl_mdl.h"
#include "buffer.h"

#define ASC_NO_GEAR UINT32_MAX

typedef struct asc_dataset {
    aclDataBuffer **buffers; /* handles */
    aclTensorDesc **descs;   /* of each, or NULL: set by the program for inputs, by the run for outputs */
    bool *own_desc;          /* made by a run */
    uint32_t count, room;
    uint32_t gear;       /* that aclmdlSetDynamic... chose */
    uint32_t gear_model; /* of which model */
} asc_dataset;

/* The dataset behind a handle; NULL, with the text set, when it is none. */
asc_dataset *asc_dataset_get(const aclmdlDataset *handle, const char *name);
/* Gives one of its tensors a description of its own. */
aclError asc_dataset_describe(asc_dataset *dataset, uint32_t index, aclDataType type, int rank, const int64_t *dims,
                              aclFormat format);

#endif
