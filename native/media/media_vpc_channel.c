/* media_vpc_channel.c - channels for pictures of the second version's media functions, and the tasks of their threads,
 * whose numbers the program asks for later. */
#include <stdlib.h>

#include "deadline.h"
#include "media_vpc.h"
#include "memory.h"

#define FAIL(error, ...) ASC_MEDIA_FAIL(ASC_MEDIA_VPC, error, __VA_ARGS__)
#define NEED(pointer) ASC_MEDIA_NEED(ASC_MEDIA_VPC, pointer)

enum { MOST_REGIONS = 256 };

/* ---- channels ------------------------------------------------------------------------------------------------ */

static void end_vpc(void *state) {
    asc_vpc *v = state;
    asc_queue_free(v->queue, false);
    free(v);
}

static void drop_nothing(asc_media_item *item) {
    (void)item;
}

static hi_s32 create(hi_vpc_chn *chn) {
    asc_vpc *v = calloc(1, sizeof *v);
    if (v) v->queue = asc_queue_new();
    if (!v || !v->queue) {
        free(v);
        return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a channel");
    }
    return asc_media_create(ASC_MEDIA_VPC, chn, v, end_vpc, drop_nothing);
}

hi_s32 hi_mpi_vpc_create_chn(hi_vpc_chn chn, const hi_vpc_chn_attr *attr) {
    ASC_ENTER();
    NEED(attr);
    if (chn < 0)
        return FAIL(ASC_MEDIA_CHANNEL_ID, "channel %d of vpc; their numbers are 0 to %d", chn, VPC_MAX_CHN_NUM - 1);
    return create(&chn);
}

hi_s32 hi_mpi_vpc_sys_create_chn(hi_vpc_chn *chn, const hi_vpc_chn_attr *attr) {
    ASC_ENTER();
    NEED(chn);
    NEED(attr);
    *chn = -1;
    return create(chn);
}

hi_s32 hi_mpi_vpc_destroy_chn(hi_vpc_chn chn) {
    ASC_ENTER();
    return asc_media_destroy(ASC_MEDIA_VPC, chn);
}

static const asc_colours standards[] = {
    [HI_CSC_MATRIX_BT601_WIDE] = {0.299, 0.114, false},    [HI_CSC_MATRIX_BT601_NARROW] = {0.299, 0.114, true},
    [HI_CSC_MATRIX_BT709_WIDE] = {0.2126, 0.0722, false},  [HI_CSC_MATRIX_BT709_NARROW] = {0.2126, 0.0722, true},
    [HI_CSC_MATRIX_BT2020_WIDE] = {0.2627, 0.0593, false}, [HI_CSC_MATRIX_BT2020_NARROW] = {0.2627, 0.0593, true},
};

static hi_csc_matrix matrix_of(asc_media_channel *channel) {
    pthread_mutex_lock(&channel->lock);
    hi_csc_matrix matrix = ((asc_vpc *)channel->state)->matrix;
    pthread_mutex_unlock(&channel->lock);
    return matrix;
}

hi_s32 hi_mpi_sys_set_chn_csc_matrix(hi_mod_id mode, hi_s32 chn, hi_csc_matrix csc_matrix,
                                     hi_csc_coefficient *csc_coefficient) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    (void)csc_coefficient;
    if (mode != HI_ID_VPC) return FAIL(ASC_MEDIA_UNSUPPORTED, "mode is %d; it is HI_ID_VPC here", (int)mode);
    if ((size_t)csc_matrix >= sizeof standards / sizeof *standards)
        return FAIL(ASC_MEDIA_UNSUPPORTED, "csc_matrix is %d; there are HI_CSC_MATRIX_BT601_WIDE to BT2020_NARROW",
                    (int)csc_matrix);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VPC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    pthread_mutex_lock(&channel->lock);
    ((asc_vpc *)channel->state)->matrix = csc_matrix;
    pthread_mutex_unlock(&channel->lock);
    asc_media_release(channel);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_sys_get_chn_csc_matrix(hi_mod_id mode, hi_s32 chn, hi_csc_matrix *csc_matrix,
                                     hi_csc_coefficient *csc_coefficient) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    (void)csc_coefficient;
    NEED(csc_matrix);
    if (mode != HI_ID_VPC) return FAIL(ASC_MEDIA_UNSUPPORTED, "mode is %d; it is HI_ID_VPC here", (int)mode);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VPC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    *csc_matrix = matrix_of(channel);
    asc_media_release(channel);
    return HI_SUCCESS;
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

