#include "block_queue.h"

#include <algorithm>
#include <utility>

#include "chunk_keys.h"

namespace canopy::python {

namespace {

/// Returns the key of a block as vLLM has it, a hash and the group; None if the block has none.
nb::object key_of(nb::handle block) {
  static PyObject* const name = PyUnicode_InternFromString("_block_hash");
  nb::object key = nb::steal(PyObject_GetAttr(block.ptr(), name));
  if (!key.is_valid()) nb::raise_python_error();
  return key;
}

}  // namespace

/// Holds the items of a list or another sequence while they are read.
class BlockQueue::Items {
 public:
  explicit Items(nb::handle sequence) : fast_(nb::steal(PySequence_Fast(sequence.ptr(), "expected a list"))) {
    if (!fast_.is_valid()) nb::raise_python_error();
  }
  std::size_t size() const { return static_cast<std::size_t>(PySequence_Fast_GET_SIZE(fast_.ptr())); }
  nb::handle operator[](std::size_t at) const {
    return PySequence_Fast_GET_ITEM(fast_.ptr(), static_cast<Py_ssize_t>(at));
  }

 private:
  nb::object fast_;
};

BlockQueue::BlockQueue(nb::list blocks, nb::list free, std::vector<Group> groups, Units hash_tokens, nb::handle policy,
                       const std::string& feed, nb::object instead)
    : blocks_(std::move(blocks)),
      groups_(std::move(groups)),
      hash_tokens_(hash_tokens),
      instead_(std::move(instead)),
      session_(nb::len(blocks_) - 1, policy, feed, "vLLM's own prefix cache\n"),  // vLLM's null block is never free
      free_(nb::len(blocks_)),
      slots_(nb::len(blocks_)) {
  if (groups_.empty()) throw nb::value_error("a pool of blocks has a group");
  for (const Group& group : groups_)
    if (group.tokens == 0 || hash_tokens == 0) throw nb::value_error("a block has tokens");
  spare_.reserve(slots_.size());
  numbers_.reserve(slots_.size());
  read(Items(free));
  for (const Number number : numbers_) free_[number] = true;
  spare_.assign(numbers_.rbegin(), numbers_.rend());
  free_count_ = spare_.size();
  session_.open(groups_[0].tokens);
}

BlockQueue::Number BlockQueue::number_of(nb::handle block) const {
  static PyObject* const name = PyUnicode_InternFromString("block_id");
  const long number = canopy::python::number_of(block, name);
  if (number < 0 || static_cast<std::size_t>(number) >= slots_.size())
    throw nb::value_error("there is no block of this number in the pool");
  return static_cast<Number>(number);
}

/// Reads blocks that come back to the queue into numbers_. Throws if one of them is free, or is there twice.
void BlockQueue::read(const Items& items) {
  numbers_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) numbers_.push_back(number_of(items[i]));
  std::size_t marked = 0;
  while (marked < numbers_.size() && !free_[numbers_[marked]]) free_[numbers_[marked++]] = true;
  const bool all = marked == numbers_.size();
  while (marked > 0) free_[numbers_[--marked]] = false;
  if (!all) throw nb::value_error("a block came back that is free, or the same one twice");
}

void BlockQueue::erase(Number number) {
  if (const Slot slot = std::exchange(slots_[number], 0)) tree().remove(slot);
}

void BlockQueue::end_operation(Operation operation) { session_.end_operation(operation, spare_.size()); }

// ---- Blocks leave ----

nb::object BlockQueue::popleft() { return nb::borrow(popleft_n(1)[0]); }

