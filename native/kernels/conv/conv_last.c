/* conv_last: Y = activation(convolution of X by W + bias + residual), channels last.
 *
 * in:     X [N, spatial.., C], or [N, C, spatial..] when channels_first is 1; W; bias (absent, or [M]);
 *         residual (absent, or the dims of Y). One to three spatial axes.
 *         W is [group, taps * C / group, M / group] in ASC_LAYOUT_PANEL32, a row for each tap and channel, the
 *         channels of a tap together; or [taps, M] when each group has one input and one output channel.
 *         Or W is in ASC_LAYOUT_VNNI2_32, the channels of a tap and group made even by a zero; an odd number of
 *         them takes one group. Then X is rounded to bfloat16 as well, and sums stay float32.
 *         X may be bfloat16 when W is in VNNI2_32 or its channels are apart, and its own channels come last.
 * out:    Y [N, spatial.., M]; bfloat16 together with the residual, unless the epilogue rounds.
 * ints:   asc_conv_last_params
 * floats: asc_conv_floats
 * Y may lie where the residual does.
 *
 * conv_joined: conv_last of min(x_high, max(x_low, scale * J + shift)), where J are several images, X the first of
 * them, one behind the other along the channels. Behind the residual it takes scale and shift (absent, or [C of all])
 * and the other images, of X's type. X has channels last, and W isn't of channels apart. What is padded is 0. floats:
 * asc_conv_joined_floats
 *
 * conv_transposed_last: Y[o] sums X[i] W[k] over o = i stride + k - pad; one group, float32, no dilation, no stride
 * beyond the kernel. The taps of W, which conv_last has in their order, are those of the phases in turn
 * (conv_phases.c), each backwards.
 */
#include <string.h>

#include "conv_dense.h"

static int32_t read_weights(const asc_call *call, conv *c) {
    const asc_tensor *w = &call->in[CONV_W];
    c->vnni2 = w->layout == ASC_LAYOUT_VNNI2_32;
    c->group_depth = c->vnni2 ? asc_ceil_div(c->group_in, 2) : c->group_in;
    c->depth = c->group_depth * c->groups;
    if (c->vnni2 && c->y_narrow && c->epilogue.activation == ASC_ACTIVATION_GELU)
        c->epilogue.activation = EPILOGUE_GELU_COARSE;
    ASC_REQUIRE(call, !c->joined || (c->x_last && !conv_is_channelwise(c)),
                "conv_joined: channels last, of which several are summed");
    ASC_REQUIRE(call, c->vnni2 == (w->dtype == ASC_BFLOAT16), "conv_last: pairs are of bfloat16");
    if (conv_is_channelwise(c)) {
        ASC_REQUIRE(
            call,
            w->layout == ASC_LAYOUT_PLAIN && w->rank == 2 && w->dims[0] == c->taps && w->dims[1] == c->out_channels,
            "conv_last: the weights of channels apart are [taps, M]");
        ASC_REQUIRE(call, c->x_last, "conv_last: channels apart come last");
        return ASC_OK;
    }
    ASC_REQUIRE(call, c->vnni2 || !c->x_narrow, "conv_last: a bfloat16 image takes weights in VNNI2_32");
    ASC_REQUIRE(call, !c->vnni2 || c->groups == 1 || c->group_in % 2 == 0,
                "conv_last: VNNI2_32 takes an even number of channels in a group");
    int64_t rows = c->rows = c->group_depth * c->taps;
    ASC_REQUIRE(call,
                (c->vnni2 || w->layout == ASC_LAYOUT_PANEL32) && w->rank == 3 && w->dims[0] == c->groups &&
                    w->dims[1] == (c->vnni2 ? 2 : 1) * rows && w->dims[2] == c->group_out,
                "conv_last: weights are packed [group, taps * C / group, M / group]");
    int64_t bytes = asc_packed_bytes(w->layout, w->dims[1], w->dims[2]);
    ASC_REQUIRE(call, bytes >= 0 && asc_mul_ok(bytes, c->groups, &bytes), "conv_last: the weights are too large");
    return ASC_OK;
}

