/* dynamic_quantize: a whole tensor to uint8, with the scale and zero point that its extent with 0 asks for.
 *
 * in:  x float32
 * out: y uint8, dims of x; scale float32 [] and zero point uint8 []
 * As onnxruntime's CPU provider rounds: scale = (high - low) / 255, or 1 when that is 0; zero point the nearest
 * integer to -low / scale; y = nearest integer to x / scale, plus the zero point. Halves go to the even.
 */
#include <math.h>

#include "chunks.h"
#include "quantise_row.h"

#define PIECE 8192 /* elements of a chunk */

typedef struct range {
    float low, high, scale, zero;
} range;

int32_t ASC_FN(dynamic_quantize_prepare)(asc_call *call) {
    const asc_tensor *x = &call->in[0];
    ASC_REQUIRE(call, call->n_ints == 0 && asc_same_dims(x, &call->out[0]), "dynamic_quantize keeps the shape");
    ASC_REQUIRE(call, asc_numel(&call->out[1]) == 1 && asc_numel(&call->out[2]) == 1,
                "dynamic_quantize has one scale and one zero point");
    int64_t bytes = (asc_numel(x) / PIECE + 1) * (int64_t)sizeof(range);
    call->workspace_bytes = (uint64_t)bytes;
    return ASC_OK;
}

static int64_t piece(const asc_call *call, int64_t chunk, const float **x) {
    int64_t left = asc_numel(&call->in[0]) - chunk * PIECE;
    *x = (const float *)call->in[0].data + chunk * PIECE;
    return left < PIECE ? left : PIECE;
}

static void find_range(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    (void)arg;
    const float *x;
    int64_t n = piece(call, chunk, &x), i = 0;
    vf low = {0}, high = {0};
    for (; i + ASC_VF <= n; i += ASC_VF) {
        low = vf_min(vf_load(x + i), low);
        high = vf_max(vf_load(x + i), high);
    }
    range r = {-vf_maximum(-low), vf_maximum(high), 0, 0};
    for (; i < n; i++) {
        r.low = x[i] < r.low ? x[i] : r.low;
        r.high = x[i] > r.high ? x[i] : r.high;
    }
    ((range *)call->workspace)[chunk] = r;
}

static void write_piece(const asc_call *call, int64_t chunk, int32_t worker, void *arg) {
    (void)worker;
    const range *r = arg;
    const float *x;
    int64_t n = piece(call, chunk, &x);
    quantise_row(x, n, r->scale, r->zero, 0, 255, (uint8_t *)call->out[0].data + chunk * PIECE);
}

int32_t ASC_FN(dynamic_quantize_run)(const asc_call *call) {
    int64_t n = asc_numel(&call->in[0]), chunks = asc_ceil_div(n, PIECE);
    const range *found = call->workspace;
    range r = {0};
    asc_parallel(call, chunks, find_range, NULL);
    for (int64_t i = 0; i < chunks; i++) {
        r.low = found[i].low < r.low ? found[i].low : r.low;
        r.high = found[i].high > r.high ? found[i].high : r.high;
    }
    r.scale = (r.high - r.low) / 255.0f;
    if (!(r.scale != 0)) r.scale = 1;
    float zero = rintf(0.0f - r.low / r.scale);
    r.zero = zero > 0 ? (zero < 255 ? zero : 255) : 0;
    *(float *)call->out[1].data = r.scale;
    *(uint8_t *)call->out[2].data = (uint8_t)r.zero;
    asc_parallel(call, chunks, write_piece, &r);
    return ASC_OK;
}
