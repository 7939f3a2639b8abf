/* acl/dvpp/hi_media_common.h - media functions of the second version: types, formats, codes, memory, waiting.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASCEND_EP_HI_MEDIA_COMMON_H
#define ASCEND_EP_HI_MEDIA_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint8_t hi_u8;
typedef uint16_t hi_u16;
typedef uint32_t hi_u32;
typedef uint64_t hi_u64;
typedef int8_t hi_s8;
typedef int16_t hi_s16;
typedef int32_t hi_s32;
typedef int64_t hi_s64;
typedef float hi_float;
typedef double hi_double;
typedef char hi_char;
typedef void hi_void;

typedef enum { HI_FALSE = 0, HI_TRUE = 1 } hi_bool;

#ifndef HI_NULL
#define HI_NULL 0L
#endif
#define HI_SUCCESS 0
#define HI_FAILURE (-1)
#define HI_INVALID_CHN (-1)
#define ATTRIBUTE

#define HI_MAX_COLOR_COMPONENT 2
#define HI_MAX_USER_DATA_NUM 2

#define DEFAULT_ALIGN 16
#ifndef ALIGN_UP
#define ALIGN_UP(value, step) (((value) + (step) - 1) / (step) * (step))
#endif

#define HI_ERR_SYS_ILLEGAL_PARAM 0xA0028003
#define HI_ERR_SYS_NULL_PTR 0xA0028006
#define HI_ERR_SYS_NOT_SUPPORT 0xA0028008
#define HI_ERR_SYS_NO_MEM 0xA002800C
#define HI_ERR_SYS_NOT_READY 0xA0028010

typedef enum {
    HI_PIXEL_FORMAT_YUV_400 = 0,
    HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420 = 1,
    HI_PIXEL_FORMAT_YVU_SEMIPLANAR_420 = 2,
    HI_PIXEL_FORMAT_YUV_SEMIPLANAR_422 = 3,
    HI_PIXEL_FORMAT_YVU_SEMIPLANAR_422 = 4,
    HI_PIXEL_FORMAT_YUV_SEMIPLANAR_444 = 5,
    HI_PIXEL_FORMAT_YVU_SEMIPLANAR_444 = 6,
    HI_PIXEL_FORMAT_YUYV_PACKED_422 = 7,
    HI_PIXEL_FORMAT_UYVY_PACKED_422 = 8,
    HI_PIXEL_FORMAT_YVYU_PACKED_422 = 9,
    HI_PIXEL_FORMAT_VYUY_PACKED_422 = 10,
    HI_PIXEL_FORMAT_YUV_PACKED_444 = 11,
    HI_PIXEL_FORMAT_RGB_888 = 12,
    HI_PIXEL_FORMAT_BGR_888 = 13,
    HI_PIXEL_FORMAT_ARGB_8888 = 14,
    HI_PIXEL_FORMAT_ABGR_8888 = 15,
    HI_PIXEL_FORMAT_RGBA_8888 = 16,
    HI_PIXEL_FORMAT_BGRA_8888 = 17,
    HI_PIXEL_FORMAT_YUV_SEMI_PLANNER_420_10BIT = 18,
    HI_PIXEL_FORMAT_YVU_SEMI_PLANNER_420_10BIT = 19,
    HI_PIXEL_FORMAT_YVU_PLANAR_420 = 20,
    HI_PIXEL_FORMAT_YVU_PLANAR_422 = 21,
    HI_PIXEL_FORMAT_YVU_PLANAR_444 = 22,
    HI_PIXEL_FORMAT_YUV_SEMIPLANAR_440 = 1000,
    HI_PIXEL_FORMAT_YVU_SEMIPLANAR_440 = 1001,
    HI_PIXEL_FORMAT_FLOAT32 = 1002,
    HI_PIXEL_FORMAT_BUTT = 65535,
    HI_PIXEL_FORMAT_UNKNOWN = 10000
} hi_pixel_format;

typedef enum { HI_COMPRESS_MODE_NONE = 0, HI_COMPRESS_MODE_HFBC } hi_compress_mode;
typedef enum { HI_VIDEO_FORMAT_LINEAR = 0, HI_VIDEO_FORMAT_TILE_64x16 } hi_video_format;
typedef enum {
    HI_VIDEO_FIELD_TOP = 1,
    HI_VIDEO_FIELD_BOTTOM = 2,
    HI_VIDEO_FIELD_INTERLACED = 3,
    HI_VIDEO_FIELD_FRAME = 4
} hi_video_field;
typedef enum { HI_DYNAMIC_RANGE_SDR8 = 0, HI_DYNAMIC_RANGE_SDR10, HI_DYNAMIC_RANGE_HDR10 } hi_dynamic_range;
typedef enum { HI_COLOR_GAMUT_BT601 = 0, HI_COLOR_GAMUT_BT709, HI_COLOR_GAMUT_BT2020 } hi_color_gamut;
typedef enum {
    HI_DATA_BIT_WIDTH_8 = 0,
    HI_DATA_BIT_WIDTH_10,
    HI_DATA_BIT_WIDTH_12,
    HI_DATA_BIT_WIDTH_14,
    HI_DATA_BIT_WIDTH_16
} hi_data_bit_width;
/* Numbers of RTP's payloads, and beyond them. */
typedef enum { HI_PT_JPEG = 26, HI_PT_H264 = 96, HI_PT_H265 = 265, HI_PT_PNG = 1010, HI_PT_BUTT } hi_payload_type;

