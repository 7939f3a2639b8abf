/* attention.h - the parts of attention that training and inference share: [batch, heads, positions, width]. */
#ifndef ASC_ACLNN_ATTENTION_H
#define ASC_ACLNN_ATTENTION_H

#include "operator.h"

typedef struct asc_attention {
    int64_t heads, mode, before, behind;
    double scale;
} asc_attention;

/* Of training: from the argument `tail` on scale, keep, pre and next tokens, heads, layout, inner precision, mode. */
asc_attention asc_attention_of_training(asc_run *run, int tail);
/* Keys and values of fewer heads serve several of the queries': in float32. */
tensor asc_attention_for_all_heads(asc_run *run, tensor t, int64_t heads);
/* The gradient of heads that several queries share. */
tensor asc_attention_for_own_heads(asc_run *run, tensor g, int64_t own);
/* Scaled products, and what is added to them; keys that a query doesn't see have -infinity. What isn't given has no
 * data. */
tensor asc_attention_scores(asc_run *run, const asc_attention *a, tensor q, tensor k, tensor shift, tensor mask);

/* Softmax over the last axis, of exponents and their sum; a row that sees nothing has a sum of 0. */
typedef struct asc_attention_rows {
    tensor top, exponents, sum;
} asc_attention_rows;
asc_attention_rows asc_attention_rows_of(asc_run *run, tensor scores);
tensor asc_attention_weights(asc_run *run, const asc_attention_rows *rows);
/* What dropping leaves of t: bits of the mask, from the place `first` on, say which. An absent mask leaves all. */
tensor asc_attention_dropped(asc_run *run, int mask_at, double keep_share, int64_t first, tensor t);
/* The gradient of scores, from that of weights, `by_weights`, and y, whose gradient is dy. */
tensor asc_attention_backward(asc_run *run, tensor weights, tensor by_weights, tensor dy, tensor y);

#endif
