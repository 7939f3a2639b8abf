/* aipp_image.h - dynamic AIPP: the parameters that a program gives with a run, and pictures made images by them. */
#ifndef ASC_ACL_AIPP_IMAGE_H
#define ASC_ACL_AIPP_IMAGE_H

#include "acl/acl_mdl.h"
#include "error.h"

enum { ASC_AIPP_MOST = 127 };

/* Of one picture of the batch. */
typedef struct asc_aipp_picture {
    bool crops, pads;
    int32_t left, top, width, height; /* of the crop */
    int32_t pad_top, pad_bottom, pad_left, pad_right;
    float mean[4], least[4], scale[4]; /* (x - mean - least) * scale, by channel */
} asc_aipp_picture;

typedef struct asc_aipp {
    uint64_t batch;
    aclAippInputFormat format;
    int32_t width, height;
    bool converts, swaps_colours, swaps_first;
    int32_t matrix[9], in_bias[3], out_bias[3];
    asc_aipp_picture pictures[]; /* [batch] */
} asc_aipp;

asc_aipp *asc_aipp_new(uint64_t batch); /* NULL when there is no memory */
asc_aipp *asc_aipp_copy(const asc_aipp *a);

/* Bytes of the input of parameters, as programs allocate it; nothing of it is read. */
size_t asc_aipp_parameter_bytes(uint64_t batch);
/* Bytes of the pictures that it is for; 0 where the format or the size was not set. */
size_t asc_aipp_bytes(const asc_aipp *a);
/* Fails unless its pictures become images of these dims, [N, C, H, W]. */
aclError asc_aipp_check(const asc_aipp *a, const int64_t *dims);
/* The images, float32 [N, C, H, W], of pictures that asc_aipp_check let pass. */
void asc_aipp_run(const asc_aipp *a, const uint8_t *pictures, const int64_t *dims, float *images);

#endif
