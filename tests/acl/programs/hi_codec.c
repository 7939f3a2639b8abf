/* hi_codec.c - `hi_codec png`: a picture of 64 by 48 pixels goes through the second version's JPEG encoder and decoder,
 * on the way of programs with epoll; then the PNG file, which is 3 by 2 pixels. Prints what came of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"
#include "acl/dvpp/hi_dvpp.h"

enum { WIDTH = 64, HEIGHT = 48, BYTES = WIDTH * HEIGHT * 3 / 2 };

static void *device(uint32_t size, const void *bytes) {
    void *made = NULL;
    if (hi_mpi_dvpp_malloc(0, &made, size) != HI_SUCCESS) exit(3);
    if (bytes) aclrtMemcpy(made, size, bytes, size, ACL_MEMCPY_HOST_TO_DEVICE);
    return made;
}

/* The file, in memory of the host. */
static uint32_t encode(const uint8_t *bytes, uint8_t *file, uint32_t room) {
    hi_venc_chn_attr attr;
    hi_venc_start_param start = {-1};
    hi_venc_jpeg_param jpeg;
    hi_venc_pack pack;
    hi_venc_stream stream = {&pack, 1, 0};
    hi_dvpp_epoll_event event = {HI_DVPP_EPOLL_IN, &pack}, found = {0, NULL};
    hi_s32 epoll = -1, count = 0;
    memset(&attr, 0, sizeof attr);
    attr.venc_attr.type = HI_PT_H264;
    printf("h264 %x\n", (unsigned)hi_mpi_venc_create_chn(1, &attr));
    attr.venc_attr.type = HI_PT_JPEG;
    printf("encoder %x\n", (unsigned)hi_mpi_venc_create_chn(1, &attr));
    hi_video_frame_info frame;
    memset(&frame, 0, sizeof frame);
    frame.v_frame.width = WIDTH;
    frame.v_frame.height = HEIGHT;
    frame.v_frame.pixel_format = HI_PIXEL_FORMAT_YUV_SEMIPLANAR_420;
    frame.v_frame.width_stride[0] = WIDTH;
    frame.v_frame.virt_addr[0] = device(BYTES, bytes);
    frame.v_frame.virt_addr[1] = (uint8_t *)frame.v_frame.virt_addr[0] + WIDTH * HEIGHT;
    printf("stopped %x\n", (unsigned)hi_mpi_venc_send_frame(1, &frame, -1));
    hi_mpi_venc_start_chn(1, &start);
    hi_mpi_venc_get_jpeg_param(1, &jpeg);
    jpeg.qfactor = 101;
    printf("quality %x\n", (unsigned)hi_mpi_venc_set_jpeg_param(1, &jpeg));
    jpeg.qfactor = 95;
    hi_mpi_venc_set_jpeg_param(1, &jpeg);
    hi_u32 size = 0;
    hi_mpi_venc_get_jpege_predicted_size(&frame, &jpeg, &size);
    hi_mpi_sys_create_epoll(10, &epoll);
    hi_mpi_sys_ctl_epoll(epoll, HI_DVPP_EPOLL_CTL_ADD, hi_mpi_venc_get_fd(1), &event);
    printf("empty %x\n", (unsigned)hi_mpi_venc_get_stream(1, &stream, 0));
    hi_mpi_sys_wait_epoll(epoll, &found, 1, 0, &count);
    printf("quiet %d\n", count);
    printf("sent %x\n", (unsigned)hi_mpi_venc_send_frame(1, &frame, -1));
    hi_mpi_sys_wait_epoll(epoll, &found, 1, 1000, &count);
    printf("rung %d %d\n", count, found.data == &pack);
    printf("got %x\n", (unsigned)hi_mpi_venc_get_stream(1, &stream, -1));
    hi_mpi_sys_wait_epoll(epoll, &found, 1, 0, &count);
    printf("quiet again %d\n", count);
    printf("input %d\n", pack.input_addr == (hi_u64)(uintptr_t)frame.v_frame.virt_addr[0]);
    printf("predicted %d\n", size >= pack.len && pack.len <= room);
    aclrtMemcpy(file, room, pack.addr, pack.len, ACL_MEMCPY_DEVICE_TO_HOST);
    hi_u32 bytes_of_file = pack.len;
    printf("released %x\n", (unsigned)hi_mpi_venc_release_stream(1, &stream));
    printf("closed %x\n", (unsigned)hi_mpi_sys_close_epoll(epoll));
    hi_mpi_venc_stop_chn(1);
    printf("ended %x\n", (unsigned)hi_mpi_venc_destroy_chn(1));
    hi_mpi_dvpp_free(frame.v_frame.virt_addr[0]);
    return bytes_of_file;
}

