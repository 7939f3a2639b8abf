/* conv: Y = activation(convolution of X by W + bias + residual), channels first.
 *
 * in:     X [N, C, spatial..], W, bias (absent, or [M]), residual (absent, or the dims of Y)
 *         W is [M, C / group, kernel..], or [group, C / group * taps, M / group] in ASC_LAYOUT_PANEL32.
 *         One to three spatial axes.
 * out:    Y [N, M, spatial..]
 * ints:   asc_conv_params
 *         Positions outside X read as zero, so the padding after X follows from Y's dims.
 *         transposed: Y[o] sums X[i] W[k] over o = i stride + k dilation - pad. W is [M, C / group, kernel..] here too.
 * floats: low, high (the bounds of ASC_ACTIVATION_CLIP)
 */
#include "conv.h"

typedef struct conv_note {
    conv conv;     /* whose pointers are prepare's */
    int depthwise; /* else a product of blocks of channels and pixels */
    int64_t channel_blocks, pixel_blocks;
    int64_t strip_rows, strip_planes; /* of depthwise ones */
    int64_t serial, scratch_bytes;
} conv_note;
ASC_KERNEL_NOTE(conv, conv_note)

static conv_note *note_of(const asc_call *call) {
    return call->note;
}

static int32_t read_weights(const asc_call *call, conv *c) {
    const asc_tensor *w = &call->in[CONV_W];
    c->panels = w->layout == ASC_LAYOUT_PANEL32;
    if (c->panels) {
        ASC_REQUIRE(call,
                    w->rank == 3 && w->dims[0] == c->groups && w->dims[1] == c->group_in * c->taps &&
                        w->dims[2] == c->group_out,
                    "conv: packed weights are [group, C / group * taps, M / group]");
        int64_t bytes = asc_packed_bytes(w->layout, w->dims[1], w->dims[2]);
        ASC_REQUIRE(call, bytes >= 0 && asc_mul_ok(bytes, c->groups, &bytes), "conv: the weights are too large");
        return ASC_OK;
    }
    ASC_REQUIRE(call, w->layout == ASC_LAYOUT_PLAIN && w->rank == call->in[CONV_X].rank,
                "conv: weights are [M, C / group, kernel..]");
    ASC_REQUIRE(call, w->dims[0] == call->out[0].dims[1] && w->dims[1] == c->group_in,
                "conv: the weights do not fit the channels");
    for (int i = 2; i < w->rank; i++)
        ASC_REQUIRE(call, w->dims[i] == conv_params(call)->axes[i - 2].kernel,
                    "conv: the weights do not fit the kernel");
    return ASC_OK;
}

static int32_t read_conv(const asc_call *call, conv *c) {
    int32_t code = ASC_FN(conv_read)(call, 0, 0, c);
    if (code) return code;
    int64_t transposed = conv_params(call)->transposed;
    ASC_REQUIRE(call, transposed == 0 || transposed == 1, "conv: transposed is 0 or 1");
    c->transposed = (int)transposed;
    return read_weights(call, c);
}

/* A 1 x 1 kernel that reads every pixel once, in order: X is the right operand as it lies. */
static int is_pointwise(const conv *c) {
    for (int a = 0; a < AXES; a++)
        if (c->kernel[a] != 1 || c->stride[a] != 1 || c->pad[a] != 0 || c->in[a] != c->out[a]) return 0;
    return 1;
}

/* The product of one group of one image. */
static gemm group_gemm(const conv *c, int64_t image, int64_t group) {
    gemm g = {.m = c->group_out, .n = c->out_size, .k = c->group_in * c->taps, .a_panels = c->panels, .source = c};
    int64_t channel = (image * c->groups + group) * c->group_out;
    if (c->panels) {
        g.a = c->weights + group * (asc_packed_bytes(ASC_LAYOUT_PANEL32, g.k, g.m) / (int64_t)sizeof *g.a);
    } else {
        g.a = c->weights + group * g.m * g.k;
        g.a_row = g.k;
        g.a_k = 1;
    }
    g.b = c->x + (image * c->groups + group) * c->group_in * c->in_size;
    g.b_k = c->in_size;
    g.b_col = 1;
    g.pack = c->transposed     ? ASC_FN(conv_pack_transposed_taps)
             : is_pointwise(c) ? ASC_FN(gemm_pack_strided)
                               : ASC_FN(conv_pack_taps);
    g.c = c->y + channel * c->out_size;
    g.ldc = c->out_size;
    g.k_block = gemm_k_block(g.k, GEMM_MANY_ROWS);
    g.k_to = g.k;
    g.epilogue = c->epilogue;
    if (c->epilogue.bias.data) g.epilogue.bias.data += group * c->group_out;
    if (c->epilogue.residual.data) g.epilogue.residual.data += channel * c->out_size;
    return g;
}

