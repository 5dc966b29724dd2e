#include "recording_file.h"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

namespace canopy::verify {
namespace {

constexpr std::size_t kLongest = std::size_t{64} << 20;  // most bytes of a line

}  // namespace

Result<Setup> setup_of(const std::string& path) {
  // Read from the right, because a policy's name may contain `_`.
  std::string name = std::filesystem::path(path).filename().string();
  const Error unknown{path +
                      ": the name does not describe the recording; expected POLICY_pageP_plain_seedS.jsonl.gz or "
                      "POLICY_pageP_eagle_seedS.jsonl.gz"};
  const auto cut_last = [&name] {
    const std::size_t at = name.rfind('_');
    std::string part = at == std::string::npos ? std::string() : name.substr(at + 1);
    name.resize(at == std::string::npos ? 0 : at);
    return part;
  };
  cut_last();  // the seed and the suffixes
  const std::string mode = cut_last(), page = cut_last();
  Setup setup{name, 0, mode == "eagle" ? 1U : 0U};
  const std::string_view digits = std::string_view(page).substr(std::min<std::size_t>(4, page.size()));
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), setup.page);
  if (name.empty() || (mode != "plain" && mode != "eagle") || !page.starts_with("page") || error != std::errc() ||
      end != digits.end() || setup.page == 0 || setup.page > 65536)
    return unknown;
  return setup;
}

/// A gzip stream, or several one after the other, which gzip accepts too.
struct RecordingLines::Inflater {
  z_stream stream{};
  bool between = true;  ///< no stream has begun, or the last one has ended
  Inflater() {
    constexpr int kGzip = 16;
    if (inflateInit2(&stream, kGzip + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
};

RecordingLines::RecordingLines(std::string path) : path_(std::move(path)) {}
RecordingLines::~RecordingLines() = default;

Result<std::unique_ptr<RecordingLines>> RecordingLines::open(const std::string& path) {
  OpenedFile there = open_regular(path);
  if (there.error != 0) return Error{path + ": cannot be opened: " + std::generic_category().message(there.error)};
  if (!there.descriptor) return Error{path + ": is " + kind_of(there.facts.st_mode) + "; expected a regular file"};
  std::unique_ptr<RecordingLines> lines(new RecordingLines(path));
  lines->file_ = std::move(there.descriptor);
  return lines;
}

Result<bool> RecordingLines::fill() {
  constexpr std::size_t kRead = std::size_t{64} << 10;
  text_.erase(0, at_);
  at_ = 0;
  raw_.resize(kRead);
  ssize_t got;
  do got = ::read(file_.get(), raw_.data(), kRead);
  while (got < 0 && errno == EINTR);
  if (got < 0) return Error{path_ + ": cannot be read: " + std::generic_category().message(errno)};
  raw_.resize(static_cast<std::size_t>(got));
  if (!std::exchange(begun_, true) && raw_.starts_with("\x1f\x8b")) inflater_ = std::make_unique<Inflater>();
  if (!inflater_) {
    text_ += raw_;
    return got > 0;
  }
  if (got == 0) {
    if (!inflater_->between) return Error{path_ + ": is damaged: its gzip stream is cut short"};
    return false;
  }
  z_stream& stream = inflater_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(raw_.data());
  stream.avail_in = static_cast<uInt>(raw_.size());
  do {
    const std::size_t had = text_.size();
    text_.resize(had + kRead);
    stream.next_out = reinterpret_cast<Bytef*>(text_.data() + had);
    stream.avail_out = kRead;
    const int code = inflate(&stream, Z_NO_FLUSH);
    text_.resize(text_.size() - stream.avail_out);
    inflater_->between = code == Z_STREAM_END;
    if (code == Z_STREAM_END) inflateReset(&stream);
    else if (code == Z_MEM_ERROR) throw std::bad_alloc();
    else if (code != Z_OK && code != Z_BUF_ERROR)
      return Error{path_ + ": is damaged: its gzip stream is broken, or is followed by other bytes"};
  } while (stream.avail_in > 0 || stream.avail_out == 0);
  return true;
}

Result<bool> RecordingLines::next(std::string& line) {
  for (std::size_t searched = at_;;) {
    if (const std::size_t end = text_.find('\n', searched); end != std::string::npos) {
      line.assign(text_, at_, end - at_);
      at_ = end + 1;
      return true;
    }
    if (text_.size() - at_ > kLongest) return Error{path_ + ": a line is longer than 64 MiB"};
    searched = text_.size() - at_;  // fill() drops lines that were returned before
    const auto more = fill();
    if (!more) return more.error();
    if (*more) continue;
    line.assign(text_, at_);
    at_ = text_.size();
    return !line.empty();
  }
}

}  // namespace canopy::verify
