#pragma once

#include <canopy/engine/given_up.h>
#include <canopy/engine/index_session.h>
#include <canopy/prefix_index.h>
#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "changes.h"
#include "integers.h"
#include "registry.h"

namespace canopy::python {

/// A prefix index of a whole-path group, with its namespaces, its policy and its feed. GroupIndex has more groups. For
/// one thread. A call during another one (a policy in Python that calls its index) raises RuntimeError.
class Index {
 public:
  struct Settings {
    Units page_size = 1;
    std::optional<std::uint64_t> capacity;
    std::string accounting = "default";
    Units overlap = 0;
    Units slots_a_page = 1;  ///< see slots_a_page()
    bool changes = false;    ///< true if changes are recorded for take_changes()
    nb::handle policy, feed;
    nb::handle on_policy_failure;                   ///< see raise_failure(); null or None: exceptions are raised
    std::vector<IndexSession::Reach> reaches = {};  ///< their policies are lru
  };
  explicit Index(const Settings& settings);

  /// An operation. During its lifetime no other one may begin; its end goes to the feed, unless it is Operation::none.
  /// An exception of a policy in Python during it is raised by raise_failure() afterwards.
  class Step {
   public:
    Step(Index& index, Operation operation);
    ~Step() { index_.end(operation_); }
    /// Changes the kind of the operation, which may become known only during it.
    void becomes(Operation operation) { operation_ = operation; }
    Step(const Step&) = delete;

   private:
    Index& index_;
    Operation operation_;
  };

  /// A namespace that keeps its number as long as this object, and copies of it, exist.
  class SpaceUse {
   public:
    SpaceUse(Index& index, NamespaceId space) noexcept : index_(&index), space_(space) { ++index_->uses(space_); }
    SpaceUse(const SpaceUse& other) noexcept : SpaceUse(*other.index_, other.space_) {}
    SpaceUse& operator=(const SpaceUse& other) noexcept {
      ++other.index_->uses(other.space_);
      --index_->uses(space_);
      index_ = other.index_, space_ = other.space_;
      return *this;
    }
    ~SpaceUse() { --index_->uses(space_); }
    operator NamespaceId() const { return space_; }

   private:
    Index* index_;
    NamespaceId space_;
  };
  /// Returns a namespace, which is made if it is new: only for what may be kept in it, because it costs memory.
  SpaceUse intern(nb::handle space);
  /// Returns a namespace; nothing if there is none, and so nothing in it.
  std::optional<SpaceUse> find(nb::handle space);
  Units page() const { return session_->page_size(); }
  Units overlap() const { return session_->overlap(); }
  /// Returns how many consecutive numbers stand for a page in Python: its slots, or 1 for the page itself.
  Units slots_a_page() const { return slots_a_page_; }
  PrefixIndex& tree() { return session_->index(); }
  const IndexSession& session() const { return *session_; }
  std::size_t whole_pages(std::size_t tokens) const { return session_->whole_pages(tokens); }
  /// Returns true if a policy in Python has thrown; raise_failure() raises its exception.
  bool failed() const { return policy_.in_python && policy_.in_python->failed(); }
  /// Raises the exception of the policy, with `result` as its `canopy_result`. With on_policy_failure, what is an
  /// Exception is not raised: lru takes over, and the callable gets a text.
  void raise_failure(const nb::object& result = {});

  /// Makes room for a lock that release() may have to keep. Called once for each hold, before it has a lock.
  void add_hold() {
    if (late_.capacity() == holds_) late_.reserve(2 * holds_ + 8);
    ++holds_;
  }
  void drop_hold() noexcept { --holds_; }
  /// Releases a lock now or, because Python may destroy a hold at any moment, when the running operation ends. Pages
  /// that leave the index with it are kept in left(). REQUIRES: add_hold().
  void release(const Lock& lock) noexcept;
  /// Returns the pages that have left the index and that the caller has not got yet, per group: those that releases
  /// have freed (only in groups with a reach), and those of calls whose result had no memory.
  using Left = std::array<GivenUp, kMaxGroups>;
  Left& left() { return left_; }
  /// Makes room in left() for all pages of the index, and so many that it gets now.
  void make_room(std::size_t pages);
  /// Puts pages that the index gives up into left().
  void keep(const GroupPages& pages) noexcept {
    for (std::size_t g = 0; g < groups_; ++g) left_[g].keep(pages[g]);
  }
  std::size_t groups() const { return groups_; }
  /// Throws TypeError if the index has groups with a reach.
  void need_one_group() const;

  void use_policy(nb::handle policy);
  /// Returns Changes::take(). Throws ValueError if changes are not recorded.
  nb::list take_changes();
  /// Serves an inspector that attached while there were no calls. Does nothing during a call of the index.
  void poll();

  /// Sets the size of the caller's pool and its free pages, only for the feed. Throws ValueError if more pages are free
  /// than there are.
  void callers_pool(std::uint64_t pages, std::uint64_t free);

  /// Records a request of the caller, only for the feed. Returns its number; 0 without a feed.
  std::uint64_t request_begun(NamespaceId space, std::uint32_t prompt, std::uint32_t matched, NodeId node);
  /// Records the progress of a request, in tokens. Throws ValueError if there is no such phase; an unknown request
  /// changes nothing.
  void request_progress(std::uint64_t request, const std::string& phase, std::uint32_t computed,
                        std::uint32_t committed, std::uint32_t tokens);
  /// Lets the next insert be the work of a request, which then has so many tokens. The feed gets both as one operation:
  /// its readers find the reason of the request's miss in what the insert adds.
  void request_inserts(std::uint64_t request, std::uint32_t computed, std::uint32_t committed, std::uint32_t tokens) {
    inserter_ = {request, computed, committed, tokens};
  }

 private:
  static constexpr std::size_t kFewSpaces = 1024;
  struct Inserter {
    std::uint64_t request;
    std::uint32_t computed, committed, tokens;
  };

  std::uint32_t& uses(NamespaceId space) noexcept { return uses_[static_cast<std::size_t>(space)]; }
  void forget_spaces();
  void end(Operation operation) noexcept;
  void publish(Operation operation) noexcept;

  Policy policy_;                     // outlives the index
  Policy lru_;                        // in place of one in Python that raises, with on_policy_failure
  std::unique_ptr<Changes> changes_;  // outlives the session
  std::unique_ptr<IndexSession> session_;
  Units slots_a_page_ = 1;
  bool busy_ = false;
  std::size_t groups_ = 1;
  Left left_;
  std::vector<Lock> late_;                 ///< locks to release when the running operation ends; has room for all holds
  std::size_t holds_ = 0;                  ///< that exist, released or not
  std::vector<std::uint32_t> uses_ = {0};  ///< SpaceUses, by namespace
  std::size_t forget_at_ = kFewSpaces;     ///< namespaces at which those that nothing needs are forgotten
  nb::object on_policy_failure_;           ///< null: exceptions of the policy are raised
  std::optional<Inserter> inserter_;       ///< the request whose work the next insert is
};

void bind_index(nb::module_& module);

}  // namespace canopy::python
