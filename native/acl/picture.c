/* picture.c - DVPP's descriptions: pictures, regions, channels, settings, streams of bytes. */
#include "picture.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "context.h"
#include "error.h"
#include "handle.h"
#include "memory.h"

typedef struct channel {
    uint64_t id;
    uint32_t mode;
    bool created;
} channel;

typedef struct bytes_desc {
    void *data;
    uint32_t bytes, code;
    acldvppStreamFormat format;
    uint64_t timestamp;
    uint8_t eos;
} bytes_desc;

typedef struct batch {
    uint32_t count;
    acldvppPicDesc *pictures[];
} batch;

static atomic_uint_fast64_t next_channel;

static void *fresh(asc_kind kind, size_t size, void *object) {
    void *handle = object ? asc_handle_new(kind, object) : NULL;
    if (!handle) {
        free(object);
        asc_acl_fail(ACL_ERROR_BAD_ALLOC, "this machine has no memory left for a description of %zu bytes", size);
    }
    return handle;
}

static aclError destroy(asc_kind kind, const void *handle, const char *name) {
    void *object = asc_handle_take(kind, handle);
    if (!object) return asc_handle_fail(ACL_ERROR_INVALID_PARAM, kind, handle, name);
    free(object);
    return ACL_SUCCESS;
}

static void *get(asc_kind kind, const void *handle, const char *name) {
    void *object = asc_handle_get(kind, handle);
    if (!object) asc_handle_fail(ACL_ERROR_INVALID_PARAM, kind, handle, name);
    return object;
}

asc_picture *asc_picture_get(const acldvppPicDesc *handle, const char *name) {
    return get(ASC_KIND_PICTURE, handle, name);
}

asc_acl_region *asc_acl_region_get(const acldvppRoiConfig *handle, const char *name) {
    return get(ASC_KIND_REGION, handle, name);
}

aclError asc_channel_check(const acldvppChannelDesc *handle) {
    const channel *c = get(ASC_KIND_CHANNEL, handle, "channelDesc");
    if (!c) return ACL_ERROR_INVALID_PARAM;
    return c->created ? ACL_SUCCESS
                      : asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the channel was not created; call acldvppCreateChannel");
}

