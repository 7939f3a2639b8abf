/* Names and sizes of element types and formats. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <string>

#include "../ascend_string.h"
#include "../types.h"

namespace ge {

namespace asc_type_names {
struct Row {
    int number;
    const char *name;
};
inline constexpr Row TYPES[] = {
    {DT_FLOAT, "DT_FLOAT"},
    {DT_FLOAT16, "DT_FLOAT16"},
    {DT_INT8, "DT_INT8"},
    {DT_INT32, "DT_INT32"},
    {DT_UINT8, "DT_UINT8"},
    {DT_INT16, "DT_INT16"},
    {DT_UINT16, "DT_UINT16"},
    {DT_UINT32, "DT_UINT32"},
    {DT_INT64, "DT_INT64"},
    {DT_UINT64, "DT_UINT64"},
    {DT_DOUBLE, "DT_DOUBLE"},
    {DT_BOOL, "DT_BOOL"},
    {DT_STRING, "DT_STRING"},
    {DT_COMPLEX64, "DT_COMPLEX64"},
    {DT_COMPLEX128, "DT_COMPLEX128"},
    {DT_COMPLEX32, "DT_COMPLEX32"},
    {DT_BF16, "DT_BF16"},
    {DT_INT4, "DT_INT4"},
    {DT_UINT1, "DT_UINT1"},
    {DT_HIFLOAT8, "DT_HIFLOAT8"},
    {DT_FLOAT8_E5M2, "DT_FLOAT8_E5M2"},
    {DT_FLOAT8_E4M3FN, "DT_FLOAT8_E4M3FN"},
    {DT_FLOAT8_E8M0, "DT_FLOAT8_E8M0"},
    {DT_FLOAT4_E2M1, "DT_FLOAT4_E2M1"},
    {DT_FLOAT4_E1M2, "DT_FLOAT4_E1M2"},
};
inline constexpr Row FORMATS[] = {
    {FORMAT_NCHW, "NCHW"},
    {FORMAT_NHWC, "NHWC"},
    {FORMAT_ND, "ND"},
    {FORMAT_NC1HWC0, "NC1HWC0"},
    {FORMAT_FRACTAL_Z, "FRACTAL_Z"},
    {FORMAT_HWCN, "HWCN"},
    {FORMAT_NDHWC, "NDHWC"},
    {FORMAT_FRACTAL_NZ, "FRACTAL_NZ"},
    {FORMAT_NCDHW, "NCDHW"},
    {FORMAT_NDC1HWC0, "NDC1HWC0"},
    {FORMAT_FRACTAL_Z_3D, "FRACTAL_Z_3D"},
    {FORMAT_NCL, "NCL"},
    {FORMAT_NC, "NC"},
};
template <size_t n>
inline const char *name_of(const Row (&rows)[n], int number, const char *other) {
    for (const Row &row : rows)
        if (row.number == number) return row.name;
    return other;
}
template <size_t n>
inline int number_of(const Row (&rows)[n], const std::string &name, int other) {
    for (const Row &row : rows)
        if (name == row.name) return row.number;
    return other;
}
}  // namespace asc_type_names

class TypeUtils {
   public:
    static bool GetDataTypeLength(DataType type, uint32_t &bytes) {
        const int size = GetSizeByDataType(type);
        if (size <= 0) return false;
        bytes = uint32_t(size);
        return true;
    }
    static std::string DataTypeToSerialString(DataType type) {
        return asc_type_names::name_of(asc_type_names::TYPES, type, "DT_UNDEFINED");
    }
    static AscendString DataTypeToAscendString(const DataType &type) { return DataTypeToSerialString(type).c_str(); }
    static DataType SerialStringToDataType(const std::string &name) {
        return DataType(asc_type_names::number_of(asc_type_names::TYPES, name, DT_UNDEFINED));
    }
    static std::string FormatToSerialString(Format format) {
        return asc_type_names::name_of(asc_type_names::FORMATS, GetPrimaryFormat(format), "RESERVED");
    }
    static AscendString FormatToAscendString(const Format &format) { return FormatToSerialString(format).c_str(); }
    static Format SerialStringToFormat(const std::string &name) {
        return Format(asc_type_names::number_of(asc_type_names::FORMATS, name, FORMAT_RESERVED));
    }
};

}  // namespace ge
