/* ge::AscendString: a string that programs and libraries built apart from one another share, so of one layout, that of
 * the real class. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

/* What a library exports for programs that don't have these functions inline. */
#ifndef ASC_GE_EXPORT
#define ASC_GE_EXPORT
#endif

namespace ge {

class AscendString {
   public:
    AscendString() = default;
    ~AscendString() = default;
    ASC_GE_EXPORT AscendString(const char *text) : text_(text ? std::make_shared<std::string>(text) : nullptr) {}
    ASC_GE_EXPORT AscendString(const char *text, size_t length)
        : text_(text ? std::make_shared<std::string>(text, length) : nullptr) {}
    ASC_GE_EXPORT const char *GetString() const { return text_ ? text_->c_str() : ""; }
    ASC_GE_EXPORT size_t GetLength() const { return text_ ? text_->size() : 0; }
    ASC_GE_EXPORT size_t Hash() const { return std::hash<std::string>()(str()); }
    ASC_GE_EXPORT size_t Find(const AscendString &other) const { return str().find(other.str()); }
    ASC_GE_EXPORT bool operator==(const AscendString &other) const { return str() == other.str(); }
    ASC_GE_EXPORT bool operator!=(const AscendString &other) const { return str() != other.str(); }
    ASC_GE_EXPORT bool operator<(const AscendString &other) const { return str() < other.str(); }
    ASC_GE_EXPORT bool operator>(const AscendString &other) const { return str() > other.str(); }
    ASC_GE_EXPORT bool operator<=(const AscendString &other) const { return str() <= other.str(); }
    ASC_GE_EXPORT bool operator>=(const AscendString &other) const { return str() >= other.str(); }
    ASC_GE_EXPORT bool operator==(const char *other) const { return str() == (other ? other : ""); }
    ASC_GE_EXPORT bool operator!=(const char *other) const { return str() != (other ? other : ""); }

   private:
    std::string str() const { return text_ ? *text_ : std::string(); }
    std::shared_ptr<std::string> text_;
};

}  // namespace ge

namespace std {
template <>
struct hash<ge::AscendString> {
    size_t operator()(const ge::AscendString &text) const { return text.Hash(); }
};
}  // namespace std
