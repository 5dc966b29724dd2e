#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>
#include <canopy/eviction_strategy.h>
#include <canopy/feed/sink.h>
#include <canopy/prefix_index.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace canopy {

struct Space;

/// A prefix index for a server that keeps its pools and requests itself: the index of a whole-path group and of groups
/// with a reach, its namespaces, and a feed or a listener that follows both. The caller calls the index, and
/// end_operation() after each of its own operations.
///
/// Thread: one. Exceptions of the index reach the caller, since there is no ledger.
class IndexSession {
 public:
  /// A group beside the whole-path group: a window, or recurrent states. The fields are those of Group.
  struct Reach {
    std::string name = {};
    Units reach = 1;
    std::uint64_t capacity = kUnlimited;
    std::uint32_t max_per_path = 0;
    std::shared_ptr<EvictionStrategy> policy = {};
    std::string policy_name = {};
  };
  struct Config {
    Units page_size = 1, overlap = 0;
    std::uint64_t capacity = kUnlimited;  ///< Tokens that the caller's pool may hold, for policies.
    std::string index = "radix", options = {};
    std::shared_ptr<EvictionStrategy> policy = {};
    std::string policy_name = {};
    std::vector<Reach> reaches = {};  ///< Groups from number 1 on. Each has a policy of its own.
    FeedConfig feed = {};
    std::string text = {};  ///< Text of the configuration for readers of the feed.
  };
  /// Opens a session. `listener` may be null (only the feed follows the tree). REQUIRES: a policy; `listener` outlives
  /// the session.
  static Result<std::unique_ptr<IndexSession>> open(Config config, const Registry& registry,
                                                    TreeListener* listener = nullptr);
  ~IndexSession();
  IndexSession(const IndexSession&) = delete;

  PrefixIndex& index() const;
  Units page_size() const;
  Units overlap() const;
  /// Returns the number of whole pages of units in a prompt of `tokens` tokens.
  std::size_t whole_pages(std::size_t tokens) const;
  const std::string& policy() const;
  /// Replaces the policy. Returns an error that begins with the name, and changes nothing, if the index cannot evict in
  /// its order.
  Result<std::monostate> use_policy(std::shared_ptr<EvictionStrategy> policy, std::string_view name);

  /// Returns the id of a namespace. Sets `is_new` to true if the namespace was unknown.
  NamespaceId intern(const Space& space, bool& is_new);
  /// Returns the id of a namespace; nothing if it was never interned, or was forgotten.
  std::optional<NamespaceId> find(const Space& space) const;
  /// Returns the number of namespaces.
  std::size_t spaces() const;
  /// Forgets the namespaces that have no nodes and of which `in_use` returns false: their ids may be those of others
  /// later. With a feed it does nothing, because readers sum by namespace. REQUIRES: the caller has no id of such a
  /// namespace any longer.
  void forget_spaces(const std::function<bool(NamespaceId)>& in_use);
  const std::string& name_of(NamespaceId space) const;

  /// Counts an operation of the caller and publishes it.
  void end_operation(Operation operation);
  /// Serves readers that attached between operations.
  void poll();

  /// Returns the feed, for a reader in this process. May be null (no feed).
  FeedSink* feed() const;

  // The functions below only write to the feed, as part of the next operation to end. Without a feed they do nothing.
  /// Sets the size of the caller's pool in pages. Returns false if nothing changed.
  bool set_pool(std::uint64_t pages, std::uint64_t free);
  /// Records a request that runs, and returns its number: readers count it from now on. Counts are tokens. `node`:
  /// where its match ended; 0: not known.
  std::uint64_t begin_request(NamespaceId space, std::uint32_t prompt, std::uint32_t matched, NodeId node = {});
  /// Records the progress of a request. Returns false if there is no such request. `finished` and `aborted` end it.
  bool progress(std::uint64_t request, RequestPhase phase, std::uint32_t computed, std::uint32_t committed,
                std::uint32_t tokens);

 private:
  struct Impl;
  explicit IndexSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy
