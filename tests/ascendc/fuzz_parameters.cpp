/* Instructions with random strides, repeats, masks and forms against loops that are written down lane by lane here.
 *
 * Arguments: how many cases, and a seed. Prints the cases of each instruction and those that differ; the status is 1
 * if any does, or if a check objects to one. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "fuzz_cases.h"

using namespace AscendC;

namespace {

template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, float>;

/* An instruction over tensors d, a, b, and what it does to one element. */
template <typename T>
struct Row {
    const char *name;
    void (*call)(const Case &, const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, T s);
    Wide<T> (*plain)(Wide<T> d, Wide<T> x, Wide<T> y, Wide<T> s);
};

#define ROW(name, params, expression, ...)                                                               \
    {#name,                                                                                              \
     [](const Case &c, const LocalTensor<T> &d, const LocalTensor<T> &a, const LocalTensor<T> &b, T s) { \
         (void)b, (void)s;                                                                               \
         in_its_form(c, c.params(), [&](auto... form) { name(__VA_ARGS__, form...); });                  \
     },                                                                                                  \
     [](W d, W x, W y, W s) {                                                                            \
         (void)d, (void)x, (void)y, (void)s;                                                             \
         return W(expression);                                                                           \
     }}

template <typename T>
std::vector<Row<T>> rows() {
    using W = Wide<T>;
    std::vector<Row<T>> found = {
        ROW(Add, binary, x + y, d, a, b),         ROW(Sub, binary, x - y, d, a, b),
        ROW(Mul, binary, x * y, d, a, b),         ROW(Max, binary, x > y ? x : y, d, a, b),
        ROW(Min, binary, x < y ? x : y, d, a, b), ROW(Adds, unary, x + s, d, a, s),
        ROW(Muls, unary, x * s, d, a, s),         ROW(Maxs, unary, x > s ? x : s, d, a, s),
        ROW(Mins, unary, x < s ? x : s, d, a, s), ROW(Relu, unary, x > 0 ? x : 0, d, a),
    };
    if constexpr (std::is_integral_v<T>) {
        const std::vector<Row<T>> more = {
            ROW(And, binary, x & y, d, a, b),
            ROW(Or, binary, x | y, d, a, b),
            ROW(Not, unary, ~x, d, a),
            ROW(ShiftLeft, unary, x << (s & 3), d, a, T(s & 3)),
            ROW(ShiftRight, unary, x >> (s & 3), d, a, T(s & 3)),
        };
        found.insert(found.end(), more.begin(), more.end());
    } else {
        const std::vector<Row<T>> more = {
            ROW(Div, binary, x / y, d, a, b),
            ROW(AddRelu, binary, x + y <= 0 ? 0 : x + y, d, a, b),
            ROW(SubRelu, binary, x - y <= 0 ? 0 : x - y, d, a, b),
            ROW(MulAddDst, binary, x * y + d, d, a, b),
            ROW(FusedMulAdd, binary, x * d + y, d, a, b),
            ROW(FusedMulAddRelu, binary, x * d + y <= 0 ? 0 : x * d + y, d, a, b),
            ROW(Axpy, unary, x * s + d, d, a, s),
            ROW(LeakyRelu, unary, x >= 0 ? x : x * s, d, a, s),
            ROW(Abs, unary, std::fabs(x), d, a),
            ROW(Exp, unary, std::exp(x), d, a),
            ROW(Ln, unary, std::log(x), d, a),
            ROW(Sqrt, unary, std::sqrt(x), d, a),
            ROW(Rsqrt, unary, 1 / std::sqrt(x), d, a),
            ROW(Reciprocal, unary, 1 / x, d, a),
        };
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

template <typename T>
bool elementwise(Draw &draw, Memory<T> &m, std::string &name) {
    static const std::vector<Row<T>> table = rows<T>();
    const Row<T> &row = table[draw.below(table.size())];
    name = row.name;
    const Case c = draw.fitting(sizeof(T), sizeof(T), sizeof(T), true);
    const T s = T(float(draw.between(-3, 3)));
    /* Now and then src0 is dst itself, some blocks on: of each repeat all is read before anything is written. */
    const size_t shift = size_t(draw.below(17)) * 32 / sizeof(T);
    const bool meets =
        draw.below(5) == 0 &&
        c.extent(c.a_block, c.a_repeat, sizeof(T), sizeof(T)) + int64_t(shift * sizeof(T)) <= int64_t(BYTES);
    if (meets) name += ", overlapping";
    return m.equal([&](auto &d, auto &a, auto &b) { row.call(c, d, meets ? d[shift] : a, b, s); },
                   [&](auto &d, auto &a, auto &b) {
                       std::vector<T> before;
                       int64_t last = -1;
                       c.walk(sizeof(T), [&](const Place &p) {
                           const int64_t repeat = p.repeat < 0 ? p.lane / int64_t(256 / sizeof(T)) : p.repeat;
                           if (meets && repeat != last) before = d, last = repeat;
                           const T x = meets ? before[shift + p.a(sizeof(T))] : a[p.a(sizeof(T))];
                           T &to = d[p.d(sizeof(T))];
                           to = T(row.plain(Wide<T>(to), Wide<T>(x), Wide<T>(b[p.b(sizeof(T))]), Wide<T>(s)));
                       });
                   });
}

template <typename D, typename S>
bool casts(Draw &draw, Memory<S> &m, std::string &name) {
    name = "Cast";
    const Case c = draw.fitting(sizeof(D), sizeof(S), sizeof(S), true);
    constexpr size_t wide = sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S);
    const RoundMode mode = std::is_integral_v<D> || sizeof(D) < sizeof(S) ? RoundMode::CAST_RINT : RoundMode::CAST_NONE;
    return m.equal(
        [&](auto &d, auto &a, auto &) {
            LocalTensor<D> to = d.template ReinterpretCast<D>();
            in_its_form(c, c.unary(), [&](auto... form) {
                if constexpr (sizeof...(form) == 1)
                    Cast(to, a, mode, uint32_t(form)...);
                else
                    Cast(to, a, mode, form...);
            });
        },
        [&](auto &d, auto &a, auto &) {
            D *to = reinterpret_cast<D *>(d.data());
            c.walk(wide, [&](const Place &p) { to[p.d(sizeof(D))] = D(float(a[p.a(sizeof(S))])); });
        });
}

/* Sums and bests of a repeat, of its blocks and pairs. */
template <typename T>
bool reductions(Draw &draw, Memory<T> &m, std::string &name) {
    const int which = int(draw.below(7));
    const char *const names[] = {"WholeReduceSum", "WholeReduceMax", "WholeReduceMin", "BlockReduceSum",
                                 "BlockReduceMax", "BlockReduceMin", "PairReduceSum"};
    name = names[which];
    Case c = draw.fitting(sizeof(T), sizeof(T), sizeof(T), false);
    constexpr int lanes = int(256 / sizeof(T)), block = int(32 / sizeof(T));
    const int width = which < 3 ? lanes : which < 6 ? block : 2, each = lanes / width;
    c.d_repeat = draw.between(1, 3);
    while (c.repeats * c.d_repeat * each * 2 * int(sizeof(T)) > int(BYTES)) c.repeats = (c.repeats + 1) / 2;
    const int32_t n = int32_t(c.repeats), to = int32_t(c.d_repeat), blk = int32_t(c.a_block),
                  from = int32_t(c.a_repeat);
    const auto call = [&](auto mask, const LocalTensor<T> &d, const LocalTensor<T> &a) {
        switch (which) {
            case 0: WholeReduceSum(d, a, mask, n, to, blk, from); break;
            case 1: WholeReduceMax(d, a, mask, n, to, blk, from, ReduceOrder::ORDER_ONLY_VALUE); break;
            case 2: WholeReduceMin(d, a, mask, n, to, blk, from, ReduceOrder::ORDER_ONLY_VALUE); break;
            case 3: BlockReduceSum(d, a, n, mask, to, blk, from); break;
            case 4: BlockReduceMax(d, a, n, mask, to, blk, from); break;
            case 5: BlockReduceMin(d, a, n, mask, to, blk, from); break;
            default: PairReduceSum(d, a, n, mask, to, blk, from); break;
        }
    };
    return m.equal(
        [&](auto &d, auto &a, auto &) {
            const uint64_t bits[2] = {c.low, c.high};
            if (c.form == BITS)
                call(bits, d, a);
            else
                call(int32_t(c.low), d, a);
        },
        [&](auto &d, auto &a, auto &) {
            for (int64_t r = 0; r < c.repeats; r++)
                for (int g = 0; g < each; g++) {
                    bool any = false;
                    float sum = 0, low = 0, high = 0;
                    for (int k = g * width; k < (g + 1) * width; k++) {
                        if (!c.has(r, k, lanes)) continue;
                        const float v = float(a[size_t((r * from + k / block * blk) * block + k % block)]);
                        sum += v, low = !any || v < low ? v : low, high = !any || v > high ? v : high, any = true;
                    }
                    const bool sums = which == 0 || which == 3 || which == 6;
                    if (!any && !sums && which < 3) continue;
                    const float best = which == 1 || which == 4 ? high : low;
                    d[size_t(r * to * each + g)] = T(sums ? sum : any ? best : 0);
                }
        });
}

/* The best element of each repeat and where it is, in the four orders. */
template <typename T>
bool best_places(Draw &draw, Memory<T> &m, std::string &name) {
    const bool most = draw.below(2);
    const ReduceOrder order = ReduceOrder(draw.below(4));
    name = most ? "WholeReduceMax, places" : "WholeReduceMin, places";
    Case c = draw.fitting(sizeof(T), sizeof(T), sizeof(T), false);
    c.d_repeat = draw.between(1, 3);
    constexpr size_t lanes = 256 / sizeof(T), block = 32 / sizeof(T);
    const size_t each = order == ReduceOrder::ORDER_ONLY_VALUE   ? 1
                        : order == ReduceOrder::ORDER_ONLY_INDEX ? 4 / sizeof(T)
                                                                 : 2;
    return m.equal(
        [&](auto &d, auto &a, auto &) {
            const uint64_t bits[2] = {c.low, c.high};
            const int32_t n = int32_t(c.repeats), to = int32_t(c.d_repeat), blk = int32_t(c.a_block),
                          from = int32_t(c.a_repeat), mask = int32_t(c.low);
            if (most && c.form == BITS) WholeReduceMax(d, a, bits, n, to, blk, from, order);
            if (most && c.form != BITS) WholeReduceMax(d, a, mask, n, to, blk, from, order);
            if (!most && c.form == BITS) WholeReduceMin(d, a, bits, n, to, blk, from, order);
            if (!most && c.form != BITS) WholeReduceMin(d, a, mask, n, to, blk, from, order);
        },
        [&](auto &d, auto &a, auto &) {
            for (size_t r = 0; r < size_t(c.repeats); r++) {
                const auto at = [&](size_t k) {
                    return a[(r * size_t(c.a_repeat) + k / block * size_t(c.a_block)) * block + k % block];
                };
                size_t best = lanes;
                for (size_t k = 0; k < lanes; k++)
                    if (c.has(0, int64_t(k), 0) && (best == lanes || (most ? at(k) > at(best) : at(k) < at(best))))
                        best = k;
                uint8_t value[4] = {}, place[4] = {};
                const T found = at(best);
                const uint32_t index = uint32_t(best);
                std::memcpy(value, &found, sizeof found), std::memcpy(place, &index, 4);
                uint8_t *const to = reinterpret_cast<uint8_t *>(d.data() + r * size_t(c.d_repeat) * each);
                const bool first = order == ReduceOrder::ORDER_VALUE_INDEX || order == ReduceOrder::ORDER_ONLY_VALUE;
                const bool alone = order == ReduceOrder::ORDER_ONLY_INDEX;
                std::memcpy(to, first ? value : place, alone ? 4 : sizeof(T));
                if (each == 2 && !alone) std::memcpy(to + sizeof(T), first ? place : value, sizeof(T));
            }
        });
}

/* ConfusionTranspose of [b, n, s, d]: which of its sides are fractal, and which axes are rows and columns there. */
template <typename T>
bool transposes(Draw &draw, Memory<T> &m, std::string &name) {
    const uint32_t type = uint32_t(draw.between(1, 7));
    name = "ConfusionTranspose";
    const size_t b = size_t(draw.between(1, 3)), n = size_t(draw.between(1, 5)), s = size_t(draw.between(1, 20)),
                 d = size_t(draw.between(1, 20));
    const auto up = [](size_t x) { return (x + 15) / 16 * 16; };
    const auto fractal = [&](size_t rows, size_t row, size_t column) {
        return (column / 16 * up(rows) + row) * 16 + column % 16;
    };
    const size_t most = BYTES / sizeof(T), joined = up(s) * up(n * d);
    if (type == 7 ? b * n > most : b * std::max({n * up(s) * up(d), s * up(n) * up(d), joined}) > most) return true;
    const bool split = type == 3 || type == 4, merged = type >= 5 && type != 7;
    const auto from = [&](size_t i, size_t k, size_t r, size_t l) {
        return split ? i * joined + fractal(s, r, k * d + l) : (i * n + k) * up(s) * up(d) + fractal(s, r, l);
    };
    const auto to = [&](size_t i, size_t k, size_t r, size_t l) {
        switch (type) {
            case 1: return ((i * s + r) * n + k) * d + l;
            case 2: return (i * s + r) * up(n) * up(d) + fractal(n, k, l);
            case 3: return (i * n + k) * up(s) * up(d) + fractal(s, r, l);
            case 4: return ((i * n + k) * s + r) * d + l;
            case 5: return (i * s + r) * n * d + k * d + l;
            default: return i * joined + fractal(s, r, k * d + l);
        }
    };
    ConfusionTransposeTiling tiling;
    tiling.param0 = uint32_t(b), tiling.param1 = uint32_t(n), tiling.param2 = uint32_t(s), tiling.param3 = uint32_t(d);
    return m.equal(
        [&](auto &y, auto &x, auto &) { ConfusionTranspose(y, x, TransposeType(type), tiling); },
        [&](auto &y, auto &x, auto &) {
            const bool nz = type == 2 || type == 3 || type == 6;
            const size_t whole = merged ? b * joined : type == 2 ? b * s * up(n) * up(d) : b * n * up(s) * up(d);
            for (size_t i = 0; nz && i < whole; i++) y[i] = T(0);
            for (size_t i = 0; i < b; i++)
                for (size_t k = 0; k < n; k++) {
                    if (type == 7) y[k * b + i] = x[i * n + k];
                    for (size_t r = 0; type != 7 && r < s; r++)
                        for (size_t l = 0; l < d; l++) y[to(i, k, r, l)] = x[from(i, k, r, l)];
                }
        });
}

template <typename T>
bool moves(Draw &draw, Memory<T> &m, std::string &name) {
    const int which = int(draw.below(4));
    const char *const names[] = {"Duplicate", "Copy", "Brcb", "Gather"};
    name = names[which];
    Case c = draw.fitting(sizeof(T), sizeof(T), sizeof(T), false);
    constexpr size_t block = 32 / sizeof(T);
    const T s = T(float(draw.between(-3, 3)));
    std::vector<uint32_t> offsets(64);
    for (uint32_t &o : offsets) o = uint32_t(draw.below(BYTES / sizeof(T)) * sizeof(T));
    const uint64_t bits[2] = {c.low, c.high};
    const uint8_t n = uint8_t(c.repeats);
    if (which == 2)
        while (((n - 1) * c.d_repeat + 7 * c.d_block + 1) * 32 > int64_t(BYTES)) c.d_repeat /= 2, c.d_block = 1;
    const uint32_t count = uint32_t(draw.between(1, 64));
    return m.equal(
        [&](auto &d, auto &a, auto &b) {
            const CopyRepeatParams copy{uint16_t(c.d_block), uint16_t(c.a_block), uint16_t(c.d_repeat),
                                        uint16_t(c.a_repeat)};
            if (which == 0 && c.form == BITS) Duplicate(d, s, bits, n, uint16_t(c.d_block), uint8_t(c.d_repeat));
            if (which == 0 && c.form != BITS) Duplicate(d, s, c.low, n, uint16_t(c.d_block), uint8_t(c.d_repeat));
            if (which == 1 && c.form == BITS) Copy(d, a, bits, n, copy);
            if (which == 1 && c.form != BITS) Copy(d, a, c.low, n, copy);
            if (which == 2) Brcb(d, a, n, {uint16_t(c.d_block), uint16_t(c.d_repeat)});
            if (which == 3) {
                LocalTensor<uint32_t> at = b.template ReinterpretCast<uint32_t>();
                for (uint32_t i = 0; i < 64; i++) at.SetValue(i, offsets[i]);
                PipeBarrier<PIPE_ALL>();
                Gather(d, a, at, 0u, count);
            }
        },
        [&](auto &d, auto &a, auto &) {
            if (which < 2)
                c.walk(sizeof(T), [&](const Place &p) { d[p.d(sizeof(T))] = which ? a[p.a(sizeof(T))] : s; });
            for (size_t i = 0; which == 2 && i < size_t(n) * 8; i++)
                for (size_t k = 0; k < block; k++)
                    d[(i / 8 * size_t(c.d_repeat) + i % 8 * size_t(c.d_block)) * block + k] = a[i];
            for (size_t i = 0; which == 3 && i < count; i++) d[i] = a[offsets[i] / sizeof(T)];
        });
}

/* Bits of comparisons, and choices by bits. */
template <typename T>
bool choices(Draw &draw, Memory<T> &m, std::string &name) {
    const int which = int(draw.below(5));
    const char *const names[] = {"Compare", "CompareScalar", "Select", "Compare with repeats", "Select by one mask"};
    name = names[which];
    const uint32_t lanes = 256 / sizeof(T), n = uint32_t(draw.between(1, int64_t(BYTES / 256 / 2))) * lanes;
    const CMPMODE mode = CMPMODE(draw.below(6));
    const T s = T(float(draw.between(-3, 3)));
    const Case c = draw.fitting(sizeof(T), sizeof(T), sizeof(T), false);
    const auto holds = [&](float x, float y) {
        const bool table[] = {x<y, x> y, x == y, x <= y, x >= y, x != y};
        return table[int(mode)];
    };
    const BinaryRepeatParams params{1, uint8_t(c.a_block),  uint8_t(c.b_block),
                                    8, uint8_t(c.a_repeat), uint8_t(c.b_repeat)};
    return m.equal(
        [&](auto &d, auto &a, auto &b) {
            LocalTensor<uint8_t> bits = d.template ReinterpretCast<uint8_t>();
            if (which == 0) Compare(bits, a, b, mode, n);
            if (which == 1) CompareScalar(bits, a, s, mode, n);
            if (which == 2) Select(d, b.template ReinterpretCast<uint8_t>(), a, s, SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
            if (which == 3) Compare(bits, a, b, mode, uint64_t(lanes), uint8_t(c.repeats), params);
            if (which == 4) Select(d, b.template ReinterpretCast<uint8_t>(), a, b, SELMODE::VSEL_CMPMASK_SPR, n);
        },
        [&](auto &d, auto &a, auto &b) {
            uint8_t *to = reinterpret_cast<uint8_t *>(d.data());
            const uint8_t *from = reinterpret_cast<const uint8_t *>(b.data());
            const auto put = [&](uint32_t i, bool v) { to[i / 8] = uint8_t((to[i / 8] & ~(1 << i % 8)) | v << i % 8); };
            for (uint32_t i = 0; which < 2 && i < n; i++) put(i, holds(float(a[i]), float(which ? s : b[i])));
            for (uint32_t i = 0; which == 2 && i < n; i++) d[i] = from[i / 8] >> i % 8 & 1 ? a[i] : s;
            for (uint32_t i = 0; which == 4 && i < n; i++) d[i] = from[i % lanes / 8] >> i % 8 & 1 ? a[i] : b[i];
            for (uint32_t i = 0; which == 3 && i < uint32_t(c.repeats) * lanes; i++) {
                const Place p{int64_t(i / lanes), int64_t(i % lanes), &c};
                put(i, holds(float(a[p.a(sizeof(T))]), float(b[p.b(sizeof(T))])));
            }
        });
}

/* Runs of global memory, one behind the other in the unified buffer. */
template <typename T>
bool compact_copies(Draw &draw, Memory<T> &m, std::string &name) {
    name = "DataCopyPad, compact";
    const int64_t n = draw.between(1, 8), gap = draw.between(0, 5), length = draw.between(1, 40);
    if (n * (length + gap) > int64_t(BYTES / sizeof(T))) return true;
    return m.equal(
        [&](auto &d, auto &, auto &) {
            DataCopyPad<T, PaddingMode::Compact>(
                d, m.global(1),
                DataCopyExtParams(uint16_t(n), uint32_t(length * int64_t(sizeof(T))), gap * int64_t(sizeof(T)), 0, 0),
                DataCopyPadExtParams<T>());
        },
        [&](auto &d, auto &a, auto &) {
            for (int64_t i = 0; i < n * length; i++) d[size_t(i)] = a[size_t(i / length * (length + gap) + i % length)];
        });
}

/* Copies between global memory and the unified buffer with gaps and padding. */
template <typename T>
bool copies(Draw &draw, Memory<T> &m, std::string &name) {
    const bool pads = draw.below(2);
    name = pads ? "DataCopyPad" : "DataCopy";
    constexpr int64_t block = int64_t(32 / sizeof(T)), size = int64_t(BYTES / sizeof(T));
    const int64_t n = draw.between(1, 8), gap = draw.between(0, 5), to_gap = draw.between(0, 3);
    const int64_t length = pads ? draw.between(1, 40) : draw.between(1, 4) * block;
    const int64_t left = pads ? draw.between(0, block - 1) : 0, filled = (left + length + block - 1) / block * block;
    const int64_t right = pads ? draw.between(0, filled - left - length) : 0;
    const bool is_padding = pads && draw.below(2);
    const T value = T(float(draw.between(-3, 3)));
    const int64_t from_step = length + (pads ? gap : gap * block);
    const int64_t row = is_padding ? filled : (length + block - 1) / block * block, to_step = row + to_gap * block;
    if (n * from_step > size || n * to_step > size) return true;
    return m.equal(
        [&](auto &d, auto &, auto &) {
            if (pads)
                DataCopyPad(d, m.global(1),
                            DataCopyExtParams(uint16_t(n), uint32_t(length * int64_t(sizeof(T))),
                                              uint32_t(gap * int64_t(sizeof(T))), uint32_t(to_gap), 0),
                            DataCopyPadExtParams<T>(is_padding, uint8_t(left), uint8_t(right), value));
            else
                DataCopy(d, m.global(1),
                         DataCopyParams(uint16_t(n), uint16_t(length / block), uint16_t(gap), uint16_t(to_gap)));
        },
        [&](auto &d, auto &a, auto &) {
            for (int64_t i = 0; i < n; i++) {
                const int64_t shift = is_padding ? left : 0;
                for (int64_t k = 0; k < length; k++) d[size_t(i * to_step + shift + k)] = a[size_t(i * from_step + k)];
                for (int64_t k = 0; is_padding && k < left; k++) d[size_t(i * to_step + k)] = value;
                for (int64_t k = 0; is_padding && k < right; k++) d[size_t(i * to_step + left + length + k)] = value;
                for (int64_t k = shift + length + (is_padding ? right : 0); k < row; k++)
                    m.free_to_be(size_t(i * to_step + k));
            }
        });
}

template <typename T>
bool one(Draw &draw, Memory<T> &m, std::string &name) {
    constexpr bool floats = !std::is_integral_v<T>;
    switch (draw.below(12)) {
        case 10: return transposes(draw, m, name);
        case 11:
            if constexpr (floats) return best_places(draw, m, name);
            return elementwise(draw, m, name);
        case 0: return moves(draw, m, name);
        case 1: return draw.below(4) ? copies(draw, m, name) : compact_copies(draw, m, name);
        case 2:
            if constexpr (floats) return choices(draw, m, name);
            return elementwise(draw, m, name);
        case 3:
            if constexpr (floats) return reductions(draw, m, name);
            return elementwise(draw, m, name);
        case 4:
            if constexpr (std::is_same_v<T, half>)
                return draw.below(2) ? casts<float>(draw, m, name) : casts<int32_t>(draw, m, name);
            else if constexpr (std::is_same_v<T, float>)
                return draw.below(2) ? casts<half>(draw, m, name) : casts<int32_t>(draw, m, name);
            else
                return elementwise(draw, m, name);
        default: return elementwise(draw, m, name);
    }
}

}  // namespace

int main(int count, char **arguments) {
    const uint64_t cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 1000;
    Draw draw(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1);
    std::map<std::string, std::pair<uint64_t, uint64_t>> seen;
    const uint64_t batch = 500;
    for (uint64_t begin = 0; begin < cases; begin += batch) {
        const uint64_t end = begin + batch < cases ? begin + batch : cases;
        on_a_core([&] {
            Memory<float> f;
            Memory<half> h(f);
            Memory<int32_t> i(f);
            Memory<int16_t> s(f);
            for (uint64_t k = begin; k < end; k++) {
                std::string name;
                const uint64_t type = draw.below(4);
                const bool same = type == 0   ? one(draw, f, name)
                                  : type == 1 ? one(draw, h, name)
                                  : type == 2 ? one(draw, i, name)
                                              : one(draw, s, name);
                seen[name].first++;
                if (!same) seen[name].second++;
                if (!same) std::printf("case %llu: %s differs\n", (unsigned long long)k, name.c_str());
            }
        });
    }
    uint64_t differ = 0;
    for (const auto &[name, counts] : seen) {
        std::printf("%-20s %10llu cases, %llu differ\n", name.c_str(), (unsigned long long)counts.first,
                    (unsigned long long)counts.second);
        differ += counts.second;
    }
    std::printf("%llu cases, %llu differ\n", (unsigned long long)cases, (unsigned long long)differ);
    return differ != 0;
}
