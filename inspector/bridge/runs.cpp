#include <bridge/runs.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace canopy::bridge {
namespace {

/// Most tokens of a node: lengths and depths of a feed have 32 bits.
constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 30;

}  // namespace

void Runs::add(std::uint32_t head, std::uint32_t tail, std::uint32_t count, Tick tick) {
  const std::uint32_t number = new_run();
  runs_[number] = {new_id(), head, tail, count, blocks_[head].groups};
  label(tail, count, false, number);
  count_in(runs_[number], true);
  ++count_;
  if (sends()) send(runs_[number], tick), send_digests(runs_[number]);
  join(head);
}

void Runs::cut(std::uint32_t block) {
  const std::uint32_t number = blocks_[block].run;
  if (runs_[number].head == block) return;
  // Walks in both directions at once, so that the work is that of the smaller part.
  const std::uint32_t last = blocks_[block].parent;
  std::uint32_t up = last, down = block, steps = 1;
  while (up != runs_[number].head && down != runs_[number].tail)
    up = blocks_[up].parent, down = blocks_[down].first_child, ++steps;
  const bool is_upper_smaller = up == runs_[number].head;
  const std::uint32_t upper_count = is_upper_smaller ? steps : runs_[number].count - steps;
  const std::uint32_t other = new_run();
  const Run whole = runs_[number];
  blocks_[block].space = blocks_[whole.head].space;
  const Run upper{new_id(), whole.head, last, upper_count, whole.groups};
  const Run lower{whole.id, block, whole.tail, whole.count - upper_count, whole.groups};
  runs_[number] = is_upper_smaller ? lower : upper;
  runs_[other] = is_upper_smaller ? upper : lower;
  if (is_upper_smaller) label(last, upper.count, false, other);
  else label(block, lower.count, true, other);
  ++count_;
  if (sends()) feed_->push(event::NodeSplit{.units = units(upper_count), .node = lower.id, .upper = upper.id});
}

void Runs::join(std::uint32_t block) {
  const std::uint32_t parent = blocks_[block].parent;
  if (!blocks_.is_only_child(block)) return;
  const std::uint32_t above = blocks_[parent].run, below = blocks_[block].run;
  if (above == below) return;
  const Run upper = runs_[above], lower = runs_[below];
  if (upper.groups != lower.groups || (std::uint64_t{upper.count} + lower.count) * page_size_ > kMostUnits) return;
  const bool is_upper_smaller = upper.count < lower.count;
  if (is_upper_smaller) label(parent, upper.count, false, below);
  else label(block, lower.count, true, above);
  const std::uint32_t kept = is_upper_smaller ? below : above, gone = is_upper_smaller ? above : below;
  runs_[kept] = {upper.id, upper.head, lower.tail, upper.count + lower.count, upper.groups};
  if (sends()) feed_->push(event::NodeJoined{.node = upper.id, .child = lower.id});
  runs_[gone].id = lower.id;
  free_run(gone);
}

void Runs::set_groups(std::uint32_t block, std::uint8_t groups) {
  cut(block);
  if (runs_[blocks_[block].run].tail != block) cut(blocks_[block].first_child);
  Run& run = runs_[blocks_[block].run];
  count_in(run, false);
  for (std::uint8_t g = 0; sends() && g < kMaxGroups; ++g) {
    if ((run.groups & ~groups) >> g & 1) feed_->push(event::NodeTombstoned{.group = g, .node = run.id});
    if ((groups & ~run.groups) >> g & 1) feed_->push(event::NodePages{.group = g, .node = run.id});
  }
  run.groups = blocks_[block].groups = groups;
  count_in(run, true);
  join(block);
  if (const std::uint32_t child = blocks_[block].first_child; child != 0) join(child);
}

void Runs::remove(std::uint32_t block) {
  cut(block);
  const std::uint32_t number = blocks_[block].run;
  if (sends()) feed_->push(event::NodeRemoved{.node = runs_[number].id});
  count_in(runs_[number], false);
  free_run(number);
}

