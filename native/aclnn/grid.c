/* grid.c - images and volumes read at places between their elements, forwards and backwards, float32.
 *
 * A grid's places are from -1 to 1 along each axis, the last axis of the image first. */
#include <math.h>
#include <string.h>

#include "operator.h"

enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sampler {
    int axes; /* 2 or 3 */
    int64_t mode, padding;
    bool corners;
    int64_t size[3]; /* of the image, from its first axis */
} sampler;

/* Up to four elements of an axis, their weights, and the slopes of the weights by the grid's place. */
typedef struct reach {
    int count;
    int64_t at[4];
    double weight[4], slope[4];
} reach;

/* Folds a place into [low, high]; `turn` is multiplied by the sign that it moves with. */
static double reflected(double x, double low, double high, double *turn) {
    double span = high - low;
    if (span <= 0) return *turn = 0, 0;
    double beyond = fabs(x - low), rest = fmod(beyond, span);
    if (x < low) *turn = -*turn;
    bool odd = fmod(floor(beyond / span), 2) != 0;
    if (odd) *turn = -*turn;
    return odd ? high - rest : low + rest;
}

/* A place inside the image, as the padding says. */
static double settled(const sampler *s, double x, int64_t n, double *turn) {
    if (s->padding == REFLECTION)
        x = s->corners ? reflected(x, 0, (double)(n - 1), turn) : reflected(x, -0.5, (double)n - 0.5, turn);
    if (s->padding == ZEROS) return x;
    if (!(x > 0)) return *turn = 0, 0;
    if (x >= (double)(n - 1)) return *turn = 0, (double)(n - 1);
    return x;
}

/* Weights of a = -0.75, and their slopes. */
static void cubic(double t, double *w, double *slope) {
    const double a = -0.75;
    for (int k = 0; k < 4; k++) {
        double x = fabs(t + 1 - k), sign = t + 1 - k < 0 ? -1 : 1;
        w[k] = x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
        slope[k] = sign * (x <= 1 ? (3 * (a + 2) * x - 2 * (a + 3)) * x : (3 * a * x - 10 * a) * x + 8 * a);
    }
}

static reach reach_of(const sampler *s, double place, int64_t n) {
    double per = s->corners ? (double)(n - 1) / 2 : (double)n / 2, turn = 1;
    double x = s->corners ? (place + 1) * per : ((place + 1) * (double)n - 1) / 2;
    reach r = {.count = 1};
    if (s->mode == BICUBIC) {
        double base = floor(x);
        r.count = 4;
        cubic(x - base, r.weight, r.slope);
        for (int k = 0; k < 4; k++) {
            double unused = 1, at = settled(s, base - 1 + k, n, &unused);
            r.at[k] = at >= 0 && at < (double)n ? (int64_t)at : -1;
            r.slope[k] *= per;
        }
        return r;
    }
    x = settled(s, x, n, &turn);
    double base = s->mode == NEAREST ? nearbyint(x) : floor(x);
    r.count = s->mode == NEAREST ? 1 : 2;
    for (int k = 0; k < r.count; k++) {
        double at = base + k;
        r.at[k] = at >= 0 && at < (double)n ? (int64_t)at : -1;
        r.weight[k] = s->mode == NEAREST ? 1 : k ? x - base : 1 - (x - base);
        r.slope[k] = s->mode == NEAREST ? 0 : (k ? 1 : -1) * per * turn;
    }
    return r;
}

/* One place: the element number of each combination, its weight, and its slopes along the axes. */
typedef struct combination {
    int64_t at;
    double weight, slope[3];
} combination;

static int combine(const sampler *s, const float *place, combination *to) {
    reach r[3] = {{.count = 1, .weight = {1}}, {.count = 1, .weight = {1}}, {.count = 1, .weight = {1}}};
    for (int i = 0; i < s->axes; i++) r[3 - s->axes + i] = reach_of(s, place[s->axes - 1 - i], s->size[i]);
    int64_t h = s->size[s->axes - 2], w = s->size[s->axes - 1];
    int n = 0;
    for (int a = 0; a < r[0].count; a++)
        for (int b = 0; b < r[1].count; b++)
            for (int c = 0; c < r[2].count; c++) {
                if (r[0].at[a] < 0 || r[1].at[b] < 0 || r[2].at[c] < 0) continue;
                double u = r[0].weight[a], v = r[1].weight[b], x = r[2].weight[c];
                to[n++] = (combination){(r[0].at[a] * h + r[1].at[b]) * w + r[2].at[c],
                                        u * v * x,
                                        {r[0].slope[a] * v * x, u * r[1].slope[b] * x, u * v * r[2].slope[c]}};
            }
    return n;
}

static sampler sampler_of(asc_run *run, tensor x, tensor grid, int mode) {
    sampler s = {x.rank - 2, asc_int(run, mode), asc_int(run, mode + 1), asc_int(run, mode + 2) != 0, {0}};
    ASC_STOP_UNLESS(run, (s.axes == 2 || s.axes == 3) && grid.rank == x.rank && grid.dims[grid.rank - 1] == s.axes,
                    "a grid has a place for each axis of the image");
    ASC_STOP_UNLESS(run, grid.dims[0] == x.dims[0], "%lld grids for %lld images", (long long)grid.dims[0],
                    (long long)x.dims[0]);
    for (int i = 0; i < s.axes; i++) {
        s.size[i] = x.dims[2 + i];
        ASC_STOP_UNLESS(run, s.size[i] > 0, "images without elements");
    }
    return s;
}

