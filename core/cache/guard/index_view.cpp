#include <canopy/engine/index_view.h>

#include <exception>

#include <cache/cache_state.h>
#include "index_port.h"

namespace canopy {
namespace {

/// Passes nodes on to a visitor of the caller. The first exception of that visitor ends this; it is not the index's.
class Passed final : public NodeVisitor, public QueueVisitor {
 public:
  explicit Passed(NodeVisitor& to) : nodes_(&to) {}
  explicit Passed(QueueVisitor& to) : queue_(&to) {}
  void node(const NodeView& node) override {
    pass([&] { nodes_->node(node); });
  }
  void waiting(const NodeFacts& node, Rank rank) override {
    pass([&] { queue_->waiting(node, rank); });
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  template <class Call>
  void pass(Call&& call) noexcept {
    if (!thrown_) try {
        call();
      } catch (...) {
        thrown_ = std::current_exception();
      }
  }
  NodeVisitor* nodes_ = nullptr;
  QueueVisitor* queue_ = nullptr;
  std::exception_ptr thrown_;
};

}  // namespace

Sizes IndexView::sizes(std::size_t group) const { return state_->index->sizes(group); }
Sizes IndexView::sizes(std::size_t group, NamespaceId space) const {
  return state_->index->call("sizes", [&](const PrefixIndex& index) { return index.sizes(group, space); });
}
IndexUse IndexView::use() const { return state_->index->call("use", &PrefixIndex::use); }
double IndexView::seconds() const { return state_->counters.index_seconds; }
Tick IndexView::now() const { return state_->index->now(); }
Probe IndexView::peek(const Key& key) const { return state_->index->peek(key); }
bool IndexView::visit(NodeVisitor& visitor) const {
  Passed passed(visitor);
  const bool ended = state_->index->visit(passed);
  passed.rethrow();
  return ended;
}
bool IndexView::waiting(std::size_t group, QueueVisitor& visitor) const {
  Passed passed(visitor);
  const bool ended = state_->index->done("waiting", [&](const PrefixIndex& index) { index.waiting(group, passed); });
  passed.rethrow();
  return ended;
}

}  // namespace canopy
