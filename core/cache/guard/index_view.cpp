#include <canopy/engine/index_view.h>

#include <cache/cache_state.h>
#include "index_port.h"

namespace canopy {

Sizes IndexView::sizes(std::size_t group) const { return state_->index->sizes(group); }
Sizes IndexView::sizes(std::size_t group, NamespaceId space) const {
  return state_->index->call("sizes", [&](const PrefixIndex& index) { return index.sizes(group, space); });
}
IndexUse IndexView::use() const { return state_->index->call("use", &PrefixIndex::use); }
double IndexView::seconds() const { return state_->counters.index_seconds; }
Tick IndexView::now() const { return state_->index->now(); }
Probe IndexView::peek(const Key& key) const { return state_->index->peek(key); }
bool IndexView::visit(NodeVisitor& visitor) const { return state_->index->visit(visitor); }
void IndexView::waiting(std::size_t group, QueueVisitor& visitor) const {
  state_->index->call("waiting", [&](const PrefixIndex& index) { index.waiting(group, visitor); });
}

}  // namespace canopy
