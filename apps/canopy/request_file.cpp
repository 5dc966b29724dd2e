#include "request_file.h"

#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <canopy/feed/header.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <sources/recorded_requests.h>
#include <workload/trace_formats.h>

namespace canopy::app {
namespace {

class RecordedSource final : public workload::RequestSource {
 public:
  RecordedSource(std::unique_ptr<inspector::RecordedRequests> requests, std::string path)
      : requests_(std::move(requests)), path_(std::move(path)) {}

  Result<bool> next(workload::ClientRequest& request) override {
    if (!requests_->next(recorded_)) return ended();
    any_ = true;
    request = {};
    request.arrival_ms = recorded_.begun_us / 1000;
    request.space = recorded_.space;
    request.output_tokens = recorded_.output;
    request.prompt.swap(recorded_.prompt);
    return true;
  }
  double progress() const override { return requests_->progress(); }
  Doubts doubts() const override { return requests_->doubts(); }

 private:
  Result<bool> ended() {
    if (!any_) return Error{path_ + ": the recording contains no request that began and ended in it"};
    if (requests_->left_out() > 0 && !reported_)
      fmt::print(stderr, "canopy: {}: {} left out: they are incomplete in the recording\n", path_,
                 plural(requests_->left_out(), "request"));
    reported_ = true;
    return false;
  }

  std::unique_ptr<inspector::RecordedRequests> requests_;
  std::string path_;
  inspector::RecordedRequest recorded_;
  bool any_ = false, reported_ = false;
};

}  // namespace

bool is_recording(const std::string& path) {
  constexpr std::size_t kMark = sizeof(FeedShape::kMagic) - 1;  // the version follows the mark
  char begin[kMark];
  const OpenedFile file = open_regular(path);
  return file.descriptor && ::pread(file.descriptor.get(), begin, kMark, 0) == static_cast<ssize_t>(kMark) &&
         std::memcmp(begin, FeedShape::kMagic, kMark) == 0;
}

Result<std::unique_ptr<workload::RequestSource>> open_requests(const std::string& trace, std::uint64_t block) {
  if (!is_recording(trace)) return workload::open_trace(trace, block);
  auto requests = inspector::RecordedRequests::open(trace);
  if (!requests) return requests.error();
  return std::unique_ptr<workload::RequestSource>(new RecordedSource(std::move(*requests), trace));
}

}  // namespace canopy::app
