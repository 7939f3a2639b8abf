/* media_vpc.h - work of the second version's picture channels: tasks of the channel's thread. */
#ifndef ASC_ACL_MEDIA_VPC_H
#define ASC_ACL_MEDIA_VPC_H

#include "media_channel.h"
#include "pixels.h"
#include "queue.h"

enum { ASC_VPC_CODES = 1024 };

typedef struct asc_vpc {
    asc_queue *queue;
    uint32_t sent, done;
    hi_s32 codes[ASC_VPC_CODES]; /* of the last tasks, by number */
    hi_csc_matrix matrix;
} asc_vpc;

/* One region drawn, and what lies around it. */
typedef struct asc_vpc_step {
    asc_picture from, to;
    asc_acl_region crop, paste;
    bool nearest, has_border;
    asc_border border;
    uint8_t value[ASC_COMPONENTS];
} asc_vpc_step;

/* What a task does; `steps` many pairs of pictures. */
typedef struct asc_vpc_task {
    asc_media_channel *channel; /* held */
    hi_s32 (*run)(const struct asc_vpc_task *t);
    asc_colours colours;
    hi_vpc_histogram_config *counts;
    hi_vpc_lut_remap tables;
    int8_t filter[5][5];
    uint16_t divisor;
    hi_s32 code;
    uint32_t count;
    asc_vpc_step steps[];
} asc_vpc_task;

/* A task of so many steps for the channel. It must be ended by asc_vpc_finish. */
hi_s32 asc_vpc_begin(hi_vpc_chn chn, uint32_t count, const hi_u32 *task_id, asc_vpc_task **made);
/* The same for a picture drawn into another, whole into whole. */
hi_s32 asc_vpc_begin_one(hi_vpc_chn chn, const hi_vpc_pic_info *source, const hi_vpc_pic_info *dest,
                         const hi_u32 *task_id, asc_vpc_task **made);
/* Brings it to the channel's thread; drops it where `code` isn't success, and returns that. */
hi_s32 asc_vpc_finish(asc_vpc_task *task, hi_s32 code, hi_u32 *task_id);
/* Draws every step. */
hi_s32 asc_vpc_draw(const asc_vpc_task *task);

/* A picture in memory of the device, checked. */
hi_s32 asc_vpc_picture(const hi_vpc_pic_info *given, const char *name, asc_picture *p);
hi_s32 asc_vpc_same_size(const asc_vpc_step *s);
hi_s32 asc_vpc_border(const asc_vpc_task *t, asc_vpc_step *s, hi_vpc_bord_type type, const hi_vpc_scalar *scalar);

#endif