/* Nanoseconds of one thread; only to size chunks. */
static int64_t cost(const conv *c) {
    double macs = (double)c->batch * (double)c->groups * (double)c->group_out * (double)c->out_size *
                  (double)(c->group_in * c->taps + 4);
    double ns = macs / (ASC_VF * (c->group_in > 1 ? 7 : 2));
    return ns > 1e15 ? (int64_t)1e15 : (int64_t)ns;
}

static int is_depthwise(const conv *c) {
    return ASC_FN(conv_slides)(c) || ASC_FN(conv_is_depthwise)(c);
}

/* Strips of rows, and for each as many planes as make a chunk worth claiming. */
static int32_t prepare_depthwise(asc_call *call, const conv *c) {
    int64_t ns = cost(c), chunks = asc_least(ns / 8000 + 1, call->threads * 8), planes = c->batch * c->groups,
            bytes = 0;
    int slides = ASC_FN(conv_slides)(c);
    int64_t rows = slides ? asc_ceil_div(c->out[HEIGHT], asc_ceil_div(chunks, planes)) : ASC_FN(conv_strip_rows)(c);
    int64_t strips = asc_ceil_div(c->out[HEIGHT], rows);
    note_of(call)->strip_rows = rows;
    note_of(call)->strip_planes = asc_ceil_div(planes, asc_ceil_div(chunks, strips));
    note_of(call)->serial = call->threads < 2 || ns < 16000;
    if (!slides)
        bytes = asc_ceil_div(ASC_FN(conv_strip_floats)(c, rows) * (int64_t)sizeof(float), ASC_ALIGN) * ASC_ALIGN;
    note_of(call)->scratch_bytes = bytes;
    call->workspace_bytes = (uint64_t)bytes * (uint64_t)call->threads;
    return ASC_OK;
}

/* Blocks of channels and of pixels, about square: each channel block packs the pixels anew, and each pixel
 * block reads the weights anew. */
static int32_t prepare_gemm(asc_call *call, const conv *c) {
    gemm g = group_gemm(c, 0, 0);
    int64_t products = c->batch * c->groups, panels = asc_ceil_div(g.n, GEMM_PANEL), ns = cost(c), total;
    int64_t channels = c->panels ? 1 : asc_ceil_div(g.m, gemm_row_block(g.k_block, 1)), pixels = 1;
    int64_t wanted = call->threads < 2 || ns < 16000 ? 1
                     : ns / 8000 < call->threads * 4 ? ns / 8000
                                                     : call->threads * 4;
    while (products * channels * pixels < wanted) {
        int64_t tall = g.m / channels, wide = panels / pixels * GEMM_PANEL;
        if (tall >= 2 * GEMM_PANEL && (tall > wide || pixels == panels))
            channels *= 2;
        else if (pixels < panels)
            pixels = 2 * pixels < panels ? 2 * pixels : panels;
        else
            break;
    }
    int64_t rows = c->panels ? 0 : asc_ceil_div(asc_ceil_div(g.m, channels), GEMM_PANEL) * GEMM_PANEL;
    int64_t bytes = ASC_FN(gemm_scratch_bytes)(rows, g.k_block);
    ASC_REQUIRE(call, bytes > 0 && asc_mul_ok(bytes, call->threads, &total), "conv: the operands are too large");
    note_of(call)->channel_blocks = channels;
    note_of(call)->pixel_blocks = pixels;
    note_of(call)->serial = wanted == 1;
    note_of(call)->scratch_bytes = bytes;
    call->workspace_bytes = (uint64_t)total;
    return ASC_OK;
}