void Runs::clear() {
  // No id is used twice, so lives_ is kept.
  for (const Run& run : runs_)
    if (run.count != 0) free_slots_.push_back(slot_of(run.id));
  runs_.assign(1, {});
  free_runs_.clear();
  count_ = 0;
  sums_ = {};
  send_cleared();
}

void Runs::send_cleared() {
  if (sends()) feed_->push(event::Cleared{});
}

void Runs::send_all(Tick tick) {
  if (!sends()) return;
  std::vector<std::uint32_t> heads;
  for (std::uint32_t i = 1; i < runs_.size(); ++i)
    if (runs_[i].count != 0 && blocks_[runs_[i].head].parent == 0) heads.push_back(runs_[i].head);
  while (!heads.empty()) {
    const Run& run = runs_[blocks_[heads.back()].run];
    heads.pop_back();
    if (const std::uint32_t above = blocks_[run.head].parent; above != 0)
      blocks_[run.head].space = blocks_[head_of(above)].space;
    send(run, tick);
    for (std::uint32_t child = blocks_[run.tail].first_child; child != 0; child = blocks_[child].next)
      heads.push_back(child);
  }
}

std::uint32_t Runs::new_run() {
  if (free_runs_.empty()) {
    runs_.emplace_back();
    return static_cast<std::uint32_t>(runs_.size() - 1);
  }
  const std::uint32_t number = free_runs_.back();
  free_runs_.pop_back();
  return number;
}

NodeId Runs::new_id() {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(lives_.size()));
    lives_.push_back(0);
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return NodeId{std::uint64_t{++lives_[slot]} << 32 | slot};
}

void Runs::free_run(std::uint32_t run) {
  free_slots_.push_back(slot_of(runs_[run].id));
  runs_[run] = {};
  free_runs_.push_back(run);
  --count_;
}

void Runs::label(std::uint32_t from, std::uint32_t count, bool down, std::uint32_t run) {
  for (; count > 0; --count) {
    blocks_[from].run = run;
    from = down ? blocks_[from].first_child : blocks_[from].parent;
  }
}

void Runs::send(const Run& run, Tick tick) {
  const Block& head = blocks_[run.head];
  const std::uint32_t above = head.parent ? slot_of(runs_[blocks_[head.parent].run].id) : 0;
  feed_->push(event::NodeAdded{.resident = run.groups,
                               .space = NamespaceId{head.space},
                               .node = run.id,
                               .parent = above,
                               .length = units(run.count)});
  feed_->push(event::NodeNamed{.node = run.id,
                               .digest = XXH3_64bits_withSeed(&head.hash, sizeof(head.hash), feed_->digest_key()),
                               .created = tick});
  if (!blocks_.keeps_tokens()) return;
  words_.resize(units(run.count));
  auto end = words_.end();
  for (std::uint32_t i = 0, at = run.tail; i < run.count; ++i, at = blocks_[at].parent) {
    const auto tokens = blocks_.tokens(at);
    end = std::copy_backward(tokens.begin(), tokens.end(), end);
  }
  feed_->push_words(run.id, words_.data(), units(run.count));
}

/// Pushes the digests of the run's blocks, as far as they are pages.
void Runs::send_digests(const Run& run) {
  if (units(1) < FeedWriter::kDigestedPage) return;
  digests_.resize(run.count);
  for (std::uint32_t i = run.count, at = run.tail; i > 0; at = blocks_[at].parent)
    digests_[--i] = XXH3_64bits_withSeed(&blocks_[at].hash, sizeof(blocks_[at].hash), feed_->digest_key());
  feed_->push_digests(run.id, run.count, [&](std::uint32_t at) { return digests_[at]; });
}

void Runs::count_in(const Run& run, bool in) {
  for (std::size_t g = 0; g < kMaxGroups; ++g)
    if (run.groups >> g & 1) sums_[g] += in ? run.count : std::uint64_t{0} - run.count;
}

}  // namespace canopy::bridge