/* A member of a description, set and given back. */
#define SETTER(function, handle_type, handle, kind, object_type, value_type, member) \
    aclError function(handle_type *handle, value_type value) {                       \
        ASC_ENTER();                                                                 \
        object_type *object = get(kind, handle, #handle);                            \
        if (!object) return ACL_ERROR_INVALID_PARAM;                                 \
        object->member = value;                                                      \
        return ACL_SUCCESS;                                                          \
    }
#define GETTER(function, handle_type, handle, kind, object_type, value_type, member, otherwise) \
    value_type function(const handle_type *handle) {                                            \
        ASC_ENTER();                                                                            \
        const object_type *object = get(kind, handle, #handle);                                 \
        return object ? object->member : otherwise;                                             \
    }

/* ---- memory ------------------------------------------------------------------------------------------ */

aclError acldvppMalloc(void **devPtr, size_t size) {
    ASC_ENTER();
    ASC_NEED(devPtr);
    if (!size) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    asc_acl_context *context = asc_current_context();
    if (!context) return ACL_ERROR_RT_CONTEXT_NULL;
    *devPtr = asc_memory_new(size, ASC_PLACE_DEVICE, context->device);
    return *devPtr ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION;
}

aclError acldvppFree(void *devPtr) {
    ASC_ENTER();
    ASC_NEED(devPtr);
    return asc_memory_free(devPtr, ASC_PLACE_DEVICE, ACL_ERROR_INVALID_PARAM);
}

/* ---- channels ----------------------------------------------------------------------------------------- */

acldvppChannelDesc *acldvppCreateChannelDesc(void) {
    ASC_ENTER();
    return fresh(ASC_KIND_CHANNEL, sizeof(channel), calloc(1, sizeof(channel)));
}

aclError acldvppDestroyChannelDesc(acldvppChannelDesc *channelDesc) {
    ASC_ENTER();
    return destroy(ASC_KIND_CHANNEL, channelDesc, "channelDesc");
}

SETTER(acldvppSetChannelDescMode, acldvppChannelDesc, channelDesc, ASC_KIND_CHANNEL, channel, uint32_t, mode);
GETTER(acldvppGetChannelDescChannelId, acldvppChannelDesc, channelDesc, ASC_KIND_CHANNEL, channel, uint64_t, id, 0);

aclError acldvppCreateChannel(acldvppChannelDesc *channelDesc) {
    ASC_ENTER();
    channel *c = get(ASC_KIND_CHANNEL, channelDesc, "channelDesc");
    if (!c) return ACL_ERROR_INVALID_PARAM;
    if (!asc_current_context()) return ACL_ERROR_RT_CONTEXT_NULL;
    if (c->created) return asc_acl_fail(ACL_ERROR_INVALID_PARAM, "the channel was created before");
    c->created = true;
    c->id = atomic_fetch_add(&next_channel, 1);
    return ACL_SUCCESS;
}

aclError acldvppDestroyChannel(acldvppChannelDesc *channelDesc) {
    ASC_ENTER();
    aclError code = asc_channel_check(channelDesc);
    if (code == ACL_SUCCESS) ((channel *)get(ASC_KIND_CHANNEL, channelDesc, "channelDesc"))->created = false;
    return code;
}

/* ---- pictures ------------------------------------------------------------------------------------------- */

acldvppPicDesc *acldvppCreatePicDesc(void) {
    ASC_ENTER();
    return fresh(ASC_KIND_PICTURE, sizeof(asc_picture), calloc(1, sizeof(asc_picture)));
}

aclError acldvppDestroyPicDesc(acldvppPicDesc *picDesc) {
    ASC_ENTER();
    return destroy(ASC_KIND_PICTURE, picDesc, "picDesc");
}

SETTER(acldvppSetPicDescData, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, void *, data);
GETTER(acldvppGetPicDescData, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, void *, data, NULL);
SETTER(acldvppSetPicDescSize, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, bytes);
GETTER(acldvppGetPicDescSize, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, bytes, 0);
SETTER(acldvppSetPicDescFormat, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, acldvppPixelFormat, format);
GETTER(acldvppGetPicDescFormat, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, acldvppPixelFormat, format,
       PIXEL_FORMAT_YUV_400);
SETTER(acldvppSetPicDescWidth, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, width);
GETTER(acldvppGetPicDescWidth, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, width, 0);
SETTER(acldvppSetPicDescHeight, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, height);
GETTER(acldvppGetPicDescHeight, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, height, 0);
SETTER(acldvppSetPicDescWidthStride, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, width_stride);
GETTER(acldvppGetPicDescWidthStride, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, width_stride, 0);
SETTER(acldvppSetPicDescHeightStride, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, height_stride);
GETTER(acldvppGetPicDescHeightStride, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, height_stride,
       0);
SETTER(acldvppSetPicDescRetCode, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, code);
GETTER(acldvppGetPicDescRetCode, acldvppPicDesc, picDesc, ASC_KIND_PICTURE, asc_picture, uint32_t, code, 0);

acldvppBatchPicDesc *acldvppCreateBatchPicDesc(uint32_t batchSize) {
    ASC_ENTER();
    if (!batchSize || batchSize > 128) {
        asc_acl_fail(ACL_ERROR_INVALID_PARAM, "batchSize is %u; it is 1 to 128", batchSize);
        return NULL;
    }
    batch *b = calloc(1, sizeof *b + batchSize * sizeof *b->pictures);
    for (uint32_t i = 0; b && i < batchSize; i++)
        b->pictures[i] = fresh(ASC_KIND_PICTURE, sizeof(asc_picture), calloc(1, sizeof(asc_picture)));
    if (b) b->count = batchSize;
    return fresh(ASC_KIND_PICTURES, sizeof *b, b);
}

acldvppPicDesc *asc_pictures_at(const acldvppBatchPicDesc *handle, uint32_t index, const char *name) {
    const batch *b = get(ASC_KIND_PICTURES, handle, name);
    if (!b) return NULL;
    if (index < b->count) return b->pictures[index];
    asc_acl_fail(ACL_ERROR_INVALID_PARAM, "%s has %u pictures; number %u is asked for", name, b->count, index);
    return NULL;
}

acldvppPicDesc *acldvppGetPicDesc(acldvppBatchPicDesc *batchPicDesc, uint32_t index) {
    ASC_ENTER();
    return asc_pictures_at(batchPicDesc, index, "batchPicDesc");
}

aclError acldvppDestroyBatchPicDesc(acldvppBatchPicDesc *batchPicDesc) {
    ASC_ENTER();
    const batch *b = get(ASC_KIND_PICTURES, batchPicDesc, "batchPicDesc");
    for (uint32_t i = 0; b && i < b->count; i++) free(asc_handle_take(ASC_KIND_PICTURE, b->pictures[i]));
    return b ? destroy(ASC_KIND_PICTURES, batchPicDesc, "batchPicDesc") : ACL_ERROR_INVALID_PARAM;
}

/* ---- regions and settings ----------------------------------------------------------------------------------- */

acldvppRoiConfig *acldvppCreateRoiConfig(uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
    ASC_ENTER();
    asc_acl_region *region = calloc(1, sizeof *region);
    if (region) *region = (asc_acl_region){left, right, top, bottom};
    return fresh(ASC_KIND_REGION, sizeof *region, region);
}

aclError acldvppDestroyRoiConfig(acldvppRoiConfig *roiConfig) {
    ASC_ENTER();
    return destroy(ASC_KIND_REGION, roiConfig, "roiConfig");
}

aclError acldvppSetRoiConfig(acldvppRoiConfig *config, uint32_t left, uint32_t right, uint32_t top, uint32_t bottom) {
    ASC_ENTER();
    asc_acl_region *region = asc_acl_region_get(config, "config");
    if (region) *region = (asc_acl_region){left, right, top, bottom};
    return region ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

SETTER(acldvppSetRoiConfigLeft, acldvppRoiConfig, config, ASC_KIND_REGION, asc_acl_region, uint32_t, left);
SETTER(acldvppSetRoiConfigRight, acldvppRoiConfig, config, ASC_KIND_REGION, asc_acl_region, uint32_t, right);
SETTER(acldvppSetRoiConfigTop, acldvppRoiConfig, config, ASC_KIND_REGION, asc_acl_region, uint32_t, top);
SETTER(acldvppSetRoiConfigBottom, acldvppRoiConfig, config, ASC_KIND_REGION, asc_acl_region, uint32_t, bottom);

acldvppResizeConfig *acldvppCreateResizeConfig(void) {
    ASC_ENTER();
    return fresh(ASC_KIND_RESIZE, sizeof(asc_setting), calloc(1, sizeof(asc_setting)));
}

aclError acldvppDestroyResizeConfig(acldvppResizeConfig *resizeConfig) {
    ASC_ENTER();
    return destroy(ASC_KIND_RESIZE, resizeConfig, "resizeConfig");
}

SETTER(acldvppSetResizeConfigInterpolation, acldvppResizeConfig, resizeConfig, ASC_KIND_RESIZE, asc_setting, uint32_t,
       value);
GETTER(acldvppGetResizeConfigInterpolation, acldvppResizeConfig, resizeConfig, ASC_KIND_RESIZE, asc_setting, uint32_t,
       value, 0);

aclError asc_resize_way(const acldvppResizeConfig *handle, bool *nearest) {
    const asc_setting *setting = get(ASC_KIND_RESIZE, handle, "resizeConfig");
    if (!setting) return ACL_ERROR_INVALID_PARAM;
    *nearest = setting->value == 2 || setting->value == 4;
    return ACL_SUCCESS;
}

acldvppJpegeConfig *acldvppCreateJpegeConfig(void) {
    ASC_ENTER();
    return fresh(ASC_KIND_ENCODING, sizeof(asc_setting), calloc(1, sizeof(asc_setting)));
}

aclError acldvppDestroyJpegeConfig(acldvppJpegeConfig *jpegeConfig) {
    ASC_ENTER();
    return destroy(ASC_KIND_ENCODING, jpegeConfig, "jpegeConfig");
}

SETTER(acldvppSetJpegeConfigLevel, acldvppJpegeConfig, jpegeConfig, ASC_KIND_ENCODING, asc_setting, uint32_t, value);
GETTER(acldvppGetJpegeConfigLevel, acldvppJpegeConfig, jpegeConfig, ASC_KIND_ENCODING, asc_setting, uint32_t, value, 0);

aclError asc_jpege_level(const acldvppJpegeConfig *handle, uint32_t *level) {
    const asc_setting *setting = get(ASC_KIND_ENCODING, handle, "config");
    if (!setting) return ACL_ERROR_INVALID_PARAM;
    *level = setting->value;
    return ACL_SUCCESS;
}

/* ---- streams of bytes --------------------------------------------------------------------------------------- */

acldvppStreamDesc *acldvppCreateStreamDesc(void) {
    ASC_ENTER();
    return fresh(ASC_KIND_BYTES, sizeof(bytes_desc), calloc(1, sizeof(bytes_desc)));
}

aclError acldvppDestroyStreamDesc(acldvppStreamDesc *streamDesc) {
    ASC_ENTER();
    return destroy(ASC_KIND_BYTES, streamDesc, "streamDesc");
}

SETTER(acldvppSetStreamDescData, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, void *, data);
GETTER(acldvppGetStreamDescData, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, void *, data, NULL);
SETTER(acldvppSetStreamDescSize, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint32_t, bytes);
GETTER(acldvppGetStreamDescSize, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint32_t, bytes, 0);
SETTER(acldvppSetStreamDescFormat, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, acldvppStreamFormat,
       format);
GETTER(acldvppGetStreamDescFormat, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, acldvppStreamFormat,
       format, H265_MAIN_LEVEL);
SETTER(acldvppSetStreamDescTimestamp, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint64_t, timestamp);
GETTER(acldvppGetStreamDescTimestamp, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint64_t, timestamp,
       0);
SETTER(acldvppSetStreamDescRetCode, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint32_t, code);
GETTER(acldvppGetStreamDescRetCode, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint32_t, code, 0);
SETTER(acldvppSetStreamDescEos, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint8_t, eos);
GETTER(acldvppGetStreamDescEos, acldvppStreamDesc, streamDesc, ASC_KIND_BYTES, bytes_desc, uint8_t, eos, 0);
