/* Reading the arguments that every convolution has: axes, channels, epilogue. */
#include "conv.h"

#define LARGEST INT32_MAX /* of every extent, so that positions can't overflow */

/* Where the channels of an image tensor are, and its first spatial axis. */
static int channel_axis(const asc_tensor *t, int channels_last) {
    return channels_last ? t->rank - 1 : 1;
}
static int spatial_axis(int channels_last) {
    return channels_last ? 1 : 2;
}

/* An innermost axis of one element says nothing of memory: the others move there, so that lines are long. */
static void drop_innermost(conv *c) {
    for (int a = AXES - 1; a >= 0; a--) {
        c->in[a] = a ? c->in[a - 1] : 1;
        c->out[a] = a ? c->out[a - 1] : 1;
        c->kernel[a] = a ? c->kernel[a - 1] : 1;
        c->stride[a] = a ? c->stride[a - 1] : 1;
        c->dilation[a] = a ? c->dilation[a - 1] : 1;
        c->pad[a] = a ? c->pad[a - 1] : 0;
    }
}

static int is_single(const conv *c, int a) {
    return c->in[a] == 1 && c->out[a] == 1 && c->kernel[a] == 1 && c->pad[a] == 0;
}

static int is_extent(int64_t n) {
    return n >= 1 && n <= LARGEST;
}

static int32_t read_axes(const asc_call *call, conv *c) {
    const asc_tensor *x = &call->in[CONV_X], *y = &call->out[0];
    int spatial = x->rank - 2, joined = call->n_in > CONV_SCALE;
    ASC_REQUIRE(call, spatial >= 1 && spatial <= AXES, "conv needs one to three spatial axes");
    ASC_REQUIRE(call, y->rank == x->rank, "conv: input and output have different ranks");
    ASC_REQUIRE(call,
                call->n_ints == ASC_MEMBERS(asc_conv_params) + ASC_MEMBERS(asc_conv_axis) * spatial &&
                    call->n_floats == (joined ? ASC_MEMBERS(asc_conv_joined_floats) : ASC_MEMBERS(asc_conv_floats)),
                "conv: wrong number of arguments");
    for (int a = 0; a < AXES; a++) c->in[a] = c->out[a] = c->kernel[a] = c->stride[a] = c->dilation[a] = 1;
    for (int i = 0; i < spatial; i++) {
        int a = AXES - spatial + i;
        const asc_conv_axis *v = &conv_params(call)->axes[i];
        c->in[a] = x->dims[spatial_axis(c->x_last) + i];
        c->out[a] = y->dims[spatial_axis(c->y_last) + i];
        c->kernel[a] = v->kernel;
        c->stride[a] = v->stride;
        c->dilation[a] = v->dilation;
        c->pad[a] = v->pad;
        ASC_REQUIRE(call, c->in[a] <= LARGEST && c->out[a] <= LARGEST, "conv: a spatial axis is too long");
        ASC_REQUIRE(call, is_extent(v->kernel) && is_extent(v->stride) && is_extent(v->dilation),
                    "conv: kernel, stride and dilation are at least 1");
        ASC_REQUIRE(call, v->pad >= -LARGEST && v->pad <= LARGEST, "conv: a padding is out of range");
    }
    for (int i = 1; i < spatial && is_single(c, AXES - 1); i++) drop_innermost(c);
    c->taps = c->in_size = c->out_size = 1;
    for (int a = 0; a < AXES; a++) {
        ASC_REQUIRE(call,
                    asc_mul_ok(c->in_size, c->in[a], &c->in_size) && asc_mul_ok(c->out_size, c->out[a], &c->out_size),
                    "conv: an image is too large");
        ASC_REQUIRE(call, asc_mul_ok(c->taps, c->kernel[a], &c->taps) && c->taps <= LARGEST,
                    "conv: the kernel is too large");
    }
    return ASC_OK;
}

/* What of conv_joined is there in its prepare already; other kernels have no such operands. */
static int32_t read_joined(const asc_call *call, conv *c) {
    const asc_tensor *x = &call->in[CONV_X];
    if (call->n_in <= CONV_SCALE) return ASC_OK;
    for (int i = CONV_MORE; i < call->n_in; i++) {
        const asc_tensor *more = &call->in[i];
        ASC_REQUIRE(call, more->layout == ASC_LAYOUT_PLAIN && more->rank == x->rank,
                    "conv_joined: images are plain, of one rank");
        for (int d = 0; d + 1 < x->rank; d++)
            ASC_REQUIRE(call, more->dims[d] == x->dims[d], "conv_joined: images differ beside their channels");
        ASC_REQUIRE(call, asc_add_ok(c->in_channels, more->dims[x->rank - 1], &c->in_channels),
                    "conv_joined: too many channels");
    }
    for (int i = CONV_SCALE; i <= CONV_SHIFT; i++) {
        const asc_tensor *of = &call->in[i];
        ASC_REQUIRE(call,
                    !asc_has_input(call, i) ||
                        (of->layout == ASC_LAYOUT_PLAIN && of->rank == 1 && of->dims[0] == c->in_channels),
                    "conv_joined: scale and shift have a number for each channel");
    }
    const asc_conv_joined_floats *f = ASC_FLOATS_AS(asc_conv_joined_floats, call);
    c->x_low = (float)f->x_low;
    c->x_high = (float)f->x_high;
    return ASC_OK;
}

