/* Tiling data as a plain structure, which host and kernel share. Our own implementation of public names. */
#pragma once

#include <cstdint>
#include <cstring>

#define BEGIN_TILING_DATA_DEF(name)                                                   \
    struct name {                                                                     \
        using Self = name;                                                            \
        void SaveToBuffer(void *to, size_t capacity) const {                          \
            std::memcpy(to, this, capacity < sizeof *this ? capacity : sizeof *this); \
        }                                                                             \
        size_t GetDataSize() const { return sizeof *this; }

#define TILING_DATA_FIELD_DEF(type, field) \
    type field = 0;                        \
    void set_##field(type value) {         \
        field = value;                     \
    }                                      \
    type get_##field() const {             \
        return field;                      \
    }

#define TILING_DATA_FIELD_DEF_ARR(type, count, field) \
    type field[count] = {};                           \
    void set_##field(const type *values) {            \
        std::memcpy(field, values, sizeof field);     \
    }                                                 \
    const type *get_##field() const {                 \
        return field;                                 \
    }

#define TILING_DATA_FIELD_DEF_STRUCT(type, field) type field

#define END_TILING_DATA_DEF }
#define REGISTER_TILING_DATA_CLASS(op, type)
