#include "json_objects.h"

#include "shown.h"

#include <fmt/format.h>

#include <algorithm>

namespace canopy::workload {

Result<bool> JsonObjects::refill() {
  auto got = lines_->next(line_);
  if (!got || !*got) return got;
  ++number_;
  at_ = 0;
  return true;
}

Error JsonObjects::wrong(const std::string& what) const {
  return Error{fmt::format("{}:{}:{}: {}", lines_->path(), number_, at_ + 1, what)};
}

std::string JsonObjects::place(std::size_t offset) const {
  const std::string_view before = std::string_view(object_).substr(0, offset);
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t end = before.rfind('\n');
  const std::size_t column = end == before.npos ? first_column_ + before.size() : before.size() - end;
  return fmt::format("{}:{}:{}", lines_->path(), first_line_ + lines, column);
}

Result<bool> JsonObjects::next(std::string& object) {
  // Skips to the object's first byte.
  for (;; ++at_) {
    while (at_ >= line_.size()) {
      auto got = refill();
      if (!got) return got.error();
      if (!*got && in_list_) return wrong("the file ends within its list; was it cut off?");
      if (!*got) return false;
    }
    const char c = line_[at_];
    if (c == '{') break;
    if (c == '[' && !any_ && !in_list_) in_list_ = true;
    else if (c == ']' && in_list_) in_list_ = false, any_ = true;
    else if (c != ' ' && c != '\t' && c != '\r' && c != ',')
      return wrong(
          fmt::format("'{}'; expected an object, alone on its line or in a list", shown(line_.substr(at_, 1))));
  }
  any_ = true;
  first_line_ = number_;
  first_column_ = at_ + 1;
  object_.clear();
  std::size_t depth = 0;
  bool in_text = false;
  for (;;) {
    const std::size_t from = at_;
    for (; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (in_text) {
        if (c == '\\') ++at_;
        else if (c == '"') in_text = false;
      } else if (c == '"') {
        in_text = true;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth == 0) {
        ++at_;
        object_.append(line_.substr(from, at_ - from));
        object = object_;
        return true;
      }
    }
    object_.append(line_.substr(from));
    object_ += '\n';
    if (object_.size() > LineReader::kMaxLine)
      return wrong(
          fmt::format("the object that begins in line {} is longer than {} bytes", first_line_, LineReader::kMaxLine));
    auto got = refill();
    if (!got) return got.error();
    if (!*got)
      return wrong(fmt::format("the file ends within the object that begins in line {}; was it cut off?", first_line_));
  }
}

}  // namespace canopy::workload