static int32_t read_channels(const asc_call *call, conv *c) {
    const asc_tensor *x = &call->in[CONV_X], *y = &call->out[0];
    c->groups = conv_params(call)->group;
    c->in_channels = x->dims[channel_axis(x, c->x_last)];
    c->out_channels = y->dims[channel_axis(y, c->y_last)];
    int32_t code = read_joined(call, c);
    if (code) return code;
    ASC_REQUIRE(call, x->layout == ASC_LAYOUT_PLAIN && y->layout == ASC_LAYOUT_PLAIN, "conv: images are plain");
    ASC_REQUIRE(call, c->groups >= 1, "conv: group is at least 1");
    ASC_REQUIRE(call, c->in_channels % c->groups == 0 && c->out_channels % c->groups == 0,
                "conv: group does not divide the channels");
    ASC_REQUIRE(call, x->dims[0] == y->dims[0], "conv: input and output have different batches");
    ASC_REQUIRE(call, c->in_channels <= LARGEST && c->out_channels <= LARGEST, "conv: too many channels");
    c->batch = x->dims[0];
    c->group_in = c->in_channels / c->groups;
    c->group_out = c->out_channels / c->groups;
    return ASC_OK;
}

static int32_t read_epilogue(const asc_call *call, conv *c) {
    const asc_tensor *y = &call->out[0];
    const asc_conv_floats *f = ASC_FLOATS_AS(asc_conv_floats, call);
    c->epilogue = (epilogue){.alpha = 1, .beta = 1, .low = (float)f->low, .high = (float)f->high};
    ASC_REQUIRE(call, epilogue_read(conv_params(call)->activation, &c->epilogue), "conv: unknown activation code");
    if (asc_has_input(call, CONV_BIAS)) {
        const asc_tensor *bias = &call->in[CONV_BIAS];
        ASC_REQUIRE(call, bias->layout == ASC_LAYOUT_PLAIN && bias->rank == 1 && bias->dims[0] == c->out_channels,
                    "conv: bias is [M]");
        c->epilogue.bias = c->y_last ? (epilogue_addend){NULL, 0, 1} : (epilogue_addend){NULL, 1, 0};
    }
    if (asc_has_input(call, CONV_RESIDUAL)) {
        const asc_tensor *r = &call->in[CONV_RESIDUAL];
        ASC_REQUIRE(call, r->layout == ASC_LAYOUT_PLAIN && asc_same_dims(r, y),
                    "conv: the residual has the output's dims");
        c->epilogue.residual = (epilogue_addend){NULL, c->y_last ? c->out_channels : c->out_size, 1};
    }
    return ASC_OK;
}

int32_t ASC_FN(conv_read)(const asc_call *call, int x_last, int y_last, conv *c) {
    int32_t code;
    *c = (conv){.x_last = x_last, .y_last = y_last};
    if ((code = read_axes(call, c))) return code;
    if ((code = read_channels(call, c))) return code;
    if ((code = read_epilogue(call, c))) return code;
    *c = ASC_FN(conv_at)(call, c);
    return ASC_OK;
}

conv ASC_FN(conv_at)(const asc_call *call, const conv *found) {
    conv c = *found;
    c.x = call->in[CONV_X].data;
    c.weights = call->in[CONV_W].data;
    c.y = call->out[0].data;
    c.joined = call->n_in > CONV_SCALE ? call->in : NULL;
    c.scale = asc_has_input(call, CONV_SCALE) ? call->in[CONV_SCALE].data : NULL;
    c.shift = asc_has_input(call, CONV_SHIFT) ? call->in[CONV_SHIFT].data : NULL;
    c.epilogue.bias.data = asc_has_input(call, CONV_BIAS) ? call->in[CONV_BIAS].data : NULL;
    c.epilogue.residual.data = asc_has_input(call, CONV_RESIDUAL) ? call->in[CONV_RESIDUAL].data : NULL;
    return c;
}
