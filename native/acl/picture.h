/* picture.h - what the handles of DVPP's descriptions stand for. */
#ifndef ASC_ACL_PICTURE_H
#define ASC_ACL_PICTURE_H

#include "acl/ops/acl_dvpp.h"

typedef struct asc_picture {
    void *data;
    uint32_t bytes;
    acldvppPixelFormat format;
    uint32_t width, height, width_stride, height_stride, code;
} asc_picture;

/* Pixels from left to right and top to bottom, both ends included. */
typedef struct asc_acl_region {
    uint32_t left, right, top, bottom;
} asc_acl_region;

/* One number: how to interpolate, or the quality of an encoding. */
typedef struct asc_setting {
    uint32_t value;
} asc_setting;

asc_picture *asc_picture_get(const acldvppPicDesc *handle, const char *name);
asc_acl_region *asc_acl_region_get(const acldvppRoiConfig *handle, const char *name);
/* A picture of several. */
acldvppPicDesc *asc_pictures_at(const acldvppBatchPicDesc *handle, uint32_t index, const char *name);
/* Whether a setting of how to scale takes the nearest pixel; it is bilinear otherwise. */
aclError asc_resize_way(const acldvppResizeConfig *handle, bool *nearest);
/* The quality that a setting of how to encode has. */
aclError asc_jpege_level(const acldvppJpegeConfig *handle, uint32_t *level);
/* Fails unless the handle is a channel that was created. */
aclError asc_channel_check(const acldvppChannelDesc *handle);

#endif
