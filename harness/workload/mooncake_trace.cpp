#include "mooncake_trace.h"

#include "line_reader.h"
#include "mooncake_line.h"
#include "text.h"

#include <algorithm>
#include <optional>

namespace canopy::workload {
namespace {

std::string no_requests(const std::string& path) { return path + ": has no requests; expected one JSON object a line"; }

class MooncakeTrace final : public RequestSource {
 public:
  MooncakeTrace(std::string path, std::uint64_t block, std::unique_ptr<LineReader> lines)
      : path_(std::move(path)), block_(block), lines_(std::move(lines)) {}

  Result<bool> next(ClientRequest& request) override {
    if (failed_) return *failed_;
    auto got = read(request);
    if (!got) failed_ = got.error();  // what follows a broken line may be meant otherwise
    return got;
  }

  double progress() const override {
    // A file that grows while it is read has more bytes than when it was opened.
    return std::min(1.0, static_cast<double>(lines_->consumed()) / static_cast<double>(lines_->size()));
  }

 private:
  Result<bool> read(ClientRequest& request) {
    std::string_view text;
    do {
      auto got = lines_->next(text);
      if (!got) return got.error();
      if (!*got && !any_) return Error{no_requests(path_)};
      if (!*got) return false;
    } while (text.find_first_not_of(" \t") == text.npos);

    if (const auto problem = read_mooncake_line(text, block_, line_)) {
      const std::string column = problem->column > 0 ? ":" + std::to_string(problem->column) : "";
      return Error{lines_->place() + column + ": " + problem->text};
    }
    any_ = true;
    expand(request);
    return true;
  }

  void expand(ClientRequest& request) const {
    // A timestamp may lie before the previous one: traces are merged from several frontends whose clocks differ.
    // The order of the file is the order in which the cache saw the requests, so it stays the order of arrival.
    request.arrival_ms = line_.timestamp;
    request.space.clear();
    request.priority = 0;
    request.output_tokens = line_.output_length;
    request.hints = line_.hints;
    request.prompt.resize(line_.input_length);
    Token* to = request.prompt.data();
    std::size_t left = request.prompt.size();
    for (const std::uint64_t id : line_.hash_ids) {
      const std::size_t count = std::min<std::size_t>(left, block_);
      write_text(id * block_, to, count);
      to += count;
      left -= count;
    }
  }

  std::string path_;
  std::uint64_t block_;
  std::unique_ptr<LineReader> lines_;
  MooncakeLine line_;
  bool any_ = false;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<RequestSource>> open_mooncake_trace(const std::string& path, std::uint64_t block) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  if ((*lines)->size() == 0) return Error{no_requests(path)};
  return std::unique_ptr<RequestSource>(std::make_unique<MooncakeTrace>(path, block, std::move(*lines)));
}

}  // namespace canopy::workload
