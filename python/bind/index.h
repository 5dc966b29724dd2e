#pragma once

#include <canopy/engine/index_session.h>
#include <canopy/prefix_index.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "changes.h"
#include "integers.h"
#include "registry.h"

namespace canopy::python {

/// A prefix index of one whole-path group, with what it is told of: namespaces, a policy, a feed. One thread; a call
/// that comes while another one runs (a policy in Python that calls its index) raises RuntimeError.
class Index {
 public:
  struct Settings {
    Units page_size = 1;
    std::optional<std::uint64_t> capacity;
    std::string accounting = "default";
    Units overlap = 0;
    Units slots_a_page = 1;  ///< see slots_a_page()
    bool changes = false;    ///< what comes and goes is kept for take_changes()
    nb::handle policy, feed;
  };
  explicit Index(const Settings& settings);

  /// An operation. While it lives no other one may begin; its end goes to the feed, unless it is Operation::none. What
  /// a policy in Python threw meanwhile is raised by raise_failure() afterwards.
  class Step {
   public:
    Step(Index& index, Operation operation);
    ~Step();
    /// The operation that it turned out to be.
    void becomes(Operation operation) { operation_ = operation; }
    Step(const Step&) = delete;

   private:
    Index& index_;
    Operation operation_;
  };

  NamespaceId space_of(nb::handle space);
  Units page() const { return session_->page_size(); }
  Units overlap() const { return session_->overlap(); }
  /// Numbers that stand for a page towards Python, one after the other: its slots, or one number for the page itself.
  Units slots_a_page() const { return slots_a_page_; }
  PrefixIndex& tree() { return session_->index(); }
  const IndexSession& session() const { return *session_; }
  std::size_t whole_pages(std::size_t tokens) const { return session_->whole_pages(tokens); }
  /// Whether a policy in Python has thrown, and raising it.
  bool failed() const { return policy_.in_python && policy_.in_python->failed(); }
  void raise_failure(const nb::object& result = {}) {
    if (failed()) policy_.in_python->raise_failure(result);
  }

  /// Releases a lock: now, or when the running operation ends, since Python may destroy a hold at any moment.
  void release(const Lock& lock) noexcept;

  void use_policy(nb::handle policy);
  /// See Changes::take. Throws ValueError if they are not kept.
  nb::list take_changes();
  /// Serves an inspector that attached while nothing happened. Does nothing within a call of the index.
  void poll();

  /// Of the pool that the slots are from, for the feed alone. Throws ValueError if more is free than there is.
  void callers_pool(std::uint64_t pages, std::uint64_t free);

  /// A request of the caller's, for the feed alone. 0, and nothing is told, without a feed.
  std::uint64_t request_begun(NamespaceId space, std::uint32_t prompt, std::uint32_t matched);
  /// Counts are tokens. Throws ValueError if there is no such phase; a request that is not known changes nothing.
  void request_progress(std::uint64_t request, const std::string& phase, std::uint32_t computed,
                        std::uint32_t committed, std::uint32_t tokens);

 private:
  Policy policy_;                     // outlives the index
  std::unique_ptr<Changes> changes_;  // outlives the session
  std::unique_ptr<IndexSession> session_;
  Units slots_a_page_ = 1;
  bool busy_ = false;
  std::vector<Lock> late_;  ///< to be released when the running operation ends
};

void bind_index(nb::module_& module);

}  // namespace canopy::python
