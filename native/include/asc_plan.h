/* asc_plan.h - the arguments of kernels: what the ints and floats of an instruction mean, the one definition that
 * the converter and the kernels share.
 *
 * A struct names the ints (all int64_t) or floats (all double) of a family of kernels, in the order of a plan. Members
 * at the end may be absent where the comment says so. A last member without a length repeats. Members are appended,
 * never moved: a bundle holds them by position. Constants are what both sides need to know.
 *
 * Everything between "cffi:begin" and "cffi:end" is read by native/binding/generate.py; Python has it by name through
 * ascend_ep/plan/kernel_params.py.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ASC_PLAN_PARAMS_H
#define ASC_PLAN_PARAMS_H

#include <stdint.h>

/* cffi:begin */

/* ---- products: matmul ----------------------------------------------------------------------- */

/* What a product does to its sums. */
typedef enum asc_activation {
    ASC_ACTIVATION_NONE,
    ASC_ACTIVATION_RELU,
    ASC_ACTIVATION_GELU,      /* x/2 (1 + erf(x/sqrt 2)) */
    ASC_ACTIVATION_GELU_TANH, /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    ASC_ACTIVATION_SILU,
    ASC_ACTIVATION_SIGMOID,
    ASC_ACTIVATION_TANH,
    ASC_ACTIVATION_CLIP,       /* to [low, high] */
    ASC_ACTIVATION_HARD_SWISH, /* x min(max(x/6 + 1/2, 0), 1); reader 10 */
    ASC_ACTIVATION_LEAKY_RELU, /* low x below 0; reader 10 */
    ASC_ACTIVATION_COUNT,
    ASC_ACTIVATION_GATED = 12 /* of matmul: columns of B lie in groups of a gate's and of what it lets through */
} asc_activation;

/* What float32 results are rounded to; the int of an activation is asc_activation + ASC_ROUNDING * asc_round. */
typedef enum asc_round { ASC_ROUND_NONE, ASC_ROUND_FLOAT16, ASC_ROUND_BFLOAT16, ASC_ROUND_COUNT } asc_round;
#define ASC_ROUNDING 16

typedef struct asc_matmul_params {
    int64_t trans_a, trans_b; /* swap the last two axes */
    int64_t activation;
    int64_t block; /* rows of int8 weights that share scales; absent beside other weights */
} asc_matmul_params;

typedef struct asc_matmul_floats {
    double alpha, beta;
    double low, high; /* the bounds of ASC_ACTIVATION_CLIP; low: the slope of ASC_ACTIVATION_LEAKY_RELU */
    double epsilon;   /* of the norm of A's rows; absent without one */
} asc_matmul_floats;

typedef enum asc_matmul_operand {
    ASC_MATMUL_A,
    ASC_MATMUL_B,
    ASC_MATMUL_C,
    ASC_MATMUL_R,
    ASC_MATMUL_SCALE, /* of int8 weights, or of the norm of A's rows */
    ASC_MATMUL_ZERO
} asc_matmul_operand;

#define ASC_PANEL 32           /* columns of a packed panel, on every ISA */
#define ASC_GATED_GROUP 4      /* columns of a gate that lie side by side, then as many of what it lets through */
#define ASC_SMALL_N_COLUMNS 31 /* up to so many columns, many rows have a kernel that normalises nothing */
#define ASC_K_BLOCK 1152       /* lines of panels that are multiplied at once by many rows */

/* ---- convolutions ------------------------------------------------------------------------------ */

/* One for each spatial axis. Positions outside X read as zero, so the padding after X follows from Y's dims. */
typedef struct asc_conv_axis {
    int64_t kernel, stride, dilation, pad; /* pad: before the first element */
} asc_conv_axis;

/* conv: channels first. */
typedef struct asc_conv_params {
    int64_t group;
    int64_t activation; /* asc_activation, with what it rounds to */
    int64_t transposed;
    asc_conv_axis axes[];
} asc_conv_params;

/* conv_last, conv_joined, conv_transposed_last, conv_winograd: channels last. */
typedef struct asc_conv_last_params {
    int64_t group;
    int64_t activation;
    int64_t channels_first; /* of X */
    asc_conv_axis axes[];
} asc_conv_last_params;

typedef struct asc_conv_floats {
    double low, high; /* the bounds of ASC_ACTIVATION_CLIP; low: the slope of ASC_ACTIVATION_LEAKY_RELU */
} asc_conv_floats;

