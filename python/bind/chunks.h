#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chunk_session.h"

namespace canopy::python {

namespace nb = nanobind;

/// A request of vLLM, kept in its context: the keys of its chunks in the order of its prompt.
struct ChunkRequest {
  /// The keys of one KV cache group. They are borrowed from the context's dictionary of positions.
  struct Line {
    std::uint32_t group = 0;
    Units page = 0;                 ///< tokens of a chunk
    std::vector<PyObject*> keys;    ///< null: not known
    std::uint64_t id = 0, fed = 0;  ///< its numbers for the policy and for the feed
  };
  std::uint64_t owner = 0;  ///< Chunks::generation_
  nb::object positions;     ///< dictionary: key -> tokens up to the end of its chunk
  Py_ssize_t read = 0;      ///< place in the dictionary up to which it was read
  Tick tick = 0;            ///< time of its first access
  std::vector<Line> lines;
};

/// The CPU tier of vLLM: its chunks by key, and their order of eviction. Its functions are those of vLLM's CachePolicy,
/// and the objects that they are given are vLLM's: keys are bytes (hash, then 4 bytes with the group's number), a chunk
/// has ref_cnt and chunk_id, a context has get_state, set_state and _offload_key_positions.
///
/// An error of an argument raises an exception and changes nothing, except in evict(), which never leaves a chunk
/// between the dictionary and its result.
class Chunks {
 public:
  /// `capacity`: chunks. `feed`: a name; empty: none. `tokens`: the tokens of a chunk, by KV cache group; a group that
  /// is not there has chunks as long as the first key of each request says.
  Chunks(std::uint64_t capacity, nb::handle policy, const std::string& feed, const nb::dict& tokens);

  nb::dict chunks() const { return chunks_; }
  const std::string& policy() const { return session_.policy(); }
  const std::string& feed() const { return session_.feed(); }
  /// Returns the error of the policy or of the feed that was not returned before; empty if there is none. A policy that
  /// failed is replaced by lru.
  std::string take_failure() { return session_.take_failure(); }

  void accessed(nb::handle keys, nb::handle context);
  void insert(nb::handle key, nb::handle chunk, nb::handle context);
  void remove(nb::handle key);
  void pin(nb::handle key);
  void unpin(nb::handle key);
  void finished(nb::handle key_groups, nb::handle reused, nb::handle context);
  nb::object evict(std::size_t count, nb::handle protected_keys);
  void clear();
  void poll();
  nb::dict facts() const;

 private:
  using Slot = ChunkTree::Slot;
  struct KeyHash {
    std::size_t operator()(std::string_view key) const;
  };

  struct Held {
    nb::object key;
    nb::object before;  ///< key of its parent while that is not here
  };

  Slot find(nb::handle key) const;
  ChunkRequest& request_of(nb::handle context);
  void read_positions(ChunkRequest& request);
  ChunkRequest::Line& line_of(ChunkRequest& request, nb::handle key, Units position);
  void open(std::uint32_t group, Units page);
  Units tokens_of_group(std::uint32_t group, Units otherwise) const;
  void forget(Slot slot);
  void wait_for(nb::handle key, Slot slot);
  void adopt_orphans(Slot parent);
  void end_operation(Operation operation);
  ChunkTree& tree() const { return session_.tree(); }

  ChunkSession session_;                             ///< opened by the first request, whose chunks have a length
  std::unordered_map<std::uint32_t, Units> tokens_;  ///< tokens of a chunk, by group
  std::uint32_t opened_by_ = 0;                      ///< the group whose chunks have the session's page size
  std::uint64_t generation_;
  std::uint64_t last_request_ = 0;
  nb::dict chunks_;
  std::unordered_map<std::string_view, Slot, KeyHash> slots_;         ///< views of the keys in held_
  std::vector<Held> held_;                                            ///< by slot
  std::unordered_multimap<std::string_view, Slot, KeyHash> orphans_;  ///< by Held::before
  nb::object last_object_;  ///< request of the last call; it refers to no context, so that there is no cycle
  ChunkRequest* last_ = nullptr;
  bool busy_ = false;
  std::vector<Slot> path_;
  std::vector<std::uint64_t> prints_;
};

void bind_chunks(nb::module_& module);

}  // namespace canopy::python