int32_t ASC_FN(conv_prepare)(asc_call *call) {
    conv c;
    int32_t code = read_conv(call, &c);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    note_of(call)->conv = c;
    note_of(call)->depthwise = is_depthwise(&c);
    return note_of(call)->depthwise ? prepare_depthwise(call, &c) : prepare_gemm(call, &c);
}

static char *scratch_of(const asc_call *call, int64_t worker) {
    return (char *)call->workspace + worker * note_of(call)->scratch_bytes;
}

static void depthwise_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const conv *c = arg;
    int64_t strip = note_of(call)->strip_rows, strips = asc_ceil_div(c->out[HEIGHT], strip),
            row = chunk % strips * strip;
    int64_t step = note_of(call)->strip_planes, plane = chunk / strips * step;
    int64_t rows = asc_least(strip, c->out[HEIGHT] - row), planes = asc_least(step, c->batch * c->groups - plane);
    if (ASC_FN(conv_slides)(c))
        ASC_FN(conv_slide)(c, plane, planes, row, rows);
    else
        ASC_FN(conv_depthwise)(c, plane, planes, row, rows, (float *)scratch_of(call, worker));
}

static void gemm_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const conv *c = arg;
    int64_t channels = note_of(call)->channel_blocks, pixels = note_of(call)->pixel_blocks;
    int64_t product = chunk / (channels * pixels), pixel = chunk % pixels, channel = chunk / pixels % channels;
    gemm g = group_gemm(c, product / c->groups, product % c->groups);
    int64_t panels = asc_ceil_div(g.n, GEMM_PANEL), blocks = asc_ceil_div(g.m, GEMM_PANEL);
    int64_t row = asc_split_at(blocks, channels, channel) * GEMM_PANEL,
            end = asc_split_at(blocks, channels, channel + 1) * GEMM_PANEL;
    if (end > g.m) end = g.m;
    if (row < end)
        ASC_FN(gemm_block)(&g, row, end - row, asc_split_at(panels, pixels, pixel),
                           asc_split_at(panels, pixels, pixel + 1), (gemm_scratch *)scratch_of(call, worker));
}

static void run_chunks(const asc_call *call, int64_t chunks, asc_chunk_fn fn, conv *c) {
    if (!note_of(call)->serial) {
        asc_parallel(call, chunks, fn, c);
        return;
    }
    for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, c);
}

int32_t ASC_FN(conv_run)(const asc_call *call) {
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    conv c = ASC_FN(conv_at)(call, &note_of(call)->conv);
    if (note_of(call)->depthwise) {
        int64_t strips = asc_ceil_div(c.out[HEIGHT], note_of(call)->strip_rows);
        run_chunks(call, asc_ceil_div(c.batch * c.groups, note_of(call)->strip_planes) * strips, depthwise_chunk, &c);
        return ASC_OK;
    }
    for (int64_t i = 0; i < call->threads; i++) ((gemm_scratch *)scratch_of(call, i))->packed = NULL;
    run_chunks(call, c.batch * c.groups * note_of(call)->channel_blocks * note_of(call)->pixel_blocks, gemm_chunk, &c);
    return ASC_OK;
}

static const char *form_of(const conv *c) {
    if (ASC_FN(conv_slides)(c)) return "slides";
    if (ASC_FN(conv_is_depthwise)(c)) return "depthwise_strips";
    if (c->transposed) return "product_of_transposed_taps";
    return is_pointwise(c) ? "product_of_pixels" : "product_of_taps";
}

void ASC_FN(conv_schedule)(const asc_call *call, char *text, size_t room) {
    const conv_note *note = note_of(call);
    const conv *c = &note->conv;
    if (asc_numel(&call->out[0]) == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    int64_t threads = note->serial ? 1 : call->threads;
    if (note->depthwise)
        asc_format(text, room, "%s strip_rows=%ld planes=%ld threads=%ld", form_of(c), note->strip_rows,
                   note->strip_planes, threads);
    else
        asc_format(text, room, "%s channel_blocks=%ld pixel_blocks=%ld k_block=%ld threads=%ld", form_of(c),
                   note->channel_blocks, note->pixel_blocks, group_gemm(c, 0, 0).k_block, threads);
}
