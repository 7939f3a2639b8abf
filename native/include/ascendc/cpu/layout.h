/* Shapes, strides and coordinates as tuples, and layouts, which say where the element of a coordinate lies. */
#pragma once

#include "type_choice.h"

namespace AscendC {

template <typename... T>
using Shape = Std::tuple<T...>;
template <typename... T>
using Stride = Std::tuple<T...>;
template <typename... T>
using Coord = Std::tuple<T...>;
template <typename... T>
constexpr Shape<T...> MakeShape(const T &...t) {
    return {t...};
}
template <typename... T>
constexpr Stride<T...> MakeStride(const T &...t) {
    return {t...};
}
template <typename... T>
constexpr Coord<T...> MakeCoord(const T &...t) {
    return {t...};
}

}  // namespace AscendC

namespace asc_cpu {

template <typename C, typename S, typename D>
constexpr uint64_t index_of_coordinate(const C &coordinate, const S &shape, const D &stride);

/* The elements of a dim, which may consist of several. */
template <typename S>
constexpr uint64_t elements_of(const S &shape) {
    if constexpr (AscendC::Std::is_tuple_v<S>)
        return std::apply([](const auto &...dim) { return (uint64_t(1) * ... * elements_of(dim)); }, shape);
    else
        return uint64_t(shape);
}
/* Dim i and those behind it of a shape, the first the fastest, of one number. */
template <size_t i, typename S, typename D>
constexpr uint64_t index_of_number(uint64_t number, const S &shape, const D &stride) {
    using std::get;
    if constexpr (i + 1 == std::tuple_size_v<S>)
        return index_of_coordinate(number, get<i>(shape), get<i>(stride));
    else {
        const uint64_t size = elements_of(get<i>(shape));
        return index_of_coordinate(number % size, get<i>(shape), get<i>(stride)) +
               index_of_number<i + 1>(number / size, shape, stride);
    }
}
template <typename C, typename S, typename D, size_t... i>
constexpr uint64_t index_of_dims(const C &coordinate, const S &shape, const D &stride, std::index_sequence<i...>) {
    using std::get;
    return (uint64_t(0) + ... + index_of_coordinate(get<i>(coordinate), get<i>(shape), get<i>(stride)));
}
/* Sum of coordinate times stride; one number for several dims goes through them, the first the fastest. */
template <typename C, typename S, typename D>
constexpr uint64_t index_of_coordinate(const C &coordinate, const S &shape, const D &stride) {
    if constexpr (AscendC::Std::is_tuple_v<C>) {
        static_assert(std::tuple_size_v<C> == std::tuple_size_v<D>, "a coordinate has as many dims as its layout");
        return index_of_dims(coordinate, shape, stride, std::make_index_sequence<std::tuple_size_v<C>>());
    } else if constexpr (AscendC::Std::is_tuple_v<D>)
        return index_of_number<0>(uint64_t(coordinate), shape, stride);
    else
        return uint64_t(coordinate) * uint64_t(stride);
}

}  // namespace asc_cpu

namespace AscendC {

template <typename S, typename D>
class Layout : private Std::tuple<S, D> {
   public:
    constexpr Layout(const S &shape = {}, const D &stride = {}) : Std::tuple<S, D>(shape, stride) {}
    constexpr const Layout &layout() const { return *this; }
    constexpr const S &GetShape() const { return std::get<0>(pair()); }
    constexpr const D &GetStride() const { return std::get<1>(pair()); }
    template <size_t... i>
    constexpr auto GetShape() const {
        return part<i...>(GetShape());
    }
    template <size_t... i>
    constexpr auto GetStride() const {
        return part<i...>(GetStride());
    }
    template <typename C>
    constexpr uint64_t operator()(const C &coordinate) const {
        return asc_cpu::index_of_coordinate(coordinate, GetShape(), GetStride());
    }

   private:
    constexpr const Std::tuple<S, D> &pair() const { return *this; }
    template <size_t... i, typename T>
    static constexpr auto part(const T &all) {
        if constexpr (sizeof...(i) == 1)
            return (std::get<i>(all), ...);
        else
            return std::make_tuple(std::get<i>(all)...);
    }
};
template <typename S, typename D>
constexpr Layout<S, D> MakeLayout(const S &shape, const D &stride) {
    return Layout<S, D>(shape, stride);
}
template <typename T>
struct is_layout : std::false_type {};
template <typename S, typename D>
struct is_layout<Layout<S, D>> : std::true_type {};
template <typename T>
constexpr bool is_layout_v = is_layout<T>::value;
template <typename C, typename S, typename D>
constexpr uint64_t Crd2Idx(const C &coordinate, const Layout<S, D> &layout) {
    return layout(coordinate);
}
template <typename C, typename S, typename D>
constexpr uint64_t Crd2Idx(const C &coordinate, const S &shape, const D &stride) {
    return asc_cpu::index_of_coordinate(coordinate, shape, stride);
}

}  // namespace AscendC
