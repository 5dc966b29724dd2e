/// The part of a Follower that writes the feed and serves its readers.
#include <bridge/follower.h>
#include <canopy/base/printable.h>
#include <fmt/format.h>

#include <bit>
#include <chrono>

namespace canopy::bridge {
namespace {

constexpr std::uint64_t kRingEvents = std::uint64_t{1} << 20;
constexpr std::uint64_t kWorkersEveryUs = 250'000, kLookEveryUs = 1'000'000;

/// Does work that may take a tenth of the time. Returns the time at which it may be done next, if it was done at
/// `now_us`.
template <class Work>
std::uint64_t next_after(std::uint64_t now_us, Work&& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  const auto took = std::chrono::steady_clock::now() - began;
  return now_us + 10 * static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count());
}

}  // namespace

void Follower::begin(Units page_size) {
  if (!failure_.empty()) return;
  FeedConfig config = options_.feed;
  if (config.events == 0) config.events = kRingEvents;
  FeedShape shape;
  shape.page_size = page_size;
  shape.groups = 1;  // further groups are named when their first events arrive
  shape.reaches[0] = kWholePath;
  auto sink = FeedSink::open(config, shape);
  if (!sink) return void(failure_ = sink.error().text);
  sink_ = std::move(*sink);
  page_size_ = page_size;
  tree_ = std::make_unique<Tree>(Tree::Options{page_size, config.tokens, options_.repeats_are_reports});
  tree_->send_to(&sink_->writer());
  if (sink_->writer().on()) keyframe(0);
}

void Follower::turn(std::uint64_t now_us) {
  for (std::uint16_t w = 0; w < workers_.size(); ++w) {
    Worker& worker = workers_[w];
    if (options_.repairs || !worker.order.waits() || now_us - worker.waits_since_us < kPatienceUs) continue;
    worker.order.give_up();
    apply_held(w, now_us);
  }
  if (!sink_) return;
  if (tree_->can_mend() && now_us >= mend_at_us_) mend_at_us_ = next_after(now_us, [&] { mend(now_us); });
  if (sink_->writer().on() && now_us >= workers_at_us_ + kWorkersEveryUs) {
    workers_at_us_ = now_us;
    if (send_workers(false)) commit(Operation::none, now_us);
  }
  serve_readers(now_us);
}

void Follower::mend(std::uint64_t now_us) {
  if (!sink_ || !tree_->can_mend()) return;
  tree_->mend(tick_);
  commit(Operation::none, now_us);
}

void Follower::commit(Operation operation, std::uint64_t now_us) {
  if (!sink_) return;
  FeedWriter& feed = sink_->writer();
  ++operations_;
  if (feed.on()) {
    send_names(false);
    const auto& sums = tree_->runs().sums();
    for (std::uint8_t g = 0; g < names_.groups(); ++g)
      feed.push(event::Totals{.group = g, .evictable = sums[g] * page_size_});
    feed.push(event::Commit{.operation = operation, .tick = tick_, .operations = operations_, .us = now_us});
    feed.publish();
  }
  if (feed.shape().ring_events == 0) sink_->keep_pace(now_us);
}

/// Sends the names that are new, or all of them. Names of namespaces change when a worker is added.
void Follower::send_names(bool all) {
  if (!sink_ || !sink_->writer().on()) return;
  FeedWriter& feed = sink_->writer();
  if (all || names_.workers() != sent_workers_) sent_spaces_ = 0;
  if (all) sent_groups_ = 0;
  for (; sent_groups_ < names_.groups(); ++sent_groups_)
    feed.push_text(TextKind::group, sent_groups_, names_.group_name(sent_groups_));
  for (; sent_spaces_ < names_.spaces(); ++sent_spaces_)
    feed.push_text(TextKind::space, sent_spaces_, names_.space_name(static_cast<std::uint32_t>(sent_spaces_)));
  sent_workers_ = names_.workers();
}

/// Sends lines about the workers: all of them, or, unless `all`, nothing if no line has changed. Returns true if it
/// sent any.
bool Follower::send_workers(bool all) {
  FeedWriter& feed = sink_->writer();
  std::vector<std::string> lines;
  const auto tokens = [&](std::uint64_t blocks) { return blocks * page_size_; };
  for (std::uint16_t w = 0; w < names_.workers(); ++w) {
    std::string name = names_.worker_name(w);
    if (name.empty()) name = options_.sources[names_.sender(w).source];
    lines.push_back(fmt::format("{}\t{}\t{}\t{}\t{}", printable(name), tokens(tree_->common().blocks_of(w)),
                                tokens(tree_->common().shared_of(w)), state_of(w), lost_[names_.sender(w).source]));
  }
  lines.push_back(report());
  if (!all && lines == sent_lines_) return false;
  for (std::size_t w = 0; w + 1 < lines.size(); ++w) feed.push_text(TextKind::worker, w, lines[w]);
  feed.push_text(TextKind::config, 0, lines.back());
  sent_lines_ = std::move(lines);
  return true;
}

void Follower::keyframe(std::uint64_t now_us) {
  FeedWriter& feed = sink_->writer();
  const std::uint64_t began = feed.at();
  feed.push(event::Keyframe{});
  feed.push_text(TextKind::origin, 0, fmt::format("KV events of {}", fmt::join(options_.sources, ", ")));
  send_names(true);
  send_workers(true);
  tree_->send_all(tick_);
  commit(Operation::none, now_us);
  const std::uint64_t ring = feed.shape().ring_events;
  if (ring != 0 && feed.at() - began > ring)
    trouble_ = fmt::format(
        "the tree takes {} events, and the feed's ring has {}: no reader can attach; --events {} is enough for a tree "
        "twice as large",
        feed.at() - began, ring, std::bit_ceil(2 * (feed.at() - began)));
}

void Follower::serve_readers(std::uint64_t now_us) {
  FeedWriter& feed = sink_->writer();
  if (feed.shape().ring_events == 0) return sink_->keep_pace(now_us);
  FeedDesk& desk = desk_behind(feed.header());
  const std::uint64_t wanted = desk.keyframes_wanted.load(std::memory_order_acquire);
  const bool is_wanted = wanted != keyframes_sent_ && now_us >= keyframe_at_us_;
  if (!is_wanted && now_us < look_at_us_ + kLookEveryUs) return;
  look_at_us_ = now_us;
  feed.turn(sink_->watched());
  if (!is_wanted) return;
  keyframes_sent_ = wanted;
  if (feed.on()) keyframe_at_us_ = next_after(now_us, [&] { keyframe(now_us); });
}

}  // namespace canopy::bridge
