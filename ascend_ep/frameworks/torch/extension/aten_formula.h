/* aten_formula.h - what generated operators need beside ATen: types to compute in, rounding, and the functions
 * of formulas that ATen spells otherwise. Sizes may be symbolic.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace formula {

using at::Tensor;

/* float64 where an input is, or is an integer that float32 doesn't hold; else float32. */
inline at::ScalarType compute_type(const std::vector<std::optional<Tensor>> &inputs) {
    for (const auto &input : inputs) {
        if (!input.has_value() || !input->defined()) continue;
        const auto type = input->scalar_type();
        const bool wide = at::isIntegralType(type, /*includeBool=*/false) && input->element_size() > 2;
        if (type == at::kDouble || wide) return at::kDouble;
    }
    return at::kFloat;
}

/* That an input, where it is given, has one of these element types. */
inline void check_type(const char *op, const char *name, const std::optional<Tensor> &input,
                       std::initializer_list<at::ScalarType> types) {
    if (!input.has_value()) return;
    const at::ScalarType type = input->scalar_type();
    const bool allowed = std::find(types.begin(), types.end(), type) != types.end();
    TORCH_CHECK(allowed, op, ": ", name, " must be one of ", std::vector<at::ScalarType>(types), ", not ", type);
}

/* That two inputs have one element type, where the second is given. */
inline void check_same(const char *op, const Tensor &one, const std::optional<Tensor> &other) {
    TORCH_CHECK(!other.has_value() || other->scalar_type() == one.scalar_type(), op, ": tensors of ", one.scalar_type(),
                " and ", other->scalar_type(), " must have one element type");
}

/* A tensor of one number. */
inline Tensor number(double value, const at::TensorOptions &options) {
    return at::full({}, value, options);
}

inline Tensor number(bool value, const at::TensorOptions &options) {
    return at::full({}, value, options.dtype(at::kBool));
}

/* The value in an element type, dense. Integers truncate and saturate; NaN becomes 0. */
inline Tensor rounded(const Tensor &value, at::ScalarType type) {
    if (!at::isIntegralType(type, false) || !at::isFloatingType(value.scalar_type()))
        return value.to(type).contiguous();
    double low = 0, high = 0;
    int64_t least = 0, most = 0;
    AT_DISPATCH_INTEGRAL_TYPES(type, "rounded", [&] {
        least = std::numeric_limits<scalar_t>::min(), most = std::numeric_limits<scalar_t>::max();
        low = static_cast<double>(least), high = static_cast<double>(most);
    });
    const Tensor whole = at::trunc(at::where(at::isnan(value), at::zeros_like(value), value));
    const Tensor inside =
        at::where(at::logical_or(at::ge(whole, high), at::le(whole, low)), at::zeros_like(whole), whole);
    const Tensor made = inside.to(type);
    const Tensor capped = at::where(at::ge(whole, high), at::full_like(made, most), made);
    return at::where(at::le(whole, low), at::full_like(made, least), capped).contiguous();
}

/* The same in memory of its own. */
inline Tensor copied(const Tensor &value, at::ScalarType type) {
    return rounded(value, type).clone(at::MemoryFormat::Contiguous);
}

inline Tensor sign_of(const Tensor &x) {
    return at::where(at::isnan(x), x, at::sign(x));
}

inline double sign_of(double x) {
    return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
}

inline Tensor softplus_of(const Tensor &x) {
    return at::logaddexp(x, at::zeros_like(x));
}

inline double softplus_of(double x) {
    return std::fmax(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

inline double modulo(double a, double b) {
    return a - b * std::floor(a / b);
}

/* Axes of a reduction: those that are listed, or all from one on, before another. */
struct Axes {
    std::vector<int64_t> listed;
    std::optional<int64_t> first = std::nullopt;
    std::optional<int64_t> stop = std::nullopt;

    Axes(std::initializer_list<int64_t> axes) : listed(axes) {}
    Axes(at::IntArrayRef axes) : listed(axes.vec()) {}
    Axes(std::optional<int64_t> from, std::optional<int64_t> before) : first(from), stop(before) {}

    std::vector<int64_t> of(const Tensor &x) const {
        if (!first.has_value()) return listed;
        const int64_t rank = x.dim();
        TORCH_CHECK(-rank <= *first && *first <= rank, "axis ", *first, " is outside a tensor of rank ", rank);
        const int64_t end = !stop.has_value() ? rank : *stop < 0 ? *stop + rank : std::min(*stop, rank);
        std::vector<int64_t> axes;
        for (int64_t axis = *first < 0 ? *first + rank : *first; axis < end; axis++) axes.push_back(axis);
        return axes;
    }
};

inline Axes from(int64_t first, std::optional<int64_t> stop = std::nullopt) {
    return Axes(std::optional<int64_t>(first), stop);
}

/* Reductions; over no axes they give what they take, where ATen would reduce over all. */
inline Tensor sum_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::sum(x, axes, keep);
}

inline Tensor mean_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::mean(x, axes, keep);
}

inline Tensor max_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::amax(x, axes, keep);
}

inline Tensor min_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::amin(x, axes, keep);
}

inline Tensor logsumexp_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::logsumexp(x, axes, keep);
}

