#include "chunks.h"

#include <canopy/engine/request_spec.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "chunk_keys.h"
#include "feed_exit.h"
#include "hold.h"

namespace canopy::python {

namespace {

std::uint64_t next_generation() {
  static std::uint64_t last = 0;
  return ++last;
}

}  // namespace

std::size_t Chunks::KeyHash::operator()(std::string_view key) const {
  std::uint64_t hash = 0;
  std::memcpy(&hash, key.data(), std::min(sizeof(hash), key.size()));
  return hash ^ static_cast<unsigned char>(key.empty() ? 0 : key.back()) * 0x9e3779b97f4a7c15;
}

Chunks::Chunks(std::uint64_t capacity, nb::handle policy, const std::string& feed, const nb::dict& tokens)
    : session_(capacity, policy, feed, "the CPU tier of vLLM\n"), generation_(next_generation()) {
  for (const auto [group, length] : tokens)
    tokens_[nb::cast<std::uint32_t>(group)] = canopy::python::tokens_of(length.ptr());
}

Units Chunks::tokens_of_group(std::uint32_t group, Units otherwise) const {
  const auto known = tokens_.find(group);
  return known == tokens_.end() ? otherwise : known->second;
}

/// Makes the tree, as soon as the length of a chunk of some group is known.
void Chunks::open(std::uint32_t group, Units page) {
  opened_by_ = group;
  session_.open(page);
}

void Chunks::end_operation(Operation operation) {
  session_.end_operation(operation, session_.capacity() - std::min(session_.capacity(), tree().size()));
}

ChunkTree::Slot Chunks::find(nb::handle key) const {
  const auto found = slots_.find(bytes_of(key));
  return found == slots_.end() ? 0 : found->second;
}

ChunkRequest& Chunks::request_of(nb::handle context) {
  static PyObject* const name = PyUnicode_InternFromString("_offload_key_positions");
  static const nb::handle type = nb::type<ChunkRequest>();
  nb::object positions = nb::steal(PyObject_GetAttr(context.ptr(), name));
  if (!positions.is_valid()) nb::raise_python_error();
  if (last_ && last_->positions.ptr() == positions.ptr() && last_->owner == generation_) {
    read_positions(*last_);
    return *last_;
  }
  nb::object state = context.attr("get_state")(type);
  if (state.is_none() || nb::inst_ptr<ChunkRequest>(state)->owner != generation_) {
    if (!PyDict_Check(positions.ptr())) throw nb::type_error("_offload_key_positions is no dictionary");
    state = made<ChunkRequest>();
    auto& fresh = *nb::inst_ptr<ChunkRequest>(state);
    fresh.owner = generation_;
    fresh.positions = std::move(positions);
    context.attr("set_state")(state);
  }
  last_ = nb::inst_ptr<ChunkRequest>(state);
  last_object_ = std::move(state);
  read_positions(*last_);
  if (last_->tick == 0 && session_.is_open()) last_->tick = tree().tick();
  return *last_;
}

/// Reads the keys that came since the last call. vLLM only adds keys, group by group in the order of the prompt.
void Chunks::read_positions(ChunkRequest& request) {
  PyObject *key = nullptr, *number = nullptr;
  while (PyDict_Next(request.positions.ptr(), &request.read, &key, &number)) {
    const Units position = tokens_of(number);
    ChunkRequest::Line& line = line_of(request, key, position);
    if (position % line.page != 0) continue;  // the part of a chunk at the end of a prompt
    const std::size_t at = position / line.page - 1;
    if (at >= line.keys.size()) line.keys.resize(at + 1);
    line.keys[at] = key;
  }
}

ChunkRequest::Line& Chunks::line_of(ChunkRequest& request, nb::handle key, Units position) {
  const std::uint32_t group = group_of(bytes_of(key));
  for (ChunkRequest::Line& line : request.lines)
    if (line.group == group) return line;
  ChunkRequest::Line line;
  line.group = group;
  // A key need not end a chunk: vLLM also looks for the part of one at the end of a prompt.
  line.page = tokens_of_group(group, position);
  const bool another =
      session_.is_open() && tree().size() == 0 && group == opened_by_ && line.page != session_.session().page_size();
  if (!session_.is_open() || another) {
    open(group, line.page);
    request.tick = tree().tick();
  }
  line.id = ++last_request_;
  request.lines.push_back(std::move(line));
  tree().arrived({.space = session_.space_of(group), .id = last_request_});
  return request.lines.back();
}

void Chunks::accessed(nb::handle keys, nb::handle context) {
  const Busy busy(busy_);
  ChunkRequest& request = request_of(context);
  for (const nb::handle key : keys)
    if (const Slot slot = find(key)) tree().touch(slot, request.tick);
}

void Chunks::insert(nb::handle key, nb::handle chunk, nb::handle context) {
  static PyObject* const ref_cnt = PyUnicode_InternFromString("ref_cnt");
  static PyObject* const chunk_id = PyUnicode_InternFromString("chunk_id");
  const Busy busy(busy_);
  if (find(key)) throw nb::value_error("insert: the tier has this chunk");
  ChunkRequest* const request = context.is_none() ? nullptr : &request_of(context);
  PyObject* const number = request ? PyDict_GetItemWithError(request->positions.ptr(), key.ptr()) : nullptr;
  if (PyErr_Occurred()) nb::raise_python_error();
  const Units position = number ? tokens_of(number) : 0;
  const std::string_view bytes = bytes_of(key);
  ChunkTree::Added added;
  PyObject* before = nullptr;  // key of the chunk that this one continues
  if (position != 0) {
    const ChunkRequest::Line& line = line_of(*request, key, position);
    const std::size_t chunks = (position - 1) / line.page;  // before this one
    added.begin = static_cast<Units>(chunks * line.page);
    if (chunks > 0 && chunks <= line.keys.size()) before = line.keys[chunks - 1];
    if (before) added.parent = find(before);
  } else if (!session_.is_open()) {
    open(group_of(bytes), tokens_of_group(group_of(bytes), 16));  // no chunk of a known length has come yet
    if (request) request->tick = tree().tick();
  }
  added.space = session_.space_of(group_of(bytes));
  added.page = static_cast<Page>(number_of(chunk, chunk_id) + 1);
  added.pinned = number_of(chunk, ref_cnt) != 0;
  added.tick = request ? request->tick : tree().tick();
  added.print = print_of(bytes);
  if (PyDict_SetItem(chunks_.ptr(), key.ptr(), chunk.ptr()) != 0) nb::raise_python_error();
  const Slot slot = tree().add(added);
  if (slot >= held_.size()) held_.resize(slot + 1);
  held_[slot].key = nb::borrow(key);
  slots_.emplace(bytes, slot);
  if (before && added.parent == 0) wait_for(before, slot);
  if (!orphans_.empty()) adopt_orphans(slot);
  end_operation(Operation::insert);
}

/// Records that a chunk has no parent because the chunk with this key is not here.
void Chunks::wait_for(nb::handle key, Slot slot) {
  held_[slot].before = nb::borrow(key);
  orphans_.emplace(bytes_of(key), slot);
}

void Chunks::adopt_orphans(Slot parent) {
  const auto [first, last] = orphans_.equal_range(bytes_of(held_[parent].key));
  std::vector<nb::object> keys;  // the views in orphans_ are of these
  for (auto orphan = first; orphan != last; ++orphan) {
    tree().adopt(parent, orphan->second);
    keys.push_back(std::move(held_[orphan->second].before));
  }
  orphans_.erase(first, last);
}

/// Removes what is kept beside the tree for a chunk.
void Chunks::forget(Slot slot) {
  Held& held = held_[slot];
  if (held.before.is_valid()) {
    const auto [first, last] = orphans_.equal_range(bytes_of(held.before));
    orphans_.erase(std::find_if(first, last, [&](const auto& orphan) { return orphan.second == slot; }));
  }
  slots_.erase(bytes_of(held.key));
  held = {};
}

void Chunks::remove(nb::handle key) {
  const Busy busy(busy_);
  if (PyDict_DelItem(chunks_.ptr(), key.ptr()) != 0) nb::raise_python_error();
  const Slot slot = find(key);
  const std::vector<Slot> children = tree().remove(slot);
  forget(slot);
  for (const Slot child : children) wait_for(key, child);
  end_operation(Operation::flush);
}

void Chunks::pin(nb::handle key) {
  const Busy busy(busy_);
  if (const Slot slot = find(key)) tree().pin(slot);
  else throw nb::key_error("mark_non_evictable: the tier does not have this chunk");
}

void Chunks::unpin(nb::handle key) {
  const Busy busy(busy_);
  if (const Slot slot = find(key)) tree().unpin(slot);
  else throw nb::key_error("mark_evictable: the tier does not have this chunk");
}

void Chunks::finished(nb::handle key_groups, nb::handle reused, nb::handle context) {
  const Busy busy(busy_);
  ChunkRequest& request = request_of(context);
  std::vector<ChunkTree::Use> uses;
  Tick tick = 0;  // one for all groups, so that what ends later in the prompt leaves first
  for (const nb::handle keys : key_groups) {
    const auto count = nb::len(keys);
    if (count == 0) continue;
    const nb::object last = keys[count - 1];
    PyObject* const number = PyDict_GetItemWithError(request.positions.ptr(), last.ptr());
    if (!number) {
      if (PyErr_Occurred()) nb::raise_python_error();
      continue;  // a key without a position
    }
    ChunkRequest::Line& line = line_of(request, last, tokens_of(number));
    const std::size_t seen = std::min<std::size_t>(tokens_of(number) / line.page, line.keys.size());
    path_.clear(), prints_.clear(), uses.clear();
    std::uint32_t matched = 0;  // chunks
    NodeId hit{};               // the last of them
    Py_ssize_t next = 0;        // key of the group that comes next on the path
    for (std::size_t i = 0; i < seen; ++i) {
      const bool observed = line.keys[i] && next < static_cast<Py_ssize_t>(count) &&
                            bytes_of(nb::object(keys[next])) == bytes_of(line.keys[i]);
      if (observed) ++next;
      const Slot slot = line.keys[i] ? find(line.keys[i]) : 0;
      if (slot == 0) continue;
      if (matched == i && tree().created(slot) < request.tick) ++matched, hit = tree().id(slot);
      if (!observed && next > 0) continue;  // another request was storing it, so this one did not use it
      const int used = PySet_Contains(reused.ptr(), line.keys[i]);
      if (used < 0) nb::raise_python_error();
      path_.push_back(slot);
      uses.push_back(!observed ? ChunkTree::Use::none : used ? ChunkTree::Use::hit : ChunkTree::Use::stored);
    }
    const auto prompt = static_cast<std::uint32_t>(line.keys.size() * line.page);
    for (std::size_t stride = 0; (stride + 1) * kPrintStride <= prompt; ++stride) {
      PyObject* const key = line.keys[chunk_of_stride(stride, line.page)];
      if (!key) break;
      prints_.push_back(stride_print(print_of(bytes_of(key)), stride));
    }
    RequestFacts facts;
    facts.space = session_.space_of(line.group);
    facts.prompt = prompt, facts.matched = matched * line.page;
    facts.prefix_prints = prints_;
    facts.id = line.id;
    facts.ending = Ending::finished;
    if (tick == 0) tick = tree().tick();
    tree().ended(facts, path_, uses, tick);
    if (session_.session().feed()) {
      const std::uint64_t fed = session_.session().begin_request(facts.space, prompt, facts.matched, hit);
      const auto kept = static_cast<std::uint32_t>(path_.size() * line.page);
      session_.session().progress(fed, RequestPhase::finished, prompt, std::min(kept, prompt), prompt);
    }
  }
  if (session_.is_open()) end_operation(Operation::advance);
}

nb::object Chunks::evict(std::size_t count, nb::handle protected_keys) {
  const Busy busy(busy_);
  nb::list gone;
  if (count == 0) return gone;
  if (!session_.is_open()) return nb::none();
  path_.clear();
  for (const nb::handle key : protected_keys)
    if (const Slot slot = find(key)) path_.push_back(slot);
  tree().begin_eviction(path_);
  if (tree().movable() < count) {
    tree().end_eviction();
    return nb::none();
  }
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const Slot slot = tree().evict_one();
      const nb::object key = held_[slot].key;
      forget(slot);
      gone.append(nb::make_tuple(key, nb::borrow(PyDict_GetItem(chunks_.ptr(), key.ptr()))));
      if (PyDict_DelItem(chunks_.ptr(), key.ptr()) != 0) nb::raise_python_error();
    }
    tree().end_eviction();
    end_operation(Operation::evict);
  } catch (...) {
    for (const nb::handle pair : gone) PyDict_SetItem(chunks_.ptr(), pair[0].ptr(), pair[1].ptr());
    throw;
  }
  return gone;
}

void Chunks::clear() {
  const Busy busy(busy_);
  generation_ = next_generation();
  chunks_.clear();
  slots_.clear();
  held_.clear();
  orphans_.clear();
  last_ = nullptr;
  if (!session_.is_open()) return;
  tree().clear();
  end_operation(Operation::flush);
}

void Chunks::poll() {
  if (!busy_) session_.poll();
}

nb::dict Chunks::facts() const {
  nb::dict row;
  const Sizes sizes = session_.is_open() ? tree().sizes(0) : Sizes{};
  row["chunks"] = session_.is_open() ? tree().size() : 0;
  row["movable"] = session_.is_open() ? tree().movable() : 0;
  row["page_size"] = session_.is_open() ? session_.session().page_size() : 0;
  row["evictable"] = sizes.evictable;
  row["protected"] = sizes.protected_;
  return row;
}

}  // namespace canopy::python