static int32_t read_conv(const asc_call *call, conv *c) {
    ASC_REQUIRE(call, call->n_ints >= ASC_MEMBERS(asc_conv_last_params), "conv_last: wrong number of arguments");
    int64_t first = conv_last_params(call)->channels_first;
    ASC_REQUIRE(call, first == 0 || first == 1, "conv_last: channels_first is 0 or 1");
    int32_t code = ASC_FN(conv_read)(call, !first, 1, c);
    if (code) return code;
    c->x_narrow = call->in[CONV_X].dtype == ASC_BFLOAT16;
    c->y_narrow = call->out[0].dtype == ASC_BFLOAT16;
    ASC_REQUIRE(call, c->x_last || !c->x_narrow, "conv_last: a bfloat16 image has channels last");
    conv_ending end = ASC_FN(conv_ending_of)(&c->epilogue, c->y_narrow);
    ASC_REQUIRE(call, !c->y_narrow || (end.whole && !end.rounds), "conv_last: what is rounded has a float32 result");
    ASC_REQUIRE(call, c->taps <= ASC_CONV_MOST_TAPS, "conv_last: the kernel is too large");
    for (int a = 0; a < AXES; a++) {
        c->whole[a] = c->out[a];
        c->apart[a] = 1;
        c->held[a] = c->kernel[a];
    }
    return read_weights(call, c);
}

/* Whether some window reads the input at this tap of an axis. */
static int is_tap_used(const conv *c, int axis, int64_t tap) {
    int64_t before = c->pad[axis] - tap * c->dilation[axis];
    int64_t place = before > 0 ? asc_ceil_div(before, c->stride[axis]) : 0;
    return place < c->out[axis] && place * c->stride[axis] < c->in[axis] + before;
}

/* Leaves out the outer taps that read padding only: those of wide dilations on small images. */
static void drop_unused_taps(conv *c) {
    c->taps = 1;
    for (int a = 0; a < AXES; a++) {
        int64_t first = 0, end = c->kernel[a];
        while (first + 1 < end && !is_tap_used(c, a, first)) first++;
        while (first + 1 < end && !is_tap_used(c, a, end - 1)) end--;
        c->first[a] = first;
        c->kernel[a] = end - first;
        c->pad[a] -= first * c->dilation[a];
        c->taps *= c->kernel[a];
    }
}

static int32_t read_last(const asc_call *call, conv *c) {
    int32_t code = read_conv(call, c);
    if (!code && !conv_is_channelwise(c)) drop_unused_taps(c);
    return code;
}

static int32_t read_transposed(const asc_call *call, conv *c) {
    int32_t code = read_conv(call, c);
    if (code) return code;
    c->transposed = 1;
    int fits = c->groups == 1 && !c->vnni2 && !conv_is_channelwise(c);
    for (int a = 0; a < AXES; a++) fits = fits && c->dilation[a] == 1 && c->stride[a] <= c->kernel[a];
    ASC_REQUIRE(call, fits, "conv_transposed_last: one group of panels, no dilation, no stride beyond the kernel");
    return ASC_OK;
}

ASC_KERNEL_NOTE(conv_last, conv_last_note)
ASC_KERNEL_NOTE(conv_joined, conv_last_note)
ASC_KERNEL_NOTE(conv_transposed_last, conv_last_note)

/* Chunks of rows, and of channels when rows are few. */
static int32_t prepare_channelwise(asc_call *call, const conv *c) {
    int64_t ns = ASC_FN(conv_cost)(c), vectors = asc_ceil_div(c->out_channels, ASC_VF);
    int64_t wanted = conv_chunks_wanted(call, ns);
    int64_t planes = c->batch * c->out[DEPTH], spans = asc_least(c->out[HEIGHT], asc_ceil_div(wanted, planes));
    if (c->out[HEIGHT] < 2 * wanted) spans = 1;
    conv_last_note_of(call)->span = asc_ceil_div(c->out[HEIGHT], spans);
    conv_last_note_of(call)->spans = planes * asc_ceil_div(c->out[HEIGHT], conv_last_note_of(call)->span);
    conv_last_note_of(call)->parts = asc_least(vectors, asc_ceil_div(wanted, conv_last_note_of(call)->spans));
    conv_last_note_of(call)->serial = wanted == 1;
    return ASC_OK;
}

int32_t ASC_FN(conv_last_prepare)(asc_call *call) {
    conv c;
    int32_t code = read_last(call, &c);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    conv_last_note_of(call)->conv = c;
    return conv_is_channelwise(&c) ? prepare_channelwise(call, &c) : ASC_FN(conv_dense_prepare)(call, &c);
}