nb::list BlockQueue::popleft_n(std::size_t count) {
  const Busy busy(busy_);
  if (count > free_count_) throw nb::value_error("there are not as many free blocks");
  nb::list taken = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!taken.is_valid()) nb::raise_python_error();
  std::size_t at = 0;
  const auto take = [&](Number number) {
    PyObject* const block = PyList_GET_ITEM(blocks_.ptr(), static_cast<Py_ssize_t>(number));
    PyList_SET_ITEM(taken.ptr(), static_cast<Py_ssize_t>(at++), Py_NewRef(block));
    free_[number] = false;
  };
  const std::size_t spare = std::min(count, spare_.size());
  numbers_.clear();
  if (spare < count) {
    tree().begin_eviction({});
    for (std::size_t left = count - spare; left > 0; --left) {
      numbers_.push_back(static_cast<Number>(tree().page(tree().evict_one()) - 1));
      slots_[numbers_.back()] = 0;
    }
    tree().end_eviction();
    session_.end_operation(Operation::evict, spare_.size() - spare);  // it may throw, so before the blocks are taken
  }
  for (std::size_t i = 0; i < spare; ++i) {
    take(spare_.back());
    spare_.pop_back();
  }
  for (const Number number : numbers_) take(number);
  free_count_ -= count;
  return taken;
}

void BlockQueue::remove(nb::handle block) {
  const Busy busy(busy_);
  const Number number = number_of(block);
  if (!free_[number]) throw nb::value_error("a block that is in use was to be taken");
  if (const Slot slot = slots_[number]) {
    const Slot parent = tree().parent(slot);
    if (parent != 0 && !tree().pinned(parent)) tree().part(slot);
    tree().pin(slot);
  } else {
    spare_.erase(std::find(spare_.begin(), spare_.end(), number));
  }
  free_[number] = false;
  --free_count_;
}

// ---- Blocks come back ----

void BlockQueue::append_n(nb::handle blocks) {
  const Busy busy(busy_);
  read(Items(blocks));
  for (const Number number : numbers_) {
    const Tick tick = tree().tick();
    if (const Slot slot = slots_[number]) {
      tree().part_stuck(slot);
      tree().touch(slot, tick);
      tree().unpin(slot);
      continue;
    }
    // A window has passed it before its request ended, or vLLM has unpinned it.
    const nb::object key = key_of(blocks_[number]);
    ChunkTree::Added added;
    if (!key.is_none()) {
      const std::string_view bytes = bytes_of(key);
      added.space = session_.space_of(group_of(bytes));
      added.print = print_of(bytes);
    }
    added.page = number + 1, added.tick = tick;
    slots_[number] = tree().add(added);
  }
  if (!numbers_.empty()) end_operation(Operation::release);
  for (const Number number : numbers_) free_[number] = true;
  free_count_ += numbers_.size();
}

void BlockQueue::prepend_n(nb::handle blocks) {
  const Busy busy(busy_);
  read(Items(blocks));
  for (const Number number : numbers_) erase(number);  // it has lost its hash
  for (auto number = numbers_.rbegin(); number != numbers_.rend(); ++number) {
    spare_.push_back(*number);
    free_[*number] = true;
  }
  free_count_ += numbers_.size();
}

nb::list BlockQueue::all_free() const {
  std::vector<std::pair<Tick, Number>> nodes;
  nb::list all;
  for (auto number = spare_.rbegin(); number != spare_.rend(); ++number) all.append(blocks_[*number]);
  for (Number number = 0; number < slots_.size(); ++number)
    if (free_[number] && slots_[number]) nodes.emplace_back(tree().last_access(slots_[number]), number);
  std::sort(nodes.begin(), nodes.end());
  for (const auto& [tick, number] : nodes) all.append(blocks_[number]);
  return all;
}

void BlockQueue::reset() {
  const Busy busy(busy_);
  std::vector<Number> spare;
  spare.reserve(slots_.size());
  const nb::list all = all_free();
  for (std::size_t i = nb::len(all); i-- > 0;) spare.push_back(number_of(all[i]));
  tree().clear();
  std::fill(slots_.begin(), slots_.end(), 0);
  std::swap(spare_, spare);
  end_operation(Operation::flush);
}

// ---- Requests ----

