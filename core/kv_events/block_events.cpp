#include <canopy/kv_events/block_events.h>
#include <canopy/kv_events/msgpack.h>
#include <canopy/types.h>

#include <algorithm>

namespace canopy::kv_events {
namespace {

constexpr std::string_view kMedium = "GPU";

}  // namespace

BlockEvents::BlockEvents(const KVEventsConfig& config, const TreeQueue& queue)
    : config_(config),
      shape_(queue.shape()),
      has_groups_(config.dialect == KVEventsConfig::Dialect::arrays || config.hashes == KVEventsConfig::Hashes::vllm) {}

bool BlockEvents::take(const TreeQueue::Record& record, EventBatch& batch) {
  switch (record.kind) {
    case TreeQueue::Kind::added:
      return add(record, batch);
    case TreeQueue::Kind::filled:
      return fill(record, batch);
    case TreeQueue::Kind::split:
      split(record);
      break;
    case TreeQueue::Kind::cleared:
      clear(batch);
      break;
    case TreeQueue::Kind::space: {
      const auto [salt, adapter] = TreeQueue::texts_of(record);
      if (spaces_.size() <= record.space) spaces_.resize(record.space + 1);
      spaces_[record.space] = {std::string(salt), std::string(adapter), {}};
      break;
    }
    case TreeQueue::Kind::tombstoned:
      if (Node* const node = find(record.node)) {
        const auto group = static_cast<std::uint16_t>(node->resident & 1U << record.group);
        node->resident = static_cast<std::uint16_t>(node->resident & ~group);
        remove(*node, group, batch);
      }
      break;
    case TreeQueue::Kind::removed:
      if (Node* const node = find(record.node)) {
        remove(*node, node->resident, batch);
        node->names = {};
      }
      break;
  }
  return true;
}

void BlockEvents::clear(EventBatch& batch) {
  nodes_.clear();
  batch.events.emplace_back().kind = EventKind::cleared;
}

BlockEvents::Node* BlockEvents::find(std::uint64_t id) {
  const std::uint32_t slot = slot_of(NodeId{id});
  return slot < nodes_.size() && nodes_[slot].id == id && !nodes_[slot].names.empty() ? &nodes_[slot] : nullptr;
}

BlockEvents::Node& BlockEvents::at(std::uint32_t slot) {
  if (nodes_.size() <= slot) nodes_.resize(std::max<std::size_t>(slot + 1, nodes_.size() * 2));
  return nodes_[slot];
}

/// Returns a namespace. The queue has no record of the shared one, which has no salt.
const BlockEvents::Space& BlockEvents::space_of(std::uint32_t number) {
  if (spaces_.size() <= number) spaces_.resize(number + 1);
  Space& space = spaces_[number];
  const bool is_sglang = config_.hashes == KVEventsConfig::Hashes::sglang;
  if (space.root.size == 0) space.root = is_sglang ? SglangChain::root(space.salt) : vllm_.root(config_.seed);
  return space;
}

/// Returns the digest before the first block of a node.
Digest BlockEvents::before(const Node& node) {
  return node.parent ? nodes_[node.parent].names.back() : space_of(node.space).root;
}

bool BlockEvents::add(const TreeQueue::Record& record, EventBatch& batch) {
  const std::uint32_t slot = slot_of(NodeId{record.node}), parent = slot_of(NodeId{record.other});
  const auto words = TreeQueue::words_of(record, shape_.overlap);
  Node& node = at(slot);
  if (!part_) {
    node = {record.node, parent, record.space, record.resident, {}};
    if (parent != 0 && (parent >= nodes_.size() || nodes_[parent].names.empty())) return ++unplaced, true;
    name(node, words);
  }
  return store(node, record.resident, words, batch);
}

bool BlockEvents::fill(const TreeQueue::Record& record, EventBatch& batch) {
  Node* const node = find(record.node);
  const auto group = static_cast<std::uint16_t>(1U << record.group);
  if (!node || (!part_ && node->resident & group)) return true;
  node->resident = static_cast<std::uint16_t>(node->resident | group);
  return store(*node, group, TreeQueue::words_of(record, shape_.overlap), batch);
}

void BlockEvents::split(const TreeQueue::Record& record) {
  const std::uint32_t upper_slot = slot_of(NodeId{record.other});
  at(upper_slot);
  Node* const lower = find(record.node);
  const std::size_t blocks = record.length / shape_.page_size;
  if (!lower || blocks >= lower->names.size()) return;
  const auto cut = lower->names.begin() + static_cast<std::ptrdiff_t>(blocks);
  nodes_[upper_slot] = {record.other, lower->parent, lower->space, lower->resident, {lower->names.begin(), cut}};
  lower->names.erase(lower->names.begin(), cut);
  lower->parent = upper_slot;
}

void BlockEvents::name(Node& node, std::span<const std::uint32_t> words) {
  const Space& space = space_of(node.space);
  const std::size_t page = shape_.page_size, blocks = (words.size() - shape_.overlap) / page;
  const std::string extra = node.parent || space.salt.empty() ? "\xf6" : VllmChain::extra_keys_of(space.salt);
  Digest digest = before(node);
  node.names.reserve(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto tokens = tokens_of(words, i * page, page);
    digest = config_.hashes == KVEventsConfig::Hashes::sglang ? SglangChain::next(digest, tokens)
                                                              : vllm_.next(digest, tokens, i == 0 ? extra : "\xf6");
    node.names.push_back(digest);
  }
}

/// Returns the first group in `groups` from number `from` on; groups() if there is none.
std::size_t BlockEvents::next_group(std::uint16_t groups, std::size_t from) const {
  while (from < this->groups() && !(groups >> from & 1)) ++from;
  return from;
}

/// Adds the next event that stores a node's blocks in `groups`: for each group one event for each kMostBlocks blocks.
/// `part_` has the position between calls. Returns false if there are more events.
bool BlockEvents::store(const Node& node, std::uint16_t groups, std::span<const std::uint32_t> words,
                        EventBatch& batch) {
  Part part = part_.value_or(Part{next_group(groups, 0), 0});
  if (part.group < this->groups()) {
    const std::size_t count = std::min(kMostBlocks, node.names.size() - part.block);
    store_part(node, part, count, words, batch);
    part.block += count;
    if (part.block == node.names.size()) part = {next_group(groups, part.group + 1), 0};
  }
  const bool is_done = part.group == this->groups();
  part_ = is_done ? std::nullopt : std::optional(part);
  return is_done;
}

void BlockEvents::store_part(const Node& node, Part part, std::size_t count, std::span<const std::uint32_t> words,
                             EventBatch& batch) {
  const auto [group, block] = part;
  const Space& space = space_of(node.space);
  const bool is_first = block == 0 && node.parent == 0;
  Event event;
  event.kind = EventKind::stored;
  event.token_pairs = shape_.overlap == 1;
  event.block_size = static_cast<std::int64_t>(shape_.page_size);
  event.set_present(Field::block_size);
  set_hashes(event, std::span(node.names).subspan(block, count), batch);
  event.set_present(Field::parent_block_hash);
  if (is_first) event.set_nil(Field::parent_block_hash);
  else event.parent = name_of(block ? node.names[block - 1] : before(node));
  batch.set_tokens(event, tokens_of(words, block * shape_.page_size, count * shape_.page_size));
  event.set_nil(Field::lora_id);
  batch.set_text(event, Field::medium, kMedium);
  if (!space.adapter.empty()) batch.set_text(event, Field::lora_name, space.adapter);
  else if (has_groups_) event.set_nil(Field::lora_name);  // the classes of vLLM have no default for it
  if (has_groups_) {
    if (is_first && !space.salt.empty()) put_extra_keys(event, space, count, batch);
    put_group(event, group, batch);
  } else if (!space.salt.empty()) {
    batch.set_text(event, Field::cache_salt, space.salt);
  }
  batch.events.push_back(event);
  stored += count;
}

void BlockEvents::remove(const Node& node, std::uint16_t groups, EventBatch& batch) {
  for (std::size_t g = next_group(groups, 0); g < this->groups(); g = next_group(groups, g + 1)) {
    Event event;
    event.kind = EventKind::removed;
    set_hashes(event, node.names, batch);
    batch.set_text(event, Field::medium, kMedium);
    if (has_groups_) {
      event.group = static_cast<std::int64_t>(g);
      event.set_present(Field::group_idx);
    }
    batch.events.push_back(event);
    removed += node.names.size();
  }
}

void BlockEvents::set_hashes(Event& event, std::span<const Digest> names, EventBatch& batch) {
  hashes_.clear();
  for (const Digest& digest : names) hashes_.push_back(name_of(digest));
  batch.set_hashes(event, hashes_);
}

/// Adds the group with the name that vLLM has for its kind of attention.
void BlockEvents::put_group(Event& event, std::size_t group, EventBatch& batch) const {
  const std::uint64_t reach = shape_.reaches[group];
  event.group = static_cast<std::int64_t>(group);
  event.set_present(Field::group_idx);
  batch.set_text(event, Field::kv_cache_spec_kind,
                 reach == kWholePath ? "full_attention"
                 : reach == 1        ? "mamba"
                                     : "sliding_window");
  if (reach == kWholePath || reach == 1) return;
  event.sliding_window = static_cast<std::int64_t>(reach);
  event.set_present(Field::kv_cache_spec_sliding_window);
}

/// Adds an entry for each block. Only the first block of a prefix has a key, the salt.
void BlockEvents::put_extra_keys(Event& event, const Space& space, std::size_t blocks, EventBatch& batch) const {
  std::string packed;
  Packer pack(packed);
  pack.array(blocks);
  pack.array(1), pack.text(space.salt);
  for (std::size_t i = 1; i < blocks; ++i) pack.nil();
  batch.set_text(event, Field::extra_keys, packed);
}

/// Returns the tokens of units; for bigrams, both tokens of each.
std::span<const Token> BlockEvents::tokens_of(std::span<const std::uint32_t> words, std::size_t first,
                                              std::size_t units) {
  if (shape_.overlap == 0) return words.subspan(first, units);
  pairs_.clear();
  for (std::size_t i = first; i < first + units; ++i) pairs_.push_back(words[i]), pairs_.push_back(words[i + 1]);
  return pairs_;
}

BlockHash BlockEvents::name_of(const Digest& digest) const {
  return config_.hashes == KVEventsConfig::Hashes::sglang ? SglangChain::name(digest) : VllmChain::name(digest);
}

}  // namespace canopy::kv_events
