/* media_channel.h - channels of the second version's media functions: numbered by the program, used by its threads, and
 * a list of what is ready to be fetched. */
#ifndef ASC_ACL_MEDIA_CHANNEL_H
#define ASC_ACL_MEDIA_CHANNEL_H

#include <pthread.h>

#include "acl/dvpp/hi_dvpp.h"
#include "error.h"

typedef enum asc_media { ASC_MEDIA_VDEC, ASC_MEDIA_VPC, ASC_MEDIA_VENC, ASC_MEDIA_PNGD, ASC_MEDIA_COUNT } asc_media;

/* Codes are 0xA0ss8000 and one of these, ss being the part's number. */
typedef enum asc_media_error {
    ASC_MEDIA_CHANNEL_ID = 0x2,
    ASC_MEDIA_PARAMETER = 0x3,
    ASC_MEDIA_EXISTS = 0x4,
    ASC_MEDIA_UNKNOWN = 0x5,
    ASC_MEDIA_NULL = 0x6,
    ASC_MEDIA_UNSUPPORTED = 0x8,
    ASC_MEDIA_NOT_PERMITTED = 0x9,
    ASC_MEDIA_NO_MEMORY = 0xC,
    ASC_MEDIA_EMPTY = 0xE,
    ASC_MEDIA_NOT_READY = 0x10,
    ASC_MEDIA_ADDRESS = 0x11,
    ASC_MEDIA_TIMEOUT = 0x14
} asc_media_error;

typedef struct asc_media_item {
    struct asc_media_item *next;
} asc_media_item;

/* Held while `users` isn't 0; who waits in one that was destroyed is woken. */
typedef struct asc_media_channel {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t users, waiting; /* items */
    bool gone, started;
    asc_media_item *first, *last;
    void *state;
    void (*end)(void *state);           /* when nobody uses it any more */
    void (*drop)(asc_media_item *item); /* what nobody fetched */
} asc_media_channel;

hi_s32 asc_media_code(asc_media part, asc_media_error error);
/* Fails with that code; the text as asc_acl_fail's. */
#define ASC_MEDIA_FAIL(part, error, ...) ((hi_s32)asc_acl_fail((aclError)asc_media_code(part, error), __VA_ARGS__))
#define ASC_MEDIA_NEED(part, pointer)                                                                 \
    do {                                                                                              \
        if (!(pointer)) return ASC_MEDIA_FAIL(part, ASC_MEDIA_NULL, "%s must not be NULL", #pointer); \
    } while (0)

/* hi_mpi_sys_init's. */
void asc_media_set_ready(bool ready);

/* A channel of that number; *chn is -1: the first that is free. The state is the channel's, and ends with it, also
 * where this fails. */
hi_s32 asc_media_create(asc_media part, hi_s32 *chn, void *state, void (*end)(void *), void (*drop)(asc_media_item *));
hi_s32 asc_media_destroy(asc_media part, hi_s32 chn);
/* The channel, held until asc_media_release. */
hi_s32 asc_media_hold(asc_media part, hi_s32 chn, asc_media_channel **channel);
void asc_media_release(asc_media_channel *channel);
/* The same, with its lock held until asc_media_unlock. */
hi_s32 asc_media_lock(asc_media part, hi_s32 chn, asc_media_channel **channel);
void asc_media_unlock(asc_media_channel *channel);
/* Says whether the channel takes what is sent to it. */
hi_s32 asc_media_start(asc_media part, hi_s32 chn, bool started);

/* With the lock held: waits until something changes; false at the deadline (-1: none). */
bool asc_media_wait(asc_media_channel *channel, int32_t milliseconds, const struct timespec *until);
void asc_media_put(asc_media_channel *channel, asc_media_item *item);
/* The first item; waits so many milliseconds (-1: as long as it takes). */
hi_s32 asc_media_take(asc_media part, asc_media_channel *channel, int32_t milliseconds, asc_media_item **item);

#endif
