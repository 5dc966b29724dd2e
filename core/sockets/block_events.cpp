#include <canopy/sockets/block_events.h>
#include <canopy/types.h>

#include <algorithm>
#include <bit>

namespace canopy::sockets {
namespace {

using wire::Field;
constexpr std::string_view kMedium = "GPU";

/// A text in MessagePack or in CBOR: a head with its length, `shortest` for lengths below `most`, then one of three.
void append_text(std::string& to, std::string_view text, unsigned shortest, std::size_t most, unsigned wider) {
  const std::size_t size = text.size();
  const auto put = [&](unsigned byte) { to += static_cast<char>(byte); };
  const int width = size < most ? 0 : size < 1U << 8 ? 1 : size < 1U << 16 ? 2 : 4;
  if (width == 0) put(shortest | static_cast<unsigned>(size));
  else put(wider + static_cast<unsigned>(std::bit_width(static_cast<unsigned>(width))) - 1);
  for (int i = width - 1; i >= 0; --i) put(static_cast<unsigned>(size >> (8 * i)) & 0xFF);
  to += text;
}

/// The canonical CBOR of (("cache_salt", salt),): vLLM's extra keys of a first block, since 0.31. Before, it was
/// (salt,).
std::string extra_keys_of(std::string_view salt) {
  std::string cbor = "\x81\x82";
  append_text(cbor, "cache_salt", 0x60, 24, 0x78);
  append_text(cbor, salt, 0x60, 24, 0x78);
  return cbor;
}

}  // namespace

BlockEvents::BlockEvents(const KvEventsConfig& config, const TreeQueue& queue)
    : config_(config),
      shape_(queue.shape()),
      tells_groups_(config.dialect == KvEventsConfig::Dialect::arrays ||
                    config.hashes == KvEventsConfig::Hashes::vllm) {}

bool BlockEvents::take(const TreeQueue::Record& record, wire::EventBatch& batch) {
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

void BlockEvents::clear(wire::EventBatch& batch) {
  nodes_.clear();
  batch.events.emplace_back().kind = wire::EventKind::cleared;
}

BlockEvents::Node* BlockEvents::find(std::uint64_t id) {
  const std::uint32_t slot = slot_of(NodeId{id});
  return slot < nodes_.size() && nodes_[slot].id == id && !nodes_[slot].names.empty() ? &nodes_[slot] : nullptr;
}

BlockEvents::Node& BlockEvents::at(std::uint32_t slot) {
  if (nodes_.size() <= slot) nodes_.resize(std::max<std::size_t>(slot + 1, nodes_.size() * 2));
  return nodes_[slot];
}

/// The shared namespace is never told of: it has no salt.
const BlockEvents::Space& BlockEvents::space_of(std::uint32_t number) {
  if (spaces_.size() <= number) spaces_.resize(number + 1);
  Space& space = spaces_[number];
  if (config_.hashes == KvEventsConfig::Hashes::sglang && !space.salt.empty() && space.root.size == 0)
    space.root = sglang_.root(space.salt);
  if (config_.hashes == KvEventsConfig::Hashes::vllm && space.root.size == 0) space.root = vllm_.root(config_.seed);
  return space;
}

/// The name in front of a node's first block.
wire::Digest BlockEvents::before(const Node& node) {
  return node.parent ? nodes_[node.parent].names.back() : space_of(node.space).root;
}

bool BlockEvents::add(const TreeQueue::Record& record, wire::EventBatch& batch) {
  const std::uint32_t slot = slot_of(NodeId{record.node}), parent = slot_of(NodeId{record.other});
  const auto words = TreeQueue::words_of(record, shape_.overlap);
  Node& node = at(slot);
  if (group_ == 0 && block_ == 0) {
    node = {record.node, parent, record.space, record.resident, {}};
    if (parent != 0 && (parent >= nodes_.size() || nodes_[parent].names.empty())) return ++unplaced, true;
    name(node, words);
  }
  return store(node, record.resident, words, batch);
}

bool BlockEvents::fill(const TreeQueue::Record& record, wire::EventBatch& batch) {
  Node* const node = find(record.node);
  const auto group = static_cast<std::uint16_t>(1U << record.group);
  if (!node || (block_ == 0 && node->resident & group)) return true;
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
  const std::string extra = node.parent || space.salt.empty() ? "\xf6" : extra_keys_of(space.salt);
  wire::Digest digest = before(node);
  node.names.reserve(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto tokens = tokens_of(words, i * page, page);
    digest = config_.hashes == KvEventsConfig::Hashes::sglang ? sglang_.next(digest, tokens)
                                                              : vllm_.next(digest, tokens, i == 0 ? extra : "\xf6");
    node.names.push_back(digest);
  }
}

/// Tells that `groups` have a node's blocks, at most kMostBlocks of them. False: there are more.
bool BlockEvents::store(const Node& node, std::uint16_t groups, std::span<const std::uint32_t> words,
                        wire::EventBatch& batch) {
  const std::size_t page = shape_.page_size, last_group = tells_groups_ ? shape_.groups : 1;
  while (group_ < last_group && !(groups >> group_ & 1)) ++group_;
  if (group_ < last_group) {
    const Space& space = space_of(node.space);
    const std::size_t count = std::min(kMostBlocks, node.names.size() - block_);
    wire::Event event;
    event.kind = wire::EventKind::stored;
    event.token_pairs = shape_.overlap == 1;
    event.block_size = static_cast<std::int64_t>(page);
    hashes_.clear();
    for (std::size_t i = block_; i < block_ + count; ++i) hashes_.push_back(name_of(node.names[i]));
    batch.set_hashes(event, hashes_);
    if (block_ == 0 && node.parent == 0) {
      event.set_nil(Field::parent_block_hash);
    } else {
      event.set_present(Field::parent_block_hash);
      event.parent = name_of(block_ ? node.names[block_ - 1] : before(node));
    }
    batch.set_tokens(event, tokens_of(words, block_ * page, count * page));
    event.set_present(Field::block_size);
    event.set_nil(Field::lora_id);
    batch.set_text(event, Field::medium, kMedium);
    if (!space.adapter.empty()) batch.set_text(event, Field::lora_name, space.adapter);
    else if (tells_groups_) event.set_nil(Field::lora_name);  // vLLM's own classes have no default for it
    if (tells_groups_) {
      if (block_ == 0 && node.parent == 0 && !space.salt.empty()) put_extra_keys(event, space, count, batch);
      put_group(event, group_, batch);
    } else if (!space.salt.empty()) {
      batch.set_text(event, Field::cache_salt, space.salt);
    }
    batch.events.push_back(event);
    stored += count;
    block_ += count;
    if (block_ < node.names.size()) return false;
    block_ = 0, ++group_;
  }
  while (group_ < last_group && !(groups >> group_ & 1)) ++group_;
  if (group_ < last_group) return false;
  group_ = 0;
  return true;
}

void BlockEvents::remove(const Node& node, std::uint16_t groups, wire::EventBatch& batch) {
  for (std::size_t g = 0; g < (tells_groups_ ? shape_.groups : 1); ++g) {
    if (!(groups >> g & 1)) continue;
    wire::Event event;
    event.kind = wire::EventKind::removed;
    hashes_.clear();
    for (const wire::Digest& digest : node.names) hashes_.push_back(name_of(digest));
    batch.set_hashes(event, hashes_);
    batch.set_text(event, Field::medium, kMedium);
    if (tells_groups_) {
      event.group = static_cast<std::int64_t>(g);
      event.set_present(Field::group_idx);
    }
    batch.events.push_back(event);
    removed += node.names.size();
  }
}

/// vLLM's words for what a group needs of a prefix.
void BlockEvents::put_group(wire::Event& event, std::size_t group, wire::EventBatch& batch) const {
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

/// One entry for each block: the salt is a key of the first block of a prefix alone.
void BlockEvents::put_extra_keys(wire::Event& event, const Space& space, std::size_t blocks,
                                 wire::EventBatch& batch) const {
  std::string packed;
  if (blocks < 16) packed += static_cast<char>(0x90 | blocks);
  else (packed += '\xdc') += {static_cast<char>(blocks >> 8), static_cast<char>(blocks)};
  packed += '\x91';
  append_text(packed, space.salt, 0xA0, 32, 0xD9);
  packed.append(blocks - 1, '\xc0');
  batch.set_text(event, Field::extra_keys, packed);
}

/// Tokens of units; of bigrams both.
std::span<const Token> BlockEvents::tokens_of(std::span<const std::uint32_t> words, std::size_t first,
                                              std::size_t units) {
  if (shape_.overlap == 0) return words.subspan(first, units);
  pairs_.clear();
  for (std::size_t i = first; i < first + units; ++i) pairs_.push_back(words[i]), pairs_.push_back(words[i + 1]);
  return pairs_;
}

wire::BlockHash BlockEvents::name_of(const wire::Digest& digest) const {
  return config_.hashes == KvEventsConfig::Hashes::sglang ? wire::SglangChain::name(digest)
                                                          : wire::VllmChain::name(digest);
}

}  // namespace canopy::sockets