#define ASC_CONV_JOINED 6 /* operand of conv_joined: the first image behind X */

/* conv_joined */
typedef struct asc_conv_joined_floats {
    double low, high;     /* as asc_conv_floats */
    double x_low, x_high; /* bounds of what is read, maybe infinite */
} asc_conv_joined_floats;

/* qconv: of integers. */
typedef struct asc_qconv_params {
    int64_t group;
    int64_t x_last, y_last; /* whether channels come last */
    asc_conv_axis axes[];
} asc_qconv_params;

#define ASC_CONV_MOST_TAPS 4096 /* of a kernel with channels last */

/* ---- pooling ------------------------------------------------------------------------------------- */

typedef struct asc_pool_axis {
    int64_t kernel, stride, dilation, before, after; /* the last two: padding */
} asc_pool_axis;

/* max_pool, max_pool_bytes, average_pool, and each of them with _last */
typedef struct asc_pool_params {
    int64_t mode; /* of max_pool: positions count column by column; of average_pool: taps in the padding count */
    asc_pool_axis axes[];
} asc_pool_params;

/* ---- recurrent layers ---------------------------------------------------------------------------- */

typedef enum asc_recurrent {
    ASC_RECURRENT_RNN,
    ASC_RECURRENT_GRU,
    ASC_RECURRENT_LSTM,
    ASC_RECURRENT_COUNT
} asc_recurrent;

/* ONNX's names of activations, in small letters. */
typedef enum asc_cell {
    ASC_CELL_SIGMOID,
    ASC_CELL_TANH,
    ASC_CELL_RELU,
    ASC_CELL_AFFINE,          /* alpha x + beta */
    ASC_CELL_LEAKYRELU,       /* x, or alpha x below 0 */
    ASC_CELL_THRESHOLDEDRELU, /* x above alpha, else 0 */
    ASC_CELL_SCALEDTANH,      /* alpha tanh(beta x) */
    ASC_CELL_HARDSIGMOID,     /* alpha x + beta within [0, 1] */
    ASC_CELL_ELU,             /* x, or alpha (e^x - 1) below 0 */
    ASC_CELL_SOFTSIGN,        /* x / (1 + |x|) */
    ASC_CELL_SOFTPLUS,        /* log(1 + e^x) */
    ASC_CELL_COUNT
} asc_cell;

typedef struct asc_recurrent_direction {
    int64_t backwards;
    int64_t f, g, h; /* asc_cell */
} asc_recurrent_direction;

typedef struct asc_recurrent_params {
    int64_t kind;        /* asc_recurrent */
    int64_t reset_after; /* GRU: the reset gate multiplies the product, not the state */
    int64_t coupled;     /* LSTM: the forget gate is 1 - the input gate */
    asc_recurrent_direction directions[];
} asc_recurrent_params;

typedef struct asc_recurrent_numbers {
    double f_alpha, f_beta, g_alpha, g_beta, h_alpha, h_beta;
} asc_recurrent_numbers;

typedef struct asc_recurrent_floats {
    double clip; /* of what goes into activations; infinite: none */
    asc_recurrent_numbers directions[];
} asc_recurrent_floats;

/* ---- reductions ---------------------------------------------------------------------------------- */

typedef enum asc_reduce {
    ASC_REDUCE_SUM,
    ASC_REDUCE_MEAN,
    ASC_REDUCE_MAX,
    ASC_REDUCE_MIN,
    ASC_REDUCE_PROD,
    ASC_REDUCE_L1,
    ASC_REDUCE_L2,
    ASC_REDUCE_SUMSQUARE,
    ASC_REDUCE_LOGSUM,
    ASC_REDUCE_COUNT
} asc_reduce;

typedef struct asc_reduce_params {
    int64_t op;     /* asc_reduce */
    int64_t axes[]; /* ascending */
} asc_reduce_params;

/* With axes as an operand. */
typedef struct asc_reduce_given_params {
    int64_t op;
    int64_t noop; /* no axes are none, not all */
} asc_reduce_given_params;

/* argmax, argmin */
typedef struct asc_arg_reduce_params {
    int64_t axis;
    int64_t last; /* of equal elements the last, not the first */
} asc_arg_reduce_params;

/* ---- normalisations ------------------------------------------------------------------------------ */

