/* Choices of types that kernels make at compile time: Conditional, and the standard's under AscendC::Std. Our own
 * implementation of public names. */
#pragma once

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

namespace AscendC {

/* Conditional<yes, A, B>::type */
template <bool yes, typename A, typename B>
struct Conditional {
    using type = std::conditional_t<yes, A, B>;
};

namespace Std {
using std::conditional;
using std::conditional_t;
using std::decay;
using std::decay_t;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::forward;
using std::get;
using std::index_sequence;
using std::integral_constant;
using std::is_base_of;
using std::is_convertible;
using std::is_integral;
using std::is_same;
using std::is_same_v;
using std::make_index_sequence;
using std::make_tuple;
using std::max;
using std::min;
using std::move;
using std::remove_const;
using std::remove_cv;
using std::remove_cv_t;
using std::remove_reference;
using std::remove_reference_t;
using std::true_type;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
template <typename A, typename B>
using IsSame = std::is_same<A, B>;

}  // namespace Std

}  // namespace AscendC
