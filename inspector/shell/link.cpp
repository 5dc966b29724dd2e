#include "link.h"

#include <canopy/base/figures.h>

#include <algorithm>
#include <utility>

namespace canopy::inspector {
namespace {

using Clock = std::chrono::steady_clock;

class FileLink final : public Link {
 public:
  FileLink(std::unique_ptr<Recording> recording, std::string name, std::size_t checkpoint_bytes)
      : recording_(std::move(recording)), checkpoints_(checkpoint_bytes), name_(std::move(name)) {}
  const FeedShape& header() const override { return recording_->header(); }
  std::string recording() const override { return name_; }
  std::uint64_t begun(std::uint64_t request) const override { return recording_->begun(request); }

  bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) override {
    session.name = name_, session.source = "recording";
    const auto began = Clock::now();
    if (!scan(session, began + budget)) return false;
    if (recording_->commits() == 0) {
      session.state = Session::State::gone;
      session.detail = name_ + ": " + Recording::kNothing;
      return true;
    }
    session.state = Session::State::recording;
    if (recording_->shrank()) session.detail = "another process shortened the file: its last operations are gone";
    session.doubts = recording_->doubts();
    if (session.detail.empty() && !session.doubts.empty()) session.detail = session.doubts.front().sentence;
    if (time.end == 0) {
      time.wanted = time.end = recording_->commits();
      checkpoints_.expect(0, time.end);
      mirror.learn();
    }
    time.seekable = true;
    if (time.playing) play(mirror, time, began);
    else resumed_ = false;
    if (time.wanted < time.at) {
      time.at = checkpoints_.go_back(time.wanted, mirror);
    }
    while (time.at < time.wanted) {
      constexpr std::uint64_t kChunk = 256;
      const std::uint64_t next = std::min({time.wanted, time.at + kChunk, checkpoints_.next(time.at)});
      advance(mirror, time, next);
      checkpoints_.pass(time.at, mirror);
      if (Clock::now() - began > budget) break;
    }
    session.reading.clear();
    look_closer(time);
    if (time.at == time.wanted) return true;
    session.reading = "commit " + grouped(time.at) + " of " + grouped(time.wanted);
    session.done = static_cast<double>(time.at) / static_cast<double>(time.wanted);
    return false;
  }

 private:
  /// Scans the file for its operations, when it is first read.
  bool scan(Session& session, Clock::time_point until) {
    constexpr std::uint64_t kChunk = 1 << 18;
    while (!recording_->scan(kChunk)) {
      if (Clock::now() < until) continue;
      session.state = Session::State::attaching;
      session.reading = "finding its operations";
      session.done = recording_->scanned();
      return false;
    }
    return true;
  }

  /// Moves on to commit `next`. The history sees each commit once, when it is first read.
  void advance(Mirror& mirror, Timeline& time, std::uint64_t next) const {
    while (time.at < next) {
      const bool fresh = time.at >= time.history.commits();
      const std::uint64_t until = fresh ? next : std::min(next, time.history.commits());
      mirror.take(recording_->events(time.at, until), fresh ? time.history.watch(mirror) : nullptr);
      time.at = until;
    }
  }

  /// Reads the wanted range again, commit by commit, beginning with the checkpoint before it.
  void look_closer(Timeline& time) const {
    const CommitRange wanted = time.detail_wanted;
    if (wanted.empty() || wanted.last > time.history.commits()) return;
    if (time.detail && time.detail->all() == wanted) return;
    Mirror mirror(recording_->header());
    std::uint64_t at = checkpoints_.copy_before(wanted.first - 1, mirror);
    mirror.take(recording_->events(at, wanted.first - 1));
    auto detail = std::make_shared<History>(mirror);
    mirror.take(recording_->events(wanted.first - 1, wanted.last), detail->watch(mirror));
    detail->forget_mirror();
    time.detail = std::move(detail);
  }

  /// Plays at the recorded pace times `speed`.
  void play(Mirror& mirror, Timeline& time, Clock::time_point now) {
    if (!std::exchange(resumed_, true) || time.wanted != time.at) from_us_ = mirror.us(), from_ = now;
    const double passed =
        std::chrono::duration<double, std::micro>(now - from_).count() * static_cast<double>(time.speed);
    const std::uint64_t until = from_us_ + static_cast<std::uint64_t>(passed);
    while (time.at < time.end && mirror.us() <= until) {
      advance(mirror, time, time.at + 1);
    }
    time.wanted = time.at;
    if (time.at == time.end) time.playing = false;
  }

  std::unique_ptr<Recording> recording_;
  Checkpoints checkpoints_;
  std::string name_;
  bool resumed_ = false;
  std::uint64_t from_us_ = 0;
  Clock::time_point from_{};
};

}  // namespace

std::unique_ptr<Link> link_to(std::unique_ptr<Recording> recording, std::string name, std::size_t checkpoint_bytes) {
  return std::make_unique<FileLink>(std::move(recording), std::move(name), checkpoint_bytes);
}

}  // namespace canopy::inspector