typedef enum asc_norm_epilogue {
    ASC_NORM_EPILOGUE_NONE,
    ASC_NORM_EPILOGUE_GELU,
    ASC_NORM_EPILOGUE_GELU_TANH,
    ASC_NORM_EPILOGUE_COUNT
} asc_norm_epilogue;

typedef struct asc_layer_norm_params {
    int64_t axis;     /* the first of those that are normalised */
    int64_t epilogue; /* asc_norm_epilogue */
} asc_layer_norm_params;

typedef struct asc_rms_norm_params {
    int64_t axis;
} asc_rms_norm_params;

typedef struct asc_group_norm_params {
    int64_t groups; /* of channels */
} asc_group_norm_params;

/* layer_norm, rms_norm, group_norm, batch_norm */
typedef struct asc_norm_floats {
    double epsilon;
} asc_norm_floats;

typedef struct asc_lp_norm_params {
    int64_t axis;
    int64_t order; /* 1 or 2 */
} asc_lp_norm_params;

/* softmax, log_softmax, logsumexp: over neighbouring axes as one */
typedef struct asc_softmax_params {
    int64_t axis, axes; /* the first, and how many */
} asc_softmax_params;

/* ---- attention ----------------------------------------------------------------------------------- */

typedef enum asc_attention_nan {
    ASC_ATTENTION_NAN_KEEP,
    ASC_ATTENTION_NAN_TO_ZERO,    /* a row whose scores have no finite sum of weights is 0 */
    ASC_ATTENTION_NAN_MASKED_ZERO /* only where each weight is 0, as under a mask of -Inf */
} asc_attention_nan;

/* attention, attention_append */
typedef struct asc_attention_params {
    int64_t heads_last;
    int64_t nan_to_zero; /* asc_attention_nan */
    int64_t causal;      /* query i sees the keys up to i + offset */
    int64_t offset;      /* not negative; without causal, 0 */
    int64_t narrow;      /* operands are rounded to bfloat16 where they are multiplied */
} asc_attention_params;

typedef struct asc_attention_floats {
    double scale;
} asc_attention_floats;

typedef enum asc_rope { ASC_ROPE_HALVES, ASC_ROPE_INTERLEAVED, ASC_ROPE_REGROUPED } asc_rope;

typedef struct asc_rope_params {
    int64_t sequence_axis; /* 1 or 2 */
    int64_t rotary;        /* so many of the first are rotated */
    int64_t interleaved;   /* asc_rope */
} asc_rope_params;

/* ---- gated units --------------------------------------------------------------------------------- */

/* How one input holds both sides. Two inputs ask for neither. */
typedef struct asc_swiglu_params {
    int64_t up_first;
    int64_t interleaved; /* they alternate, not one half after the other */
} asc_swiglu_params;

/* ---- images -------------------------------------------------------------------------------------- */

typedef enum asc_resize { ASC_RESIZE_NEAREST, ASC_RESIZE_LINEAR, ASC_RESIZE_CUBIC } asc_resize;

typedef enum asc_coordinate {
    ASC_COORDINATE_HALF_PIXEL,
    ASC_COORDINATE_HALF_PIXEL_SYMMETRIC,
    ASC_COORDINATE_PYTORCH_HALF_PIXEL,
    ASC_COORDINATE_ALIGN_CORNERS,
    ASC_COORDINATE_ASYMMETRIC,
    ASC_COORDINATE_TF_HALF_PIXEL_FOR_NN,
    ASC_COORDINATE_TF_CROP_AND_RESIZE,
    ASC_COORDINATE_COUNT
} asc_coordinate;

typedef enum asc_nearest {
    ASC_NEAREST_ROUND_PREFER_FLOOR,
    ASC_NEAREST_ROUND_PREFER_CEIL,
    ASC_NEAREST_FLOOR,
    ASC_NEAREST_CEIL,
    ASC_NEAREST_SIMPLE, /* of opset 10: forward where the axis shrinks */
    ASC_NEAREST_COUNT
} asc_nearest;

/* resize, resize_nearest: of one axis */
typedef struct asc_resize_params {
    int64_t axis;
    int64_t mode;       /* asc_resize */
    int64_t coordinate; /* asc_coordinate */
    int64_t rounding;   /* asc_nearest */
    int64_t antialias, exclude_outside;
    int64_t index; /* of the axis among scales and regions that are operands */
} asc_resize_params;

