#include "recorded_requests.h"

#include <canopy/feed/events.h>

#include <algorithm>
#include <utility>

namespace canopy::inspector {
namespace {

/// A longer prompt means a damaged recording.
constexpr std::uint32_t kMostPrompt = std::uint32_t{1} << 25;

}  // namespace

/// Records the requests that begin and end in a commit. Their data is read after the whole commit has been applied.
struct RecordedRequests::Watcher final : MirrorWatcher {
  void begun(const MirrorRequest& request) override { begins.push_back(request.id); }
  void progressed(const MirrorRequest& request) override {
    if (request.ended()) ends.push_back(request.id);
  }
  std::vector<std::uint64_t> begins, ends;
};

Result<std::unique_ptr<RecordedRequests>> RecordedRequests::open(const std::string& path) {
  auto recording = Recording::open(path);
  if (!recording) return recording.error();
  std::unique_ptr<RecordedRequests> requests(new RecordedRequests(std::move(*recording)));
  if (!requests->mirror_.has_words())
    return Error{path + ": the recording has no tokens, so its requests are unknown; record with tokens: true in " +
                 "the engine's feed"};
  return requests;
}

bool RecordedRequests::next(RecordedRequest& request) {
  for (;;) {
    while (!waiting_.empty() && waiting_.front().ended) {
      Waiting first = std::move(waiting_.front());
      waiting_.pop_front();
      number_.erase(first.id);
      ++taken_;
      if (!first.whole) {
        left_out_ += !first.tried;
        continue;
      }
      request = std::move(first.request);
      return true;
    }
    if (!events_.empty()) {
      take_commit();
    } else {
      // Requests that were still running at the end, before others that have ended.
      left_out_ += std::erase_if(waiting_, [](const Waiting& one) { return !one.ended; });
      if (waiting_.empty()) return false;
    }
  }
}

double RecordedRequests::progress() const {
  return static_cast<double>(commit_) / static_cast<double>(std::max<std::uint64_t>(recording_->commits(), 1));
}

Doubts RecordedRequests::doubts() const {
  Doubts doubts = recording_->doubts_at_end();
  add_doubts(doubts, mirror_.doubts());
  return doubts;
}

void RecordedRequests::take_commit() {
  const auto last =
      std::find_if(events_.begin(), events_.end(), [](const Event& one) { return is<event::Commit>(one); });
  const auto count = static_cast<std::size_t>(last - events_.begin()) + (last != events_.end());
  Watcher watcher;
  mirror_.take(events_.first(count), &watcher);
  events_ = events_.subspan(count);
  ++commit_;
  for (const std::uint64_t id : watcher.begins)
    if (const MirrorRequest* begun = mirror_.request(id)) {
      Waiting waiting{.id = id, .request = {}};
      waiting.request.begun_us = begun->begun_us;
      const auto space = static_cast<std::size_t>(begun->space);
      if (space < mirror_.spaces().size()) waiting.request.space = mirror_.spaces()[space].name;
      number_[id] = taken_ + waiting_.size();
      waiting_.push_back(std::move(waiting));
    }
  for (const std::uint64_t id : watcher.ends)
    if (const auto known = number_.find(id); known != number_.end())
      if (Waiting& waiting = waiting_[known->second - taken_]; !waiting.ended) end(waiting);
}

void RecordedRequests::end(Waiting& waiting) {
  waiting.ended = true;
  const MirrorRequest* const request = mirror_.request(waiting.id);
  if (!request) return;
  waiting.tried = !request->admitted();
  if (waiting.tried) return;
  waiting.request.output = request->known - std::min(request->known, request->prompt);
  waiting.whole = read_prompt(*request, waiting.request.prompt);
}

/// Reads the tokens of a request's prompt. Returns false if the index never received all of its whole pages.
bool RecordedRequests::read_prompt(const MirrorRequest& request, std::vector<Token>& prompt) {
  if (request.prompt > kMostPrompt) return false;
  std::vector<const MirrorNode*> path;
  for (const MirrorNode* node = mirror_.find(request.last_node); node; node = &mirror_.node(node->parent)) {
    path.push_back(node);
    if (node->parent == 0) break;
  }
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    if ((*node)->begin != prompt.size() || (*node)->words.size() != (*node)->length) return false;
    prompt.insert(prompt.end(), (*node)->words.begin(), (*node)->words.end());
  }
  if (prompt.size() > request.prompt) prompt.resize(request.prompt);
  // With keys that look one token ahead, a prompt that ends with a page has one page less.
  if (prompt.size() < request.reusable(mirror_.page_size())) return false;
  while (prompt.size() < request.prompt) prompt.push_back(fresh_--);
  return true;
}

}  // namespace canopy::inspector