inline Tensor any_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::any(x, axes, keep);
}

inline Tensor all_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? x : at::all(x, axes, keep);
}

inline Tensor var_over(const Tensor &x, const Axes &given, bool keep) {
    const auto axes = given.of(x);
    return axes.empty() ? at::zeros_like(x) : at::var(x, axes, /*correction=*/0, keep);
}

inline Tensor prod_over(Tensor x, const Axes &given, bool keep) {
    std::vector<int64_t> axes = given.of(x);
    for (int64_t &axis : axes) axis = at::maybe_wrap_dim(axis, x.dim());
    std::sort(axes.rbegin(), axes.rend());
    for (const int64_t axis : axes) x = at::prod(x, axis, keep);
    return x;
}

/* 0, 1, 2, ... along an axis, all other dimensions 1. */
inline Tensor positions(const Tensor &like, int64_t axis, const at::TensorOptions &options) {
    const int64_t at = at::maybe_wrap_dim(axis, like.dim());
    std::vector<c10::SymInt> shape(like.dim(), 1);
    shape[at] = like.sym_size(at);
    const Tensor ones = at::ones_symint(shape, options);
    return at::cumsum(ones, at) - 1;
}

/* The length of an axis. */
inline Tensor size_of(const Tensor &like, int64_t axis, const at::TensorOptions &options) {
    if (like.is_meta()) return at::empty({}, options);
    return number(static_cast<double>(like.size(axis)), options);
}

/* New dimensions of 1 at these axes of the result. */
inline Tensor with_ones(Tensor x, at::IntArrayRef where) {
    std::vector<int64_t> axes = where.vec();
    const int64_t rank = x.dim() + static_cast<int64_t>(axes.size());
    for (int64_t &axis : axes) axis = at::maybe_wrap_dim(axis, rank);
    std::sort(axes.begin(), axes.end());
    for (const int64_t axis : axes) x = x.unsqueeze(axis);
    return x;
}

/* x in the shape of `like`: summed over what broadcasting added, repeated along what it lacks. */
inline Tensor fitted(Tensor x, const Tensor &like) {
    while (x.dim() > like.dim()) x = at::sum(x, {0});
    std::vector<int64_t> axes;
    const int64_t extra = like.dim() - x.dim();
    for (int64_t axis = 0; axis < x.dim(); axis++) {
        if (like.sym_size(axis + extra) == 1 && x.sym_size(axis) != 1) axes.push_back(axis);
    }
    if (!axes.empty()) x = at::sum(x, axes, /*keepdim=*/true);
    return x.expand_symint(like.sym_sizes());
}

/* The k largest or smallest and where they are, best first; of equal ones the lower index first. */
inline std::tuple<Tensor, Tensor> first_k(const Tensor &x, int64_t k, int64_t axis, bool largest) {
    TORCH_CHECK(k >= 0 && k <= x.sym_size(axis), "k is ", k, ", but axis ", axis, " has ", x.sym_size(axis),
                " elements");
    const auto [values, indices] = at::sort(x, /*stable=*/true, axis, /*descending=*/largest);
    return {at::slice(values, axis, 0, k), at::slice(indices, axis, 0, k)};
}

/* Part `index` of an axis that is cut in `count` parts of one size, but for the last. */
inline Tensor part(const Tensor &x, int64_t axis, int64_t count, int64_t index) {
    const c10::SymInt size = (x.sym_size(axis) + (count - 1)) / count;
    return at::slice_symint(x, axis, size * index, size * (index + 1));
}

/* Windows that slide along an axis, along a new last one. */
inline Tensor windows(const Tensor &x, int64_t axis, int64_t size, int64_t stride, int64_t dilation, int64_t before,
                      int64_t after, double fill) {
    const int64_t at = at::maybe_wrap_dim(axis, x.dim());
    std::vector<int64_t> pads(2 * (x.dim() - at), 0);
    pads[pads.size() - 2] = before, pads[pads.size() - 1] = after;
    const Tensor padded = before || after ? at::constant_pad_nd(x, pads, fill) : x;
    return at::slice(padded.unfold(at, (size - 1) * dilation + 1, stride), -1, 0, std::nullopt, dilation);
}

inline c10::List<std::optional<Tensor>> index_at(const Tensor &indices, int64_t axis) {
    c10::List<std::optional<Tensor>> places;
    for (int64_t i = 0; i < axis; i++) places.push_back(std::nullopt);
    places.push_back(indices.to(at::kLong));
    return places;
}

/* The slices of x at indices of an axis; the dimensions of the indices stand in its place. */
inline Tensor taken(const Tensor &x, const Tensor &indices, int64_t axis) {
    return at::index(x, index_at(indices, at::maybe_wrap_dim(axis, x.dim())));
}

/* Zeros in the shape of `like`, to which slices are added at indices of an axis. */
inline Tensor added_at(const Tensor &slices, const Tensor &indices, const Tensor &like, int64_t axis) {
    const auto places = index_at(indices, at::maybe_wrap_dim(axis, like.dim()));
    return at::index_put(at::zeros_like(like, like.options().dtype(slices.scalar_type())), places, slices,
                         /*accumulate=*/true);
}

}  // namespace formula