typedef enum { HI_ID_SYS = 2, HI_ID_VDEC = 5, HI_ID_VGS = 6, HI_ID_VPC = 7, HI_ID_VENC = 8, HI_ID_PNGD = 9 } hi_mod_id;
typedef enum {
    HI_MOD_VDEC = 0,
    HI_MOD_JPEGD,
    HI_MOD_VPC,
    HI_MOD_VENC,
    HI_MOD_JPEGE,
    HI_MOD_PNGD,
    HI_MOD_ALL
} hi_module_type;

typedef enum {
    HI_CSC_MATRIX_BT601_WIDE = 0,
    HI_CSC_MATRIX_BT601_NARROW = 1,
    HI_CSC_MATRIX_BT709_WIDE = 2,
    HI_CSC_MATRIX_BT709_NARROW = 3,
    HI_CSC_MATRIX_BT2020_WIDE = 4,
    HI_CSC_MATRIX_BT2020_NARROW = 5,
    HI_CSC_MATRIX_USER = 100,
    HI_CSC_MATRIX_BUTT = 101
} hi_csc_matrix;
typedef struct hi_csc_coefficient hi_csc_coefficient;

typedef struct {
    hi_void *misc_info_phys_addr;
    hi_void *misc_info_virt_addr;
} hi_video_supplement;

/* A picture of a decoder's or for an encoder, [0]: Y or packed pixels, [1]: the colours of semi-planar formats. */
typedef struct {
    hi_u32 width;
    hi_u32 height;
    hi_video_field field;
    hi_pixel_format pixel_format;
    hi_video_format video_format;
    hi_compress_mode compress_mode;
    hi_dynamic_range dynamic_range;
    hi_color_gamut color_gamut;
    hi_u32 header_stride[HI_MAX_COLOR_COMPONENT];
    hi_u32 width_stride[HI_MAX_COLOR_COMPONENT];
    hi_u32 height_stride[HI_MAX_COLOR_COMPONENT];
    hi_u64 header_phys_addr[HI_MAX_COLOR_COMPONENT];
    hi_u64 phys_addr[HI_MAX_COLOR_COMPONENT];
    hi_void *header_virt_addr[HI_MAX_COLOR_COMPONENT];
    hi_void *virt_addr[HI_MAX_COLOR_COMPONENT];
    hi_u32 time_ref;
    hi_u64 pts;
    hi_u64 user_data[HI_MAX_USER_DATA_NUM];
    hi_u32 frame_flag; /* 0: it was decoded */
    hi_video_supplement supplement;
} hi_video_frame;

typedef struct {
    hi_video_frame v_frame;
    hi_u32 pool_id;
    hi_mod_id mod_id;
} hi_video_frame_info;

