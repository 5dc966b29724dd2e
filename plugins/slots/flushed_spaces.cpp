#include "flushed_spaces.h"

#include <canopy/base/atomic_file.h>
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "folder.h"

namespace canopy::slots {

namespace {

struct Line {
  std::uint64_t space, run, sum;
};
/// In Line::space: all slots without a record were wiped. No namespace has this number.
constexpr std::uint64_t kWiped = 0;

std::uint64_t sum_of(const Line& line) { return XXH3_64bits(&line, offsetof(Line, sum)); }

/// The file is compacted once it has this many more lines than spaces.
constexpr std::size_t kSpare = 1'000;

}  // namespace

FlushedSpaces::FlushedSpaces(std::string path) : path_(std::move(path)) {
  const UniqueFd file = open_file(path_, O_RDONLY, true);
  if (!file) return;
  for (Line line{};;) {
    const ssize_t got = ::read(file.get(), &line, sizeof line);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "cannot be read", errno);
    if (got != ssize_t{sizeof line} || line.sum != sum_of(line)) return;
    ++lines_;
    may_be_left_ = line.space != kWiped;
    if (line.space == kWiped) continue;
    auto& up_to = up_to_[line.space];
    up_to = std::max(up_to, line.run);
    newest_ = std::max(newest_, line.run);
  }
}

void FlushedSpaces::compact() {
  if (lines_ < up_to_.size() + kSpare) return;
  std::string text;
  const auto add = [&](std::uint64_t space, std::uint64_t run) {
    Line line{space, run, 0};
    line.sum = sum_of(line);
    text.append(std::string_view(reinterpret_cast<const char*>(&line), sizeof line));
  };
  for (const auto& [space, run] : up_to_) add(space, run);
  if (!may_be_left_) add(kWiped, newest_);
  if (!write_file_atomically(path_, text)) return;  // the longer file stays
  lines_ = text.size() / sizeof(Line);
}

bool FlushedSpaces::add(std::uint64_t space, std::uint64_t run) {
  up_to_[space] = newest_ = run;
  may_be_left_ = true;
  return append(space, run);
}

void FlushedSpaces::wiped() {
  if (append(kWiped, newest_)) may_be_left_ = false;
}

bool FlushedSpaces::append(std::uint64_t space, std::uint64_t run) {
  Line line{space, run, 0};
  line.sum = sum_of(line);
  const UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return false;
  // After the last good line: a line that is damaged or was cut short would hide the next ones.
  const auto end = static_cast<off_t>(lines_ * sizeof line);
  if (::ftruncate(file.get(), end) != 0 || ::pwrite(file.get(), &line, sizeof line, end) != ssize_t{sizeof line})
    return false;
  ++lines_;
  if (::fsync(file.get()) != 0) return false;
  // A new file, or one that was compacted, may be lost with its entry.
  return has_entry_ = has_entry_ || sync_entry(path_);
}

bool FlushedSpaces::covers(std::uint64_t space, std::uint64_t run) const {
  if (space == 0) return run <= newest_;
  const auto found = up_to_.find(space);
  return found != up_to_.end() && run <= found->second;
}

}  // namespace canopy::slots