std::uint64_t BlockQueue::arrived(std::uint64_t again, std::uint32_t prompt) {
  const Busy busy(busy_);
  const std::uint64_t first = again ? again : last_request_ + 1;
  if (!again) last_request_ += groups_.size();
  for (std::size_t i = 0; i < groups_.size(); ++i)
    tree().arrived({.space = session_.space_of(groups_[i].number), .prompt = prompt, .id = first + i});
  return first;
}

/// Makes nodes of a request's blocks in one group, below one another, and writes them to path_ and uses_.
void BlockQueue::follow(const Group& group, nb::handle table, std::uint32_t hit, Tick tick) {
  const Items items(table);
  path_.clear(), uses_.clear();
  Slot before = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const nb::object key = key_of(items[i]);
    const Number number = number_of(items[i]);
    if (key.is_none()) {  // not full yet, without content, or its hash was removed
      erase(number);
      before = 0;
      continue;
    }
    if (free_[number]) throw nb::value_error("a block of a request is free");
    const auto begin = static_cast<Units>(i * group.tokens);
    const std::uint64_t print = print_of(bytes_of(key));
    Slot slot = slots_[number];
    if (slot && !tree().is(slot, begin, print)) erase(number), slot = 0;  // it was made without its place being known
    const Slot parent = group.linked ? before : 0;
    if (slot == 0) {
      ChunkTree::Added added;
      added.parent = parent, added.begin = begin, added.space = session_.space_of(group.number);
      added.page = number + 1, added.tick = tick, added.print = print, added.pinned = true;
      slot = slots_[number] = tree().add(added);
    } else if (tree().parent(slot) != parent) {
      tree().part(slot);
      if (parent) tree().adopt(parent, slot);
    }
    path_.push_back(slot);
    uses_.push_back(begin + group.tokens <= hit ? ChunkTree::Use::hit : ChunkTree::Use::stored);
    before = slot;
  }
}

/// Writes the prints of the strides of a request's prompt to prints_.
void BlockQueue::read_prints(const Group& group, nb::handle hashes, std::uint32_t prompt) {
  const Items items(hashes);
  const std::size_t scale = std::max<std::size_t>(1, group.tokens / hash_tokens_), blocks = items.size() / scale;
  prints_.clear();
  for (std::size_t stride = 0; (stride + 1) * kPrintStride <= prompt; ++stride) {
    const std::size_t chunk = chunk_of_stride(stride, group.tokens);
    if (chunk >= blocks) return;
    prints_.push_back(stride_print(print_of(bytes_of(items[(chunk + 1) * scale - 1]), group.number), stride));
  }
}

void BlockQueue::ended(std::uint64_t request, const Lengths& lengths, nb::handle tables, nb::handle hashes,
                       std::uint32_t hit, Ending ending) {
  const Busy busy(busy_);
  const Items lists(tables);
  if (lists.size() != groups_.size()) throw nb::value_error("ended: expected a list of blocks for each group");
  if (lengths.tokens < lengths.prompt) throw nb::value_error("ended: the prompt is longer than all tokens");
  const Tick tick = tree().tick();
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    follow(group, lists[i], hit, tick);
    read_prints(group, hashes, lengths.prompt);
    RequestFacts facts;
    facts.space = session_.space_of(group.number);
    facts.prompt = lengths.prompt, facts.matched = hit, facts.output = lengths.tokens - lengths.prompt;
    facts.prefix_prints = prints_;
    facts.id = request + i, facts.ending = ending;
    tree().ended(facts, path_, uses_, tick);
  }
  end_operation(ending == Ending::retracted ? Operation::retract : Operation::advance);
}

void BlockQueue::poll() {
  if (!busy_) session_.poll();
}

nb::dict BlockQueue::facts() const {
  nb::dict row;
  row["blocks"] = slots_.size();
  row["free"] = free_count_;
  row["spare"] = spare_.size();
  row["nodes"] = tree().size();
  row["movable"] = tree().movable();
  return row;
}

}  // namespace canopy::python