typedef struct asc_resize_floats {
    double scale;      /* 0: the quotient of the lengths */
    double start, end; /* the region of ASC_COORDINATE_TF_CROP_AND_RESIZE, in lengths */
    double cubic;      /* the coefficient */
    double extrapolation;
} asc_resize_floats;

typedef enum asc_grid { ASC_GRID_LINEAR, ASC_GRID_NEAREST, ASC_GRID_CUBIC } asc_grid;
typedef enum asc_grid_padding {
    ASC_GRID_PADDING_ZEROS,
    ASC_GRID_PADDING_BORDER,
    ASC_GRID_PADDING_REFLECTION
} asc_grid_padding;

typedef struct asc_grid_sample_params {
    int64_t mode;    /* asc_grid */
    int64_t padding; /* asc_grid_padding */
    int64_t align_corners;
} asc_grid_sample_params;

typedef enum asc_roi { ASC_ROI_AVG, ASC_ROI_MAX } asc_roi;

typedef struct asc_roi_align_params {
    int64_t mode;    /* asc_roi */
    int64_t samples; /* along a cell; 0: as many as it covers */
    int64_t half_pixel;
} asc_roi_align_params;

typedef struct asc_roi_align_floats {
    double scale; /* of the regions */
} asc_roi_align_floats;

typedef enum asc_aipp_format {
    ASC_AIPP_FORMAT_YUV420SP = 1,
    ASC_AIPP_FORMAT_FOUR_BYTES,
    ASC_AIPP_FORMAT_THREE_BYTES,
    ASC_AIPP_FORMAT_ONE_BYTE
} asc_aipp_format;

typedef struct asc_aipp_params {
    int64_t format;                   /* asc_aipp_format */
    int64_t order[4];                 /* the source channel of each channel */
    int64_t left, top, width, height; /* of the crop */
    int64_t pad_left, pad_top;
    int64_t convert;   /* colours; otherwise what follows is 0 */
    int64_t matrix[9]; /* by rows */
    int64_t in_bias[3], out_bias[3];
} asc_aipp_params;

typedef struct asc_aipp_floats {
    double shift[4], scale[4]; /* of each channel */
    double padding;
} asc_aipp_floats;

/* ---- movement ------------------------------------------------------------------------------------ */

typedef enum asc_pad {
    ASC_PAD_CONSTANT,
    ASC_PAD_REFLECT, /* without the edge */
    ASC_PAD_EDGE,
    ASC_PAD_WRAP,
    ASC_PAD_COUNT
} asc_pad;

typedef struct asc_pad_params {
    int64_t mode;   /* asc_pad */
    int64_t pads[]; /* begins of all axes, then ends; negative ones crop. None when they are an operand */
} asc_pad_params;

typedef struct asc_concat_params {
    int64_t axis;
} asc_concat_params;

/* Element (row, column) stays where column - row >= k, or <= k of the lower triangle. */
typedef struct asc_trilu_params {
    int64_t upper;
    int64_t k; /* that of the operand counts where it is given */
} asc_trilu_params;

/* ---- indexing ------------------------------------------------------------------------------------ */

/* gather, gather_elements */
typedef struct asc_gather_params {
    int64_t axis;
} asc_gather_params;

typedef struct asc_gather_nd_params {
    int64_t batch_axes; /* how many */
} asc_gather_nd_params;

typedef struct asc_one_hot_params {
    int64_t axis; /* of the output */
} asc_one_hot_params;

typedef struct asc_reverse_sequence_params {
    int64_t batch_axis, time_axis; /* 0 and 1 in either order */
} asc_reverse_sequence_params;

typedef struct asc_tensor_scatter_params {
    int64_t axis;
    int64_t circular;
} asc_tensor_scatter_params;

typedef enum asc_scatter {
    ASC_SCATTER_NONE,
    ASC_SCATTER_ADD,
    ASC_SCATTER_MUL,
    ASC_SCATTER_MIN,
    ASC_SCATTER_MAX
} asc_scatter;

typedef struct asc_scatter_elements_params {
    int64_t axis;
    int64_t reduction; /* asc_scatter */
} asc_scatter_elements_params;

typedef struct asc_scatter_nd_params {
    int64_t reduction;
} asc_scatter_nd_params;

/* ---- the rest ------------------------------------------------------------------------------------ */

/* col2im: one for each axis of the image */
typedef struct asc_col2im_axis {
    int64_t block; /* that of the operand counts where it is given */
    int64_t dilation, stride, before, after;
} asc_col2im_axis;