static int64_t image_elements(const sampler *s) {
    return s->size[0] * s->size[1] * (s->axes == 3 ? s->size[2] : 1);
}

/* input, grid, interpolationMode, paddingMode, alignCorners, out. */
void asc_op_grid_sample(asc_run *run) {
    tensor x = asc_f32(run, 0), grid = asc_f32(run, 1), y = asc_like(run, asc_in(run, 5), ASC_FLOAT32);
    sampler s = sampler_of(run, x, grid, 2);
    int64_t images = x.dims[0], channels = x.dims[1], each = image_elements(&s);
    int64_t places = images ? asc_elements(grid) / images / s.axes : 0;
    combination c[64];
    ASC_STOP_UNLESS(run, asc_elements(y) == images * channels * places, "the output has no element for each place");
    for (int64_t i = 0; i < images; i++)
        for (int64_t p = 0; p < places; p++) {
            int n = combine(&s, (const float *)grid.data + (i * places + p) * s.axes, c);
            for (int64_t k = 0; k < channels; k++) {
                const float *image = (const float *)x.data + (i * channels + k) * each;
                double sum = 0;
                for (int j = 0; j < n; j++) sum += c[j].weight * image[c[j].at];
                ((float *)y.data)[(i * channels + k) * places + p] = (float)sum;
            }
        }
    asc_put(run, 5, y);
}

/* gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask, gradInput, gradGrid. */
void asc_op_grid_sample_backward(asc_run *run) {
    tensor g = asc_f32(run, 0), x = asc_f32(run, 1), grid = asc_f32(run, 2);
    tensor dx = asc_like(run, x, ASC_FLOAT32), dgrid = asc_like(run, grid, ASC_FLOAT32);
    sampler s = sampler_of(run, x, grid, 3);
    int64_t images = x.dims[0], channels = x.dims[1], each = image_elements(&s);
    int64_t places = images ? asc_elements(grid) / images / s.axes : 0;
    combination c[64];
    ASC_STOP_UNLESS(run, asc_elements(g) == images * channels * places, "the gradient has no element for each place");
    asc_fill(run, dx, 0);
    for (int64_t i = 0; i < images; i++)
        for (int64_t p = 0; p < places; p++) {
            double slope[3] = {0, 0, 0};
            int n = combine(&s, (const float *)grid.data + (i * places + p) * s.axes, c);
            for (int64_t k = 0; k < channels; k++) {
                int64_t image = (i * channels + k) * each;
                double up = ((const float *)g.data)[(i * channels + k) * places + p];
                for (int j = 0; j < n; j++) {
                    ((float *)dx.data)[image + c[j].at] += (float)(up * c[j].weight);
                    for (int a = 0; a < 3; a++)
                        slope[a] += up * c[j].slope[a] * ((const float *)x.data)[image + c[j].at];
                }
            }
            for (int a = 0; a < s.axes; a++) ((float *)dgrid.data)[(i * places + p) * s.axes + a] = (float)slope[2 - a];
        }
    if (asc_given_at(run, 7)) asc_put(run, 7, dx);
    if (asc_given_at(run, 8)) asc_put(run, 8, dgrid);
}

/* theta [batch, n, n + 1], size, alignCorners, out [batch, .., n]: where each place of an image of that size is taken.
 */
void asc_op_affine_grid(asc_run *run) {
    tensor theta = asc_f32(run, 0), to = asc_in(run, 3), made = asc_like(run, to, ASC_FLOAT32);
    const asc_argument *size = asc_arg(run, 1);
    int n = size->count - 2;
    ASC_STOP_UNLESS(run,
                    (n == 2 || n == 3) && theta.rank == 3 && theta.dims[1] == n && theta.dims[2] == n + 1 &&
                        to.rank == n + 2 && to.dims[n + 1] == n && to.dims[0] == theta.dims[0],
                    "a grid of %d axes, and a theta of %d", n, theta.rank);
    for (int k = 0; k < n; k++)
        ASC_STOP_UNLESS(run, to.dims[1 + k] == size->ints[2 + k], "the output is no grid of the size");
    int64_t places = to.dims[0] ? asc_elements(to) / (to.dims[0] * n) : 0;
    for (int64_t i = 0; i < places * to.dims[0]; i++) {
        double at[4] = {0}; /* x first, and 1 behind the last */
        int64_t rest = i % places;
        for (int k = n - 1; k >= 0; k--) {
            int64_t length = to.dims[1 + k], p = rest % length;
            rest /= length;
            at[n - 1 - k] = asc_int(run, 2) ? (length > 1 ? 2.0 * (double)p / (double)(length - 1) - 1 : 0)
                                            : (2.0 * (double)p + 1) / (double)length - 1;
        }
        at[n] = 1;
        for (int row = 0; row < n; row++) {
            double sum = 0;
            for (int k = 0; k <= n; k++)
                sum += (double)((const float *)theta.data)[(i / places * n + row) * (n + 1) + k] * at[k];
            ((float *)made.data)[i * n + row] = (float)sum;
        }
    }
    asc_put(run, 3, made);
}
