/* ge::AscendString. Our own implementation of public names. */
#pragma once
#pragma GCC system_header

#include <cstddef>
#include <string>
#include <utility>

namespace ge {

class AscendString {
   public:
    AscendString() = default;
    AscendString(const char *text) : text_(text ? text : "") {}
    AscendString(const char *text, size_t length) : text_(text, length) {}
    const char *GetString() const { return text_.c_str(); }
    size_t GetLength() const { return text_.size(); }
    size_t Find(const AscendString &other) const { return text_.find(other.text_); }
    bool operator==(const AscendString &other) const { return text_ == other.text_; }
    bool operator!=(const AscendString &other) const { return text_ != other.text_; }
    bool operator<(const AscendString &other) const { return text_ < other.text_; }
    bool operator>(const AscendString &other) const { return text_ > other.text_; }
    bool operator==(const char *other) const { return text_ == other; }
    bool operator!=(const char *other) const { return text_ != other; }

   private:
    std::string text_;
};

}  // namespace ge