static void decode(const uint8_t *file, uint32_t size, const uint8_t *bytes) {
    hi_vdec_chn_attr attr;
    hi_img_info info;
    hi_video_frame_info frame;
    hi_vdec_stream stream = {.end_of_frame = HI_TRUE, .need_display = HI_TRUE, .pts = 7, .len = size}, got;
    memset(&attr, 0, sizeof attr);
    attr.type = HI_PT_H265;
    printf("h265 %x\n", (unsigned)hi_mpi_vdec_create_chn(0, &attr));
    attr.type = HI_PT_JPEG;
    hi_mpi_vdec_create_chn(0, &attr);
    stream.addr = (hi_u8 *)(uintptr_t)file;
    printf("info %x", (unsigned)hi_mpi_dvpp_get_image_info(HI_PT_JPEG, &stream, &info));
    printf(" %u %u %u %u %u\n", info.width, info.height, info.width_stride, info.height_stride, info.img_buf_size);
    hi_vdec_pic_info out = {.pixel_format = HI_PIXEL_FORMAT_UNKNOWN, .buffer_size = info.img_buf_size};
    out.vir_addr = (hi_u64)(uintptr_t)device(info.img_buf_size, NULL);
    stream.addr = device(size, file);
    printf("unstarted %x\n", (unsigned)hi_mpi_vdec_send_stream(0, &stream, &out, -1));
    hi_mpi_vdec_start_recv_stream(0);
    printf("nothing %x\n", (unsigned)hi_mpi_vdec_get_frame(0, &frame, NULL, &got, 10));
    printf("sent %x\n", (unsigned)hi_mpi_vdec_send_stream(0, &stream, &out, -1));
    printf("frame %x\n", (unsigned)hi_mpi_vdec_get_frame(0, &frame, NULL, &got, -1));
    hi_video_frame *v = &frame.v_frame;
    printf("shown %u %u %d %u %d\n", v->width, v->height, (int)v->pixel_format, v->frame_flag, got.addr == stream.addr);
    uint8_t *host = malloc(info.img_buf_size);
    aclrtMemcpy(host, info.img_buf_size, v->virt_addr[0], info.img_buf_size, ACL_MEMCPY_DEVICE_TO_HOST);
    int most = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) most = abs(host[i] - bytes[i]) > most ? abs(host[i] - bytes[i]) : most;
    printf("difference %d\n", most < 12);
    stream.len = size / 2; /* a file that ends early is a picture all the same; one without a head is not */
    aclrtMemset(stream.addr, size, 0, 64);
    hi_mpi_vdec_send_stream(0, &stream, &out, -1);
    hi_mpi_vdec_get_frame(0, &frame, NULL, &got, -1);
    printf("broken %u\n", frame.v_frame.frame_flag);
    out.buffer_size = 10;
    aclrtMemcpy(stream.addr, size, file, size, ACL_MEMCPY_HOST_TO_DEVICE);
    printf("short %x\n", (unsigned)hi_mpi_vdec_send_stream(0, &stream, &out, -1));
    stream.len = 0;
    stream.end_of_stream = HI_TRUE;
    printf("last %x\n", (unsigned)hi_mpi_vdec_send_stream(0, &stream, &out, -1));
    hi_mpi_vdec_stop_recv_stream(0);
    printf("ended %x\n", (unsigned)hi_mpi_vdec_destroy_chn(0));
    free(host);
}

static void png(const char *path) {
    uint8_t file[4096], pixels[24];
    hi_pngd_chn_attr attr = {0, 0};
    hi_img_info info;
    hi_pic_info out, got;
    hi_img_stream stream = {.type = HI_PT_PNG, .addr = file}, back;
    FILE *f = fopen(path, "rb");
    stream.len = f ? (hi_u32)fread(file, 1, sizeof file, f) : 0;
    if (f) fclose(f);
    hi_mpi_pngd_create_chn(5, &attr);
    printf("png %x", (unsigned)hi_mpi_png_get_image_info(&stream, &info));
    printf(" %u %u %u %u %d\n", info.width, info.height, info.width_stride, info.height_stride, (int)info.color_format);
    memset(&out, 0, sizeof out);
    out.picture_format = HI_PIXEL_FORMAT_RGB_888;
    out.picture_width_stride = 12;
    out.picture_height_stride = 2;
    out.picture_buffer_size = sizeof pixels;
    out.picture_address = device(sizeof pixels, NULL);
    stream.addr = device(stream.len, file);
    printf("sent %x\n", (unsigned)hi_mpi_pngd_send_stream(5, &stream, &out, -1));
    printf("read %x\n", (unsigned)hi_mpi_pngd_get_image_data(5, &got, &back, -1));
    aclrtMemcpy(pixels, sizeof pixels, got.picture_address, sizeof pixels, ACL_MEMCPY_DEVICE_TO_HOST);
    printf("pixels");
    for (int i = 0; i < 24; i++)
        if (i % 12 < 9) printf(" %d", pixels[i]);
    printf("\n");
    printf("drained %x\n", (unsigned)hi_mpi_pngd_get_image_data(5, &got, &back, 0));
    hi_mpi_pngd_destroy_chn(5);
}

int main(int argc, char **argv) {
    static uint8_t bytes[BYTES], file[BYTES];
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(i < WIDTH * HEIGHT ? i % WIDTH * 3 : 128);
    aclInit(NULL);
    aclrtSetDevice(0);
    hi_mpi_sys_init();
    uint32_t size = encode(bytes, file, sizeof file);
    decode(file, size, bytes);
    if (argc > 1) png(argv[1]);
    hi_mpi_sys_exit();
    return 0;
}
