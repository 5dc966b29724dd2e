/// libCacheSim's oracleGeneral: packed records of 24 bytes, little-endian: time (seconds, 32 bits), object (64 bits),
/// its size (32 bits), the number of the request that has it next (64 bits, signed; -1: none, -2: not known). As in a
/// CSV, an object is a prompt that it shares with no other.
#include "../objects.h"
#include "../packed_file.h"
#include "../text.h"
#include "../trace_formats.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace canopy::workload {
namespace {

constexpr std::size_t kRecord = 24;

/// Returns the number of `Number`'s size that begins at a byte.
template <class Number>
Number little_endian(const char* bytes) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    number = static_cast<Number>(number << 8 | static_cast<unsigned char>(bytes[i]));
  return number;
}

class OracleTrace final : public TraceReader {
 public:
  OracleTrace(std::unique_ptr<PackedFile> file, const TraceOptions& options)
      : file_(std::move(file)), objects_(options) {}

  Result<bool> next(TraceRecord& record) override {
    if (failed_) return *failed_;
    auto got = read(record);
    if (!got)
      failed_ = Error{fmt::format("{}: request {}: {}", file_->path(), grouped(requests_ + 1), got.error().text)};
    if (!got) return *failed_;
    requests_ += *got;
    return got;
  }
  Doubts doubts() const override { return file_->doubts(); }
  double progress() const override { return file_->progress(requests_ * kRecord); }

 private:
  Result<bool> read(TraceRecord& record) {
    std::array<char, kRecord> bytes;
    auto whole = fill(bytes);
    if (!whole) return whole.error();
    if (!*whole && requests_ == 0) return Error{"is not there; expected records of 24 bytes"};
    if (!*whole) return false;
    const auto seconds = little_endian<std::uint32_t>(&bytes[0]);
    const auto object = little_endian<std::uint64_t>(&bytes[4]);
    const auto size = little_endian<std::uint32_t>(&bytes[12]);
    const auto next = static_cast<std::int64_t>(little_endian<std::uint64_t>(&bytes[16]));
    // Any 24 bytes are a record of some kind: this is the one field that shows that they are not.
    if (next < -2 || (next >= 0 && static_cast<std::uint64_t>(next) < requests_))
      return Error{
          fmt::format("'next' is {}; expected a later request, -1 for none, or -2 for not known: is this file "
                      "oracleGeneral?",
                      next)};
    if (objects_.tokens(size) > kMaxPromptTokens)
      return Error{
          fmt::format("'size' is {}; expected a whole number of tokens from 0 to {}. If it is in bytes, "
                      "`canopy trace import --token-bytes N` divides it",
                      size, kMaxPromptTokens)};
    record.clear();
    if (!first_s_) first_s_ = seconds;
    record.time_ms = (seconds - std::min(seconds, *first_s_)) * std::uint64_t{1000};
    objects_.fill(record, object, objects_.tokens(size));
    return true;
  }

  /// Reads a record. Returns false at the end of the file.
  Result<bool> fill(std::array<char, kRecord>& bytes) {
    std::size_t have = 0;
    while (have < kRecord) {
      if (begin_ == end_) {
        auto got = file_->read(buffer_);
        if (!got) return got.error();
        begin_ = 0, end_ = *got;
        if (end_ == 0) break;
      }
      const std::size_t some = std::min(kRecord - have, end_ - begin_);
      std::memcpy(&bytes[have], &buffer_[begin_], some);
      have += some, begin_ += some;
    }
    if (have == 0 || have == kRecord) return have == kRecord;
    return Error{
        fmt::format("has {} bytes; expected {}: was the file cut off, or is it not oracleGeneral?", have, kRecord)};
  }

  std::unique_ptr<PackedFile> file_;
  Objects<std::uint64_t> objects_;
  std::array<char, 64 * 1024> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< unread part of the buffer
  std::uint64_t requests_ = 0;
  std::optional<std::uint32_t> first_s_;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_oracle_trace(const std::string& path, const TraceOptions& options) {
  auto file = PackedFile::open(path);
  if (!file) return file.error();
  return std::unique_ptr<TraceReader>(std::make_unique<OracleTrace>(std::move(*file), options));
}

}  // namespace canopy::workload
