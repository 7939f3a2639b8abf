/* pixels_filter.c - borders, histograms, tables and pyramids of pictures. */
#include "pixels.h"

/* The sample within 0 to count - 1 that one beyond it repeats; -1: none, the border is constant. */
static int64_t inside(int64_t at, int64_t count, asc_border border) {
    if (at >= 0 && at < count) return at;
    if (border == ASC_BORDER_CONSTANT) return -1;
    if (border == ASC_BORDER_REPLICATE || count == 1) return at < 0 ? 0 : count - 1;
    int64_t own = border == ASC_BORDER_REFLECT; /* whether the outermost sample is repeated too */
    int64_t period = 2 * count - 2 + 2 * own, low = -own;
    int64_t turn = ((at - low) % period + period) % period + low;
    return turn < count ? turn : 2 * (count - 1) + own - turn;
}

static void frame(const asc_samples *s, asc_acl_region r, asc_border border, uint8_t value) {
    int64_t left = r.left / s->across, top = r.top / s->down;
    int64_t width = r.right / s->across - left + 1, height = r.bottom / s->down - top + 1;
    for (int64_t y = 0; y < s->height; y++) {
        int64_t from_y = inside(y - top, height, border);
        for (int64_t x = 0; x < s->width; x++) {
            int64_t from_x = inside(x - left, width, border);
            if (from_x >= 0 && from_y >= 0 && from_x == x - left && from_y == y - top) continue;
            const uint8_t *known = s->at + (size_t)(top + from_y) * s->pitch + (size_t)(left + from_x) * s->step;
            s->at[(size_t)y * s->pitch + (size_t)x * s->step] = from_x < 0 || from_y < 0 ? value : *known;
        }
    }
}

void asc_pixels_border(const asc_pixels *p, asc_acl_region inner, asc_border border, const uint8_t *value) {
    for (uint32_t c = 0; c < p->count; c++) frame(&p->part[c], inner, border, value[c]);
}

void asc_pixels_count(const asc_samples *part, uint32_t *counts) {
    for (uint32_t y = 0; y < part->height; y++)
        for (uint32_t x = 0; x < part->width; x++) counts[part->at[y * part->pitch + (size_t)x * part->step]]++;
}

void asc_pixels_map(const asc_samples *from, const asc_samples *to, const uint8_t *table) {
    for (uint32_t y = 0; y < to->height; y++)
        for (uint32_t x = 0; x < to->width; x++)
            to->at[y * to->pitch + (size_t)x * to->step] = table[from->at[y * from->pitch + (size_t)x * from->step]];
}

static int64_t filtered(const asc_samples *from, int64_t x, int64_t y, const int8_t filter[5][5], asc_border border,
                        uint8_t value) {
    int64_t sum = 0;
    for (int64_t r = 0; r < 5; r++) {
        int64_t v = inside(y + r - 2, from->height, border);
        for (int64_t c = 0; c < 5; c++) {
            int64_t u = inside(x + c - 2, from->width, border);
            bool known = u >= 0 && v >= 0;
            sum += filter[r][c] * (known ? from->at[(size_t)v * from->pitch + (size_t)u * from->step] : value);
        }
    }
    return sum;
}

void asc_pixels_halve(const asc_samples *from, const asc_samples *to, const int8_t filter[5][5], uint16_t divisor,
                      asc_border border, uint8_t value) {
    for (uint32_t y = 0; y < to->height; y++)
        for (uint32_t x = 0; x < to->width; x++) {
            int64_t sum = filtered(from, 2 * (int64_t)x, 2 * (int64_t)y, filter, border, value);
            int64_t kept = sum <= 0 ? 0 : (sum + divisor / 2) / divisor;
            to->at[y * to->pitch + (size_t)x * to->step] = (uint8_t)(kept > 255 ? 255 : kept);
        }
}