typedef struct asc_deform_columns_params {
    int64_t kernel_height, kernel_width;
    int64_t stride_height, stride_width;
    int64_t dilation_height, dilation_width;
    int64_t pad_height, pad_width;
    int64_t height, width; /* of the output */
    int64_t groups;        /* of channels that move alike */
} asc_deform_columns_params;

/* quantize, dequantize */
typedef struct asc_quantize_params {
    int64_t axis;  /* of a vector of scales */
    int64_t block; /* elements along the axis that share a scale; 0: each has its own */
} asc_quantize_params;

typedef struct asc_byte_table_params {
    int64_t axis; /* whose indices have a table each; of a single table 0 */
} asc_byte_table_params;

typedef enum asc_byte_binary { ASC_BYTE_BINARY_ADD, ASC_BYTE_BINARY_MULTIPLY, ASC_BYTE_BINARY_COUNT } asc_byte_binary;

typedef struct asc_byte_binary_params {
    int64_t op;                     /* asc_byte_binary */
    int64_t a_zero, b_zero, y_zero; /* as the types have them */
} asc_byte_binary_params;

typedef struct asc_byte_binary_floats {
    double a_scale, b_scale, y_scale; /* float32 */
    double low, high;                 /* bounds of the float result */
} asc_byte_binary_floats;

/* qmatmul, qconv: the bounds of results of 8 bits, zero point included */
typedef struct asc_requantise_floats {
    double low, high;
} asc_requantise_floats;

/* expect_ints */
typedef struct asc_expect_ints_params {
    int64_t choices;   /* of each element */
    int64_t allowed[]; /* those of the first element, then of the next */
} asc_expect_ints_params;

typedef struct asc_topk_params {
    int64_t axis, k;
    int64_t largest;
} asc_topk_params;

/* cumsum, cumprod */
typedef struct asc_cumsum_params {
    int64_t axis; /* that of the operand counts where it is given */
    int64_t exclusive, reverse;
} asc_cumsum_params;

/* ---- tables ------------------------------------------------------------------------------------- */

/* What becomes of the sums of an ensemble or a linear model. */
typedef enum asc_post {
    ASC_POST_NONE,
    ASC_POST_LOGISTIC,
    ASC_POST_SOFTMAX,
    ASC_POST_SOFTMAX_ZERO, /* of those that are not 0 */
    ASC_POST_PROBIT,
    ASC_POST_COUNT
} asc_post;

/* How the label of a row follows from its scores. */
typedef enum asc_label {
    ASC_LABEL_NONE,    /* there is no label */
    ASC_LABEL_LARGEST, /* that of the first of the largest scores */
    ASC_LABEL_SIGN,    /* the second where the last score is above 0 */
    ASC_LABEL_BINARY,  /* the same; all leaves are of one class */
    ASC_LABEL_HALF,    /* the second where the only score, which no leaf lowers, is above 0.5 */
    ASC_LABEL_COUNT
} asc_label;

typedef enum asc_aggregate {
    ASC_AGGREGATE_SUM,
    ASC_AGGREGATE_AVERAGE,
    ASC_AGGREGATE_MIN,
    ASC_AGGREGATE_MAX,
    ASC_AGGREGATE_COUNT
} asc_aggregate;

/* What the last member of a leaf is. */
typedef enum asc_leaf {
    ASC_LEAF_WEIGHT, /* its only weight, for the target of its tree */
    ASC_LEAF_ROW,    /* the row of a matrix of weights, one for each target */
    ASC_LEAF_LIST,   /* the number of a list of targets and weights */
    ASC_LEAF_COUNT
} asc_leaf;

/* Of the feature of a node, whose other bits are the column. */
#define ASC_NODE_MISSING 0x40000000 /* NaN goes to the second child */
#define ASC_NODE_EQUAL 0x20000000   /* the second child is for the value itself, not for what is at most that */
#define ASC_NODE_COLUMN 0x1fffffff

typedef struct asc_tree_params {
    int64_t targets;
    int64_t aggregate; /* asc_aggregate */
    int64_t leaf;      /* asc_leaf */
    int64_t post;      /* asc_post */
    int64_t label;     /* asc_label */
    int64_t labels[];  /* of the classes; none without a label */
} asc_tree_params;

typedef struct asc_tree_floats {
    double bases;  /* how many there are: of all targets, of fewer, or none */
    double base[]; /* added to the scores */
} asc_tree_floats;

/* cffi:end */

#endif
