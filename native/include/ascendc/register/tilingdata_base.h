/* Tiling data: a plain structure on the host, whose fields are recorded, so that the kernel gets the same one. Our own
 * implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "../securec.h"

namespace asc_host {

struct TilingField {
    std::string type, name;
    uint64_t count; /* elements of an array; 0: no array */
};
struct TilingClass {
    const void *key;
    std::string name;
    size_t bytes;
    std::vector<TilingField> fields;
};
inline std::deque<TilingClass> &tiling_classes() {
    static std::deque<TilingClass> all;
    return all;
}
/* By an operator's type, or type_key: the name of its class. */
inline std::map<std::string, std::string> &tiling_of_operators() {
    static std::map<std::string, std::string> all;
    return all;
}

template <typename T>
struct TilingTag {
    static inline const char tag = 0;
};
inline bool add_class(const void *key, const char *name) {
    tiling_classes().push_back({key, name, 0, {}});
    return true;
}
inline bool add_field(const void *key, const char *type, const char *name, uint64_t count) {
    for (TilingClass &c : tiling_classes())
        if (c.key == key) c.fields.push_back({type, name, count});
    return true;
}
inline bool add_size(const void *key, size_t bytes) {
    for (TilingClass &c : tiling_classes())
        if (c.key == key) c.bytes = bytes;
    return true;
}

/* Tiling data that SetDataPtr gave a buffer: what is set is written there too. For one call of a tiling function. */
struct BoundTiling {
    const uint8_t *from;
    size_t bytes;
    uint8_t *to;
};
inline std::vector<BoundTiling> &bound_tilings() {
    static thread_local std::vector<BoundTiling> all;
    return all;
}
inline void mirror(const void *changed, size_t bytes) {
    const uint8_t *p = static_cast<const uint8_t *>(changed);
    for (const BoundTiling &b : bound_tilings())
        if (p >= b.from && p + bytes <= b.from + b.bytes) std::memcpy(b.to + (p - b.from), p, bytes);
}

}  // namespace asc_host

#define ASC_TILING_KEY &::asc_host::TilingTag<AscSelf>::tag

#define BEGIN_TILING_DATA_DEF(name)                                                                         \
    class name {                                                                                            \
       public:                                                                                              \
        using AscSelf = name;                                                                               \
        [[maybe_unused]] static inline const bool asc_named = ::asc_host::add_class(ASC_TILING_KEY, #name); \
        static const char *GetTilingClassName() { return #name; }                                           \
        void SaveToBuffer(void *to, size_t capacity) const {                                                \
            std::memcpy(to, this, capacity < sizeof *this ? capacity : sizeof *this);                       \
        }                                                                                                   \
        void SetDataPtr(void *to) {                                                                         \
            ::asc_host::bound_tilings().push_back(                                                          \
                {reinterpret_cast<const uint8_t *>(this), sizeof *this, static_cast<uint8_t *>(to)});       \
            ::asc_host::mirror(this, sizeof *this);                                                         \
        }                                                                                                   \
        size_t GetDataSize() const { return sizeof *this; }

#define ASC_TILING_FIELD(text, count, field)                      \
    [[maybe_unused]] static inline const bool asc_field_##field = \
        ::asc_host::add_field(ASC_TILING_KEY, text, #field, count)

/* The names of fields are the user's, so that those of parameters are reserved. */
#define TILING_DATA_FIELD_DEF(type, field)        \
    ASC_TILING_FIELD(#type, 0, field);            \
    type field = 0;                               \
    void set_##field(type asc_value) {            \
        field = asc_value;                        \
        ::asc_host::mirror(&field, sizeof field); \
    }                                             \
    type get_##field() const {                    \
        return field;                             \
    }

#define TILING_DATA_FIELD_DEF_ARR(type, count, field) \
    ASC_TILING_FIELD(#type, count, field);            \
    type field[count] = {};                           \
    void set_##field(const type *asc_values) {        \
        std::memcpy(field, asc_values, sizeof field); \
        ::asc_host::mirror(&field, sizeof field);     \
    }                                                 \
    type *get_##field() {                             \
        return field;                                 \
    }                                                 \
    const type *get_##field() const {                 \
        return field;                                 \
    }

#define TILING_DATA_FIELD_DEF_STRUCT(type, field) \
    ASC_TILING_FIELD(#type, 0, field);            \
    type field;

#define END_TILING_DATA_DEF \
    }                       \
    ;

#define ASC_TILING_JOIN_(a, b) a##b
#define ASC_TILING_JOIN(a, b) ASC_TILING_JOIN_(a, b)
#define REGISTER_TILING_DATA_CLASS(op, type)                                                 \
    [[maybe_unused]] static const bool ASC_TILING_JOIN(asc_tiling_of_##op##_, __COUNTER__) = \
        (::asc_host::tiling_of_operators()[#op] = type::GetTilingClassName(),                \
         ::asc_host::add_size(&::asc_host::TilingTag<type>::tag, sizeof(type)));