hi_s32 asc_vpc_begin(hi_vpc_chn chn, uint32_t count, const hi_u32 *task_id, asc_vpc_task **made) {
    asc_media_channel *channel = NULL;
    NEED(task_id);
    if (!count || count > MOST_REGIONS)
        return FAIL(ASC_MEDIA_PARAMETER, "%u regions; a task has 1 to %d", count, MOST_REGIONS);
    hi_s32 code = asc_media_hold(ASC_MEDIA_VPC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    asc_vpc_task *t = calloc(1, sizeof *t + count * sizeof *t->steps);
    if (!t) {
        asc_media_release(channel);
        return FAIL(ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a task");
    }
    t->channel = channel;
    t->colours = standards[matrix_of(channel)];
    t->count = count;
    *made = t;
    return HI_SUCCESS;
}

static void pin(const asc_vpc_task *t, void (*pin_block)(const void *, bool)) {
    for (uint32_t i = 0; i < t->count; i++) {
        pin_block(t->steps[i].from.data, false);
        if (t->steps[i].to.data) pin_block(t->steps[i].to.data, true);
    }
}

static aclError run_task(void *argument) {
    asc_vpc_task *t = argument;
    t->code = t->run(t);
    return ACL_SUCCESS; /* the code is the task's, not the channel's */
}

static void end_task(void *argument) {
    asc_vpc_task *t = argument;
    asc_media_channel *channel = t->channel;
    asc_vpc *v = channel->state;
    pin(t, asc_memory_unpin);
    pthread_mutex_lock(&channel->lock);
    v->done++;
    v->codes[v->done % ASC_VPC_CODES] = t->code;
    pthread_cond_broadcast(&channel->changed);
    pthread_mutex_unlock(&channel->lock);
    free(t);
}

hi_s32 asc_vpc_finish(asc_vpc_task *t, hi_s32 code, hi_u32 *task_id) {
    asc_media_channel *channel = t->channel; /* which outlives its work: it ends after the queue */
    asc_vpc *v = channel->state;
    asc_work work = {run_task, end_task, t, asc_current_site()};
    if (code == HI_SUCCESS) {
        pin(t, asc_memory_pin);
        pthread_mutex_lock(&channel->lock);
        if (asc_queue_push(v->queue, &work) == ACL_SUCCESS)
            *task_id = ++v->sent;
        else
            code = asc_media_code(ASC_MEDIA_VPC, ASC_MEDIA_NO_MEMORY);
        pthread_mutex_unlock(&channel->lock);
        if (code != HI_SUCCESS) pin(t, asc_memory_unpin);
    }
    if (code != HI_SUCCESS) free(t);
    asc_media_release(channel);
    return code;
}

hi_s32 hi_mpi_vpc_get_process_result(hi_vpc_chn chn, hi_u32 task_id, hi_s32 milli_sec) {
    ASC_ENTER();
    asc_media_channel *channel = NULL;
    hi_s32 code = asc_media_hold(ASC_MEDIA_VPC, chn, &channel);
    if (code != HI_SUCCESS) return code;
    const asc_vpc *v = channel->state;
    struct timespec until = asc_deadline(milli_sec);
    pthread_mutex_lock(&channel->lock);
    uint32_t sent = v->sent;
    bool known = task_id && task_id <= sent;
    while (known && v->done < task_id && !channel->gone && asc_media_wait(channel, milli_sec, &until)) continue;
    bool done = known && v->done >= task_id, gone = channel->gone;
    if (done) code = v->codes[task_id % ASC_VPC_CODES];
    pthread_mutex_unlock(&channel->lock);
    asc_media_release(channel);
    if (!known) return FAIL(ASC_MEDIA_PARAMETER, "task_id is %u; the channel's tasks are 1 to %u", task_id, sent);
    if (done) return code;
    return gone ? FAIL(ASC_MEDIA_UNKNOWN, "the channel was destroyed before task %u was done", task_id)
                : FAIL(ASC_MEDIA_TIMEOUT, "task %u isn't done within %d ms", task_id, milli_sec);
}