typedef struct {
    hi_u32 width;
    hi_u32 height;
} hi_video_size;

typedef struct {
    hi_u32 width;
    hi_u32 height;
    hi_u32 align;
    hi_data_bit_width bit_width;
    hi_pixel_format pixel_format;
    hi_compress_mode compress_mode;
} hi_pic_buf_attr;

typedef struct {
    hi_void *picture_address;
    hi_u32 picture_buffer_size;
    hi_u32 picture_width;
    hi_u32 picture_height;
    hi_u32 picture_width_stride;
    hi_u32 picture_height_stride;
    hi_pixel_format picture_format;
} hi_pic_info;

/* A file in memory. */
typedef struct {
    hi_payload_type type;
    hi_u8 *addr;
    hi_u32 len;
    hi_u64 pts;
} hi_img_stream;

typedef struct {
    hi_u32 width;
    hi_u32 height;
    hi_pixel_format pixel_format;
} hi_img_base_info;

typedef struct {
    hi_u32 width_stride;
    hi_u32 height_stride;
    hi_u64 img_buf_size;
    hi_u64 reserved[2];
} hi_img_align_info;

typedef enum {
    HI_JPEG_RAW_FORMAT_YUV444 = 0,
    HI_JPEG_RAW_FORMAT_YUV422,
    HI_JPEG_RAW_FORMAT_YUV420,
    HI_JPEG_RAW_FORMAT_YUV400,
    HI_JPEG_RAW_FORMAT_YUV440,
    HI_JPEG_RAW_FORMAT_MAX
} hi_jpeg_raw_format;
typedef enum {
    HI_PNG_COLOR_FORMAT_GRAY = 0,
    HI_PNG_COLOR_FORMAT_RGB = 2,
    HI_PNG_COLOR_FORMAT_AGRAY = 4,
    HI_PNG_COLOR_FORMAT_ARGB = 6
} hi_png_color_format;

/* What a file says of itself, and the memory that its picture takes. */
typedef struct {
    hi_u32 width;
    hi_u32 height;
    hi_u32 width_stride;
    hi_u32 height_stride;
    hi_u32 img_buf_size;
    hi_pixel_format pixel_format;
    hi_s32 rotation;
    union {
        hi_jpeg_raw_format jpeg_raw_format;
        hi_jpeg_raw_format raw_format;
        hi_png_color_format color_format;
    };
} hi_img_info;

#define HI_DVPP_EPOLL_IN 0x1
#define HI_DVPP_EPOLL_CTL_ADD 0
#define HI_DVPP_EPOLL_CTL_DEL 1
#define HI_DVPP_EPOLL_CTL_MOD 2
typedef struct {
    hi_u32 events;
    hi_void *data;
} hi_dvpp_epoll_event;

ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_init(void);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_exit(void);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_dvpp_malloc(hi_u32 dev_id, hi_void **dev_ptr, hi_u64 size);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_dvpp_free(hi_void *dev_ptr);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_get_image_align_info(const hi_module_type mod_type[], const hi_u32 mod_num,
                                                           const hi_img_base_info *img_base_info,
                                                           hi_img_align_info *img_align_info);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_set_chn_csc_matrix(hi_mod_id mode, hi_s32 chn, hi_csc_matrix csc_matrix,
                                                         hi_csc_coefficient *csc_coefficient);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_get_chn_csc_matrix(hi_mod_id mode, hi_s32 chn, hi_csc_matrix *csc_matrix,
                                                         hi_csc_coefficient *csc_coefficient);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_create_epoll(hi_s32 size, hi_s32 *epoll_fd);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_ctl_epoll(hi_s32 epoll_fd, hi_s32 operation, hi_s32 fd,
                                                hi_dvpp_epoll_event *event);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_wait_epoll(hi_s32 epoll_fd, hi_dvpp_epoll_event *events, hi_s32 max_events,
                                                 hi_s32 timeout, hi_s32 *event_num);
ACL_FUNC_VISIBILITY hi_s32 hi_mpi_sys_close_epoll(hi_s32 epoll_fd);

#ifdef __cplusplus
}
#endif

#endif
