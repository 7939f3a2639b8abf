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
using std::add_const;
using std::add_const_t;
using std::add_cv;
using std::add_cv_t;
using std::add_lvalue_reference;
using std::add_lvalue_reference_t;
using std::add_pointer;
using std::add_pointer_t;
using std::add_rvalue_reference;
using std::add_rvalue_reference_t;
using std::add_volatile;
using std::add_volatile_t;
using std::conditional;
using std::conditional_t;
using std::decay;
using std::decay_t;
using std::declval;
using std::enable_if;
using std::enable_if_t;
using std::false_type;
using std::forward;
using std::get;
using std::ignore;
using std::index_sequence;
using std::integer_sequence;
using std::integral_constant;
using std::is_array;
using std::is_array_v;
using std::is_base_of;
using std::is_base_of_v;
using std::is_class;
using std::is_class_v;
using std::is_const;
using std::is_const_v;
using std::is_constructible;
using std::is_constructible_v;
using std::is_convertible;
using std::is_convertible_v;
using std::is_default_constructible;
using std::is_default_constructible_v;
using std::is_empty;
using std::is_empty_v;
using std::is_enum;
using std::is_enum_v;
using std::is_floating_point;
using std::is_floating_point_v;
using std::is_integral;
using std::is_integral_v;
using std::is_lvalue_reference;
using std::is_lvalue_reference_v;
using std::is_pointer;
using std::is_pointer_v;
using std::is_reference;
using std::is_reference_v;
using std::is_rvalue_reference;
using std::is_rvalue_reference_v;
using std::is_same;
using std::is_same_v;
using std::is_signed;
using std::is_signed_v;
using std::is_unsigned;
using std::is_unsigned_v;
using std::is_void;
using std::is_void_v;
using std::make_index_sequence;
using std::make_integer_sequence;
using std::make_tuple;
using std::max;
using std::min;
using std::move;
using std::remove_const;
using std::remove_const_t;
using std::remove_cv;
using std::remove_cv_t;
using std::remove_pointer;
using std::remove_pointer_t;
using std::remove_reference;
using std::remove_reference_t;
using std::remove_volatile;
using std::remove_volatile_t;
using std::tie;
using std::true_type;
using std::tuple;
using std::tuple_cat;
using std::tuple_element;
using std::tuple_element_t;
using std::tuple_size;
using std::tuple_size_v;
using std::void_t;
template <typename A, typename B>
using IsSame = std::is_same<A, B>;

/* The standard library's own come with C++20. */
template <typename T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;
template <typename T>
struct remove_cvref {
    using type = remove_cvref_t<T>;
};

/* A number as a type. */
template <size_t n>
using Int = std::integral_constant<size_t, n>;
template <typename T>
struct is_tuple : std::false_type {};
template <typename... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};
template <typename T>
constexpr bool is_tuple_v = is_tuple<remove_cvref_t<T>>::value;
template <typename T, typename... Choice>
struct is_one_of : std::bool_constant<(std::is_same_v<T, Choice> || ...)> {};
template <typename T, typename... Choice>
constexpr bool is_one_of_v = is_one_of<T, Choice...>::value;
/* Of integers, or of numbers as types. */
template <typename A, typename B>
constexpr auto ceil_division(const A &a, const B &b) {
    return (a + b - 1) / b;
}

}  // namespace Std

}  // namespace AscendC