static void channelwise_chunk(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    const conv *c = arg;
    int64_t spans = conv_last_note_of(call)->spans, parts = conv_last_note_of(call)->parts,
            span = conv_last_note_of(call)->span;
    int64_t per_plane = spans / (c->batch * c->out[DEPTH]), part = chunk / spans, index = chunk % spans;
    int64_t vectors = asc_ceil_div(c->out_channels, ASC_VF), row = index % per_plane * span;
    int64_t first = asc_split_at(vectors, parts, part) * ASC_VF, end = asc_split_at(vectors, parts, part + 1) * ASC_VF;
    (void)worker;
    ASC_FN(conv_channelwise)(c, index / per_plane, row, asc_least(span, c->out[HEIGHT] - row), first,
                             asc_least(end, c->out_channels) - first);
}

int32_t ASC_FN(conv_transposed_last_prepare)(asc_call *call) {
    conv c;
    int32_t code = read_transposed(call, &c);
    if (code || asc_numel(&call->out[0]) == 0) return code;
    conv_last_note_of(call)->conv = c;
    return ASC_FN(conv_dense_prepare)(call, &c);
}

static void run_chunks(const asc_call *call, asc_chunk_fn fn, conv *c) {
    int64_t chunks = conv_last_note_of(call)->spans * conv_last_note_of(call)->parts;
    if (!conv_last_note_of(call)->serial)
        asc_parallel(call, chunks, fn, c);
    else
        for (int64_t i = 0; i < chunks; i++) fn(call, i, 0, c);
}

static void run_dense(const asc_call *call, conv *c) {
    for (int64_t i = 0; i < call->threads; i++)
        conv_worker_of(call, i, conv_last_note_of(call)->scratch_bytes)->holds = -1;
    run_chunks(call, ASC_FN(conv_dense_chunk), c);
}

int32_t ASC_FN(conv_last_run)(const asc_call *call) {
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    conv c = ASC_FN(conv_at)(call, &conv_last_note_of(call)->conv);
    if (conv_is_channelwise(&c))
        run_chunks(call, channelwise_chunk, &c);
    else
        run_dense(call, &c);
    return ASC_OK;
}

int32_t ASC_FN(conv_joined_prepare)(asc_call *call) {
    return ASC_FN(conv_last_prepare)(call);
}

int32_t ASC_FN(conv_joined_run)(const asc_call *call) {
    return ASC_FN(conv_last_run)(call);
}

int32_t ASC_FN(conv_transposed_last_run)(const asc_call *call) {
    if (asc_numel(&call->out[0]) == 0) return ASC_OK;
    conv c = ASC_FN(conv_at)(call, &conv_last_note_of(call)->conv);
    run_dense(call, &c);
    return ASC_OK;
}

static const char *form_of(const conv *c) {
    if (conv_is_channelwise(c)) return ASC_FN(conv_is_channelwise_square)(c) ? "channelwise_square" : "channelwise";
    if (c->transposed) return "phases";
    return conv_is_in_place(c) ? "in_place" : conv_is_flat(c) ? "pixels" : "strips";
}

void ASC_FN(conv_last_schedule)(const asc_call *call, char *text, size_t room) {
    const conv_last_note *note = conv_last_note_of(call);
    const conv *c = &note->conv;
    if (asc_numel(&call->out[0]) == 0) {
        asc_format(text, room, ASC_NO_SCHEDULE);
        return;
    }
    int64_t chunks = note->spans * note->parts, threads = note->serial ? 1 : asc_least(chunks, call->threads);
    asc_format(text, room, "%s spans=%ld span=%ld parts=%ld threads=%ld", form_of(c), note->spans, note->span,
               note->parts, threads);
    if (conv_is_channelwise(c) || !c->vnni2) return;
    size_t used = strlen(text);
    asc_format(text + used, room - used, " %s", ASC_FN(conv_dense_tiles)(c));
}

void ASC_FN(conv_joined_schedule)(const asc_call *call, char *text, size_t room) {
    ASC_FN(conv_last_schedule)(call, text, room);
}

void ASC_FN(conv_transposed_last_schedule)(const asc_call *call, char *text, size_t room) {
    ASC_FN(conv_last_schedule)(call, text, room);
}
