#include "chunk_session.h"

#include <utility>

#include "feed_exit.h"
#include "hold.h"

extern "C" const CanopyPlugin canopy_plugin_;  // in chunk_tree.cpp

namespace canopy::python {

namespace {

/// Returns the registry with the one index that this class uses. Configurations do not see it.
const Registry& own_registry() {
  static const Registry& own = *[] {
    auto* const made = new Registry;
    made->add(canopy_plugin_, "chunks");
    return made;
  }();
  return own;
}

}  // namespace

ChunkSession::ChunkSession(std::uint64_t capacity, nb::handle policy, const std::string& feed, std::string text)
    : capacity_(capacity), policy_(make_policy(policy)), feed_(feed), text_(std::move(text)) {
  if (feed.empty()) return;
  if (const std::string flaw = flaw_of_name({FeedConfig::Kind::shm, feed}); !flaw.empty())
    throw nb::value_error(("the feed's name" + flaw).c_str());
}

void ChunkSession::open(Units page) {
  session_.reset(), tree_ = nullptr;  // its feed has the name
  spaces_.clear();
  IndexSession::Config config;
  config.page_size = page;
  config.capacity = capacity_ * page;
  config.index = "chunks";
  config.policy = policy_.strategy;
  config.policy_name = policy_.name;
  config.text = text_;
  if (!feed_.empty()) config.feed = {FeedConfig::Kind::shm, feed_};
  auto made = IndexSession::open(config, own_registry());
  if (!made && !feed_.empty()) {
    failure_ = "no feed: " + made.error().text;
    feed_.clear();
    config.feed = {};
    made = IndexSession::open(std::move(config), own_registry());
  }
  session_ = take(std::move(made));
  remove_at_exit({feed_.empty() ? FeedConfig::Kind::off : FeedConfig::Kind::shm, feed_});
  tree_ = &static_cast<ChunkTree&>(session_->index());
}

NamespaceId ChunkSession::space_of(std::uint32_t group) {
  if (group >= spaces_.size()) spaces_.resize(group + 1, NamespaceId::shared);
  if (group == 0 || spaces_[group] != NamespaceId::shared) return spaces_[group];
  bool is_new = false;
  const std::string name = "group " + std::to_string(group);
  return spaces_[group] = session_->intern({name, {}, {}}, is_new);
}

void ChunkSession::end_operation(Operation operation, std::uint64_t free) {
  tree_->report_moves();
  if (session_->feed()) session_->set_pool(capacity_, free);
  session_->end_operation(operation);
}

std::string ChunkSession::take_failure() {
  std::string text = std::exchange(failure_, {});
  if (!text.empty() || !tree_) return text;
  if (policy_.in_python && policy_.in_python->failed()) {
    text = "the policy '" + policy_.name + "' raised " + policy_.in_python->take_failure();
  } else if (!tree_->failure().empty()) {
    text = "the policy '" + policy_.name + "' failed: " + tree_->failure();
  }
  if (text.empty()) return text;
  Policy plain = make_policy(nb::str("lru"));
  take(session_->use_policy(plain.strategy, plain.name));
  std::swap(policy_, plain);
  return text + "; chunks leave in the order of lru from now on";
}

void ChunkSession::poll() {
  if (!session_) return;
  tree_->report_moves();  // a keyframe publishes what the operations before it have left
  session_->poll();
}

}  // namespace canopy::python
