/* media_system.c - what the second version's media functions share: beginning and end, memory, strides, waiting. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "context.h"
#include "media_channel.h"
#include "memory.h"
#include "pixels.h"

#define FAIL(code, ...) ((hi_s32)asc_acl_fail((aclError)(code), __VA_ARGS__))
#define NEED(pointer)                                                                      \
    do {                                                                                   \
        if (!(pointer)) return FAIL(HI_ERR_SYS_NULL_PTR, "%s must not be NULL", #pointer); \
    } while (0)

hi_s32 hi_mpi_sys_init(void) {
    ASC_ENTER();
    if (!asc_peek_context())
        return FAIL(HI_ERR_SYS_NOT_READY, "this thread has no device; call aclInit and aclrtSetDevice first");
    asc_media_set_ready(true);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_sys_exit(void) {
    ASC_ENTER();
    asc_media_set_ready(false);
    return HI_SUCCESS;
}

hi_s32 hi_mpi_dvpp_malloc(hi_u32 dev_id, hi_void **dev_ptr, hi_u64 size) {
    ASC_ENTER();
    NEED(dev_ptr);
    if (!size) return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "size is 0");
    if (asc_device_check(dev_id) != ACL_SUCCESS) return (hi_s32)HI_ERR_SYS_ILLEGAL_PARAM;
    *dev_ptr = asc_memory_new(size, ASC_PLACE_DEVICE, (int32_t)dev_id);
    return *dev_ptr ? HI_SUCCESS : (hi_s32)HI_ERR_SYS_NO_MEM;
}

hi_s32 hi_mpi_dvpp_free(hi_void *dev_ptr) {
    ASC_ENTER();
    NEED(dev_ptr);
    return (hi_s32)asc_memory_free(dev_ptr, ASC_PLACE_DEVICE, (aclError)HI_ERR_SYS_ILLEGAL_PARAM);
}

/* Pixels of a row, and rows, to which each part rounds. */
static const struct {
    hi_u32 across, down;
} aligned[] = {
    [HI_MOD_VDEC] = {16, 2},  [HI_MOD_JPEGD] = {64, 16}, [HI_MOD_VPC] = {16, 2},   [HI_MOD_VENC] = {16, 2},
    [HI_MOD_JPEGE] = {16, 2}, [HI_MOD_PNGD] = {128, 16}, [HI_MOD_ALL] = {128, 16},
};

hi_s32 hi_mpi_sys_get_image_align_info(const hi_module_type mod_type[], const hi_u32 mod_num,
                                       const hi_img_base_info *img_base_info, hi_img_align_info *img_align_info) {
    ASC_ENTER();
    NEED(mod_type);
    NEED(img_base_info);
    NEED(img_align_info);
    hi_u32 wide = 1, high = 1;
    if (!mod_num || mod_num > HI_MOD_ALL + 1) return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "mod_num is %u", mod_num);
    for (hi_u32 i = 0; i < mod_num; i++) {
        if (mod_type[i] > HI_MOD_ALL)
            return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "mod_type[%u] is %d, no hi_module_type", i, (int)mod_type[i]);
        if (aligned[mod_type[i]].across > wide) wide = aligned[mod_type[i]].across;
        if (aligned[mod_type[i]].down > high) high = aligned[mod_type[i]].down;
    }
    asc_picture p = {.format = (acldvppPixelFormat)img_base_info->pixel_format,
                     .width = img_base_info->width,
                     .height = img_base_info->height};
    if (!p.width || !p.height || p.width > 65536 || p.height > 65536)
        return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "the picture has %u by %u pixels", p.width, p.height);
    if (!asc_pixel_bytes(p.format))
        return FAIL(HI_ERR_SYS_NOT_SUPPORT, "pixel_format is %d; there are formats 0 to 17, 1000 and 1001",
                    (int)p.format);
    p.width_stride = (p.width + wide - 1) / wide * wide * asc_pixel_bytes(p.format);
    p.height_stride = (p.height + high - 1) / high * high;
    memset(img_align_info, 0, sizeof *img_align_info);
    img_align_info->width_stride = p.width_stride;
    img_align_info->height_stride = p.height_stride;
    img_align_info->img_buf_size = asc_picture_room(&p);
    return HI_SUCCESS;
}

/* ---- waiting for descriptors ------------------------------------------------------------------------------ */

hi_s32 hi_mpi_sys_create_epoll(hi_s32 size, hi_s32 *epoll_fd) {
    ASC_ENTER();
    NEED(epoll_fd);
    if (size <= 0) return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "size is %d; it is positive", size);
    *epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return *epoll_fd >= 0 ? HI_SUCCESS : FAIL(HI_ERR_SYS_NO_MEM, "there are no more descriptors: %s", strerror(errno));
}

hi_s32 hi_mpi_sys_ctl_epoll(hi_s32 epoll_fd, hi_s32 operation, hi_s32 fd, hi_dvpp_epoll_event *event) {
    ASC_ENTER();
    static const int operations[] = {EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD};
    if (operation < HI_DVPP_EPOLL_CTL_ADD || operation > HI_DVPP_EPOLL_CTL_MOD)
        return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "operation is %d, no HI_DVPP_EPOLL_CTL_", operation);
    if (operation != HI_DVPP_EPOLL_CTL_DEL) NEED(event);
    struct epoll_event one = {.events = EPOLLIN, .data.ptr = event ? event->data : NULL};
    if (epoll_ctl(epoll_fd, operations[operation], fd, &one) == 0) return HI_SUCCESS;
    return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "epoll_fd is %d and fd is %d: %s", epoll_fd, fd, strerror(errno));
}

hi_s32 hi_mpi_sys_wait_epoll(hi_s32 epoll_fd, hi_dvpp_epoll_event *events, hi_s32 max_events, hi_s32 timeout,
                             hi_s32 *event_num) {
    ASC_ENTER();
    NEED(events);
    NEED(event_num);
    if (max_events <= 0) return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "max_events is %d; it is positive", max_events);
    enum { MOST = 64 };
    struct epoll_event found[MOST];
    int count = epoll_wait(epoll_fd, found, max_events < MOST ? max_events : MOST, timeout);
    if (count < 0 && errno == EINTR) count = 0;
    if (count < 0) return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "epoll_fd is %d: %s", epoll_fd, strerror(errno));
    for (int i = 0; i < count; i++)
        events[i] = (hi_dvpp_epoll_event){.events = HI_DVPP_EPOLL_IN, .data = found[i].data.ptr};
    *event_num = count;
    return HI_SUCCESS;
}

hi_s32 hi_mpi_sys_close_epoll(hi_s32 epoll_fd) {
    ASC_ENTER();
    struct epoll_event none;
    /* Nothing but a descriptor of this kind is closed. */
    if (epoll_fd < 0 || (epoll_wait(epoll_fd, &none, 1, 0) < 0 && errno != EINTR) || close(epoll_fd) != 0)
        return FAIL(HI_ERR_SYS_ILLEGAL_PARAM, "epoll_fd is %d: %s", epoll_fd, strerror(errno));
    return HI_SUCCESS;
}
