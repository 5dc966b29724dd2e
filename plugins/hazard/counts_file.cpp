#include "counts_file.h"

#include <canopy/base/atomic_file.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <canopy/helpers/prefix_print.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

namespace canopy::hazard {
namespace {

constexpr std::string_view kKind = "canopy hazard counts 1: ";
constexpr std::size_t kMostBytes = std::size_t{4} << 20;  // every class with numbers of 17 digits
constexpr double kMostWeight = 1e15;

std::string first_line() { return fmt::format("{}{} classes, {} bins", kKind, kClasses, kBins); }
std::string sum_of(std::string_view text) { return fmt::format("sum {:016x}", XXH3_64bits(text.data(), text.size())); }

Result<std::string> read_all(const std::string& path) {
  const OpenedFile file = open_regular(path);
  if (file.error) return Error{fmt::format("{}: {}", path, std::strerror(file.error))};
  if (!file.descriptor) return Error{fmt::format("{}: is {}; expected a file", path, kind_of(file.facts.st_mode))};
  if (static_cast<std::size_t>(file.facts.st_size) > kMostBytes)
    return Error{fmt::format("{}: has {} bytes; expected a file of hazard's counts, which has at most {}", path,
                             file.facts.st_size, kMostBytes)};
  std::string text(static_cast<std::size_t>(file.facts.st_size), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = ::read(file.descriptor.get(), text.data() + got, text.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error{fmt::format("{}: {}", path, std::strerror(errno))};
    if (count == 0) break;
    got += static_cast<std::size_t>(count);
  }
  text.resize(got);
  return text;
}

/// Splits the text into lines and words.
class Reader {
 public:
  Reader(const std::string& path, std::string_view text) : path_(path), rest_(text) {}

  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    left_ = line_;
    rest_ = end == rest_.npos ? std::string_view{} : rest_.substr(end + 1);
    ++number_;
    return true;
  }
  std::string_view line() const { return line_; }
  bool is_last() const { return rest_.empty(); }
  /// Reads a number. Returns false if the next word is not a number of this kind.
  template <class Number>
  bool next_number(Number& number) {
    while (left_.starts_with(' ')) left_.remove_prefix(1);
    const char* const end = left_.data() + left_.size();
    const auto read = std::from_chars(left_.data(), end, number);
    if (read.ec != std::errc() || (read.ptr != end && *read.ptr != ' ')) return false;
    left_.remove_prefix(static_cast<std::size_t>(read.ptr - left_.data()));
    return true;
  }
  bool line_ended() const { return left_.empty(); }

  Error error(std::string_view expected) const {
    const auto column = static_cast<std::size_t>(left_.data() - line_.data()) + 1;
    return Error{fmt::format("{}:{}:{}: found {}; expected {}", path_, number_, column,
                             left_.empty() ? "the end of the line" : in_quotes(left_), expected)};
  }

 private:
  const std::string& path_;
  std::string_view rest_, line_, left_;
  std::size_t number_ = 0;
};

using Read = std::vector<std::pair<std::size_t, ReuseByAge>>;

Result<std::monostate> read_class(Reader& reader, Read& classes) {
  std::array<bool, kClasses> seen{};
  for (const auto& [of_class, counts] : classes) seen[of_class] = true;
  std::size_t of_class = 0;
  if (!reader.next_number(of_class) || of_class >= kClasses || seen[of_class])
    return reader.error(fmt::format("the number of a class below {} that has no line yet, or the sum", kClasses));
  classes.emplace_back(of_class, ReuseByAge{});
  for (Reuse& count : classes.back().second)
    for (double* weight : {&count.returned, &count.survived})
      if (!reader.next_number(*weight) || !(*weight >= 0 && *weight <= kMostWeight))
        return reader.error(fmt::format("a weight from 0 to {:g}, twice for each of {} bins", kMostWeight, kBins));
  if (!reader.line_ended()) return reader.error("the end of the line");
  return std::monostate{};
}

Result<Read> read_classes(const std::string& path, std::string_view text) {
  Reader reader(path, text);
  if (!reader.next_line() || reader.line() != first_line())
    return reader.error(in_quotes(first_line()) + ", as hazard writes it");
  Read classes;
  while (reader.next_line()) {
    if (!reader.line().starts_with("sum ")) {
      if (auto read = read_class(reader, classes); !read) return read.error();
      continue;
    }
    const std::string sum = sum_of(text.substr(0, static_cast<std::size_t>(reader.line().data() - text.data())));
    if (reader.line() == sum && reader.is_last()) return classes;
    return reader.error(in_quotes(sum) + " and nothing after it: the file is damaged");
  }
  return reader.error("a line with the sum: the file was cut short");
}

}  // namespace

Result<std::monostate> load_counts(const std::string& path, ReuseCounts& counts) {
  const auto text = read_all(path);
  if (!text) return text.error();
  const auto classes = read_classes(path, *text);
  if (!classes) return classes.error();
  for (const auto& [of_class, by_age] : *classes)
    for (std::size_t bin = 0; bin < kBins; ++bin) counts.add(of_class, bin, by_age[bin]);
  return std::monostate{};
}

Result<std::monostate> can_save_counts(const std::string& path) {
  if (auto can = can_write_file(path); !can) return can;
  const OpenedFile file = open_regular(path);
  if (file.error == ENOENT) return std::monostate{};
  std::array<char, kKind.size()> begin{};
  const ssize_t count = file.descriptor ? ::read(file.descriptor.get(), begin.data(), begin.size()) : -1;
  if (count == 0 || (count > 0 && std::string_view(begin.data(), static_cast<std::size_t>(count)) == kKind))
    return std::monostate{};
  return Error{path + ": is not a file of hazard's counts, and no other file is replaced"};
}

Result<std::monostate> save_counts(const std::string& path, const ReuseCounts& counts) {
  if (auto can = can_save_counts(path); !can) return can;
  std::string text = first_line() + "\n";
  for (const std::size_t k : counts.known()) {
    text += fmt::format("{}", k);
    for (const Reuse& count : counts.of(k)) text += fmt::format(" {} {}", count.returned, count.survived);
    text += '\n';
  }
  return write_file_atomically(path, text + sum_of(text) + "\n");
}

}  // namespace canopy::hazard
