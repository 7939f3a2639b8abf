/* media_channel.c - a table of channels for each part of the media functions. */
#include "media_channel.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "deadline.h"

enum { MOST = 256 };

static const struct {
    const char *name;
    uint32_t number;
} parts[ASC_MEDIA_COUNT] = {
    [ASC_MEDIA_VDEC] = {"vdec", HI_ID_VDEC},
    [ASC_MEDIA_VPC] = {"vpc", HI_ID_VPC},
    [ASC_MEDIA_VENC] = {"venc", HI_ID_VENC},
    [ASC_MEDIA_PNGD] = {"pngd", HI_ID_PNGD},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static asc_media_channel *channels[ASC_MEDIA_COUNT][MOST];
static atomic_bool is_ready;

hi_s32 asc_media_code(asc_media part, asc_media_error error) {
    return (hi_s32)(0xA0008000u | parts[part].number << 16 | (uint32_t)error);
}

void asc_media_set_ready(bool ready) {
    atomic_store(&is_ready, ready);
}

static asc_media_channel *channel_new(void *state, void (*end)(void *), void (*drop)(asc_media_item *)) {
    asc_media_channel *channel = calloc(1, sizeof *channel);
    if (!channel) return NULL;
    *channel = (asc_media_channel){.users = 1, .state = state, .end = end, .drop = drop};
    pthread_mutex_init(&channel->lock, NULL);
    asc_deadline_condition(&channel->changed);
    return channel;
}

/* Holds the table's lock. */
static hi_s32 place(asc_media part, hi_s32 *chn) {
    if (*chn >= 0)
        return channels[part][*chn] ? ASC_MEDIA_FAIL(part, ASC_MEDIA_EXISTS, "channel %d of %s was created before",
                                                     *chn, parts[part].name)
                                    : HI_SUCCESS;
    for (hi_s32 i = 0; i < MOST; i++)
        if (!channels[part][i]) {
            *chn = i;
            return HI_SUCCESS;
        }
    return ASC_MEDIA_FAIL(part, ASC_MEDIA_NO_MEMORY, "all %d channels of %s are in use", MOST, parts[part].name);
}

static hi_s32 enter(asc_media part, hi_s32 *chn, asc_media_channel *channel) {
    if (!channel) return ASC_MEDIA_FAIL(part, ASC_MEDIA_NO_MEMORY, "this machine has no memory left for a channel");
    if (!atomic_load(&is_ready))
        return ASC_MEDIA_FAIL(part, ASC_MEDIA_NOT_READY, "the media functions aren't ready; call hi_mpi_sys_init");
    if (*chn < -1 || *chn >= MOST)
        return ASC_MEDIA_FAIL(part, ASC_MEDIA_CHANNEL_ID, "channel %d of %s; their numbers are 0 to %d", *chn,
                              parts[part].name, MOST - 1);
    pthread_mutex_lock(&lock);
    hi_s32 code = place(part, chn);
    if (code == HI_SUCCESS) channels[part][*chn] = channel;
    pthread_mutex_unlock(&lock);
    return code;
}

hi_s32 asc_media_create(asc_media part, hi_s32 *chn, void *state, void (*end)(void *), void (*drop)(asc_media_item *)) {
    asc_media_channel *channel = state ? channel_new(state, end, drop) : NULL;
    hi_s32 code = enter(part, chn, channel);
    if (code != HI_SUCCESS && channel) asc_media_release(channel);
    if (!channel && state) end(state);
    return code;
}

static hi_s32 find(asc_media part, hi_s32 chn, asc_media_channel **channel) {
    if (chn < 0 || chn >= MOST)
        return ASC_MEDIA_FAIL(part, ASC_MEDIA_CHANNEL_ID, "channel %d of %s; their numbers are 0 to %d", chn,
                              parts[part].name, MOST - 1);
    *channel = channels[part][chn];
    return *channel ? HI_SUCCESS
                    : ASC_MEDIA_FAIL(part, ASC_MEDIA_UNKNOWN, "%s has no channel %d; call hi_mpi_%s_create_chn",
                                     parts[part].name, chn, parts[part].name);
}

hi_s32 asc_media_hold(asc_media part, hi_s32 chn, asc_media_channel **channel) {
    pthread_mutex_lock(&lock);
    hi_s32 code = find(part, chn, channel);
    if (code == HI_SUCCESS) (*channel)->users++;
    pthread_mutex_unlock(&lock);
    return code;
}

void asc_media_release(asc_media_channel *channel) {
    pthread_mutex_lock(&lock);
    bool last = --channel->users == 0;
    pthread_mutex_unlock(&lock);
    if (!last) return;
    while (channel->first) {
        asc_media_item *item = channel->first;
        channel->first = item->next;
        channel->drop(item);
    }
    channel->end(channel->state);
    pthread_cond_destroy(&channel->changed);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
}

hi_s32 asc_media_lock(asc_media part, hi_s32 chn, asc_media_channel **channel) {
    hi_s32 code = asc_media_hold(part, chn, channel);
    if (code == HI_SUCCESS) pthread_mutex_lock(&(*channel)->lock);
    return code;
}

void asc_media_unlock(asc_media_channel *channel) {
    pthread_mutex_unlock(&channel->lock);
    asc_media_release(channel);
}

hi_s32 asc_media_start(asc_media part, hi_s32 chn, bool started) {
    asc_media_channel *channel = NULL;
    hi_s32 code = asc_media_lock(part, chn, &channel);
    if (code != HI_SUCCESS) return code;
    channel->started = started;
    asc_media_unlock(channel);
    return HI_SUCCESS;
}

hi_s32 asc_media_destroy(asc_media part, hi_s32 chn) {
    asc_media_channel *channel = NULL;
    pthread_mutex_lock(&lock);
    hi_s32 code = find(part, chn, &channel);
    if (code == HI_SUCCESS) channels[part][chn] = NULL;
    pthread_mutex_unlock(&lock);
    if (code != HI_SUCCESS) return code;
    pthread_mutex_lock(&channel->lock);
    channel->gone = true;
    pthread_cond_broadcast(&channel->changed);
    pthread_mutex_unlock(&channel->lock);
    asc_media_release(channel);
    return HI_SUCCESS;
}

bool asc_media_wait(asc_media_channel *channel, int32_t milliseconds, const struct timespec *until) {
    if (milliseconds < 0) return pthread_cond_wait(&channel->changed, &channel->lock) == 0;
    return milliseconds > 0 && pthread_cond_timedwait(&channel->changed, &channel->lock, until) == 0;
}

void asc_media_put(asc_media_channel *channel, asc_media_item *item) {
    item->next = NULL;
    pthread_mutex_lock(&channel->lock);
    if (channel->last && channel->first)
        channel->last->next = item;
    else
        channel->first = item;
    channel->last = item;
    channel->waiting++;
    pthread_cond_broadcast(&channel->changed);
    pthread_mutex_unlock(&channel->lock);
}

hi_s32 asc_media_take(asc_media part, asc_media_channel *channel, int32_t milliseconds, asc_media_item **item) {
    struct timespec until = asc_deadline(milliseconds);
    pthread_mutex_lock(&channel->lock);
    while (!channel->first && !channel->gone && asc_media_wait(channel, milliseconds, &until)) continue;
    *item = channel->gone ? NULL : channel->first;
    if (*item) {
        channel->first = (*item)->next;
        channel->waiting--;
    }
    bool gone = channel->gone;
    pthread_mutex_unlock(&channel->lock);
    if (*item) return HI_SUCCESS;
    /* Programs ask again and again: no failure to report. */
    return asc_media_code(part, gone ? ASC_MEDIA_UNKNOWN : ASC_MEDIA_EMPTY);
}
