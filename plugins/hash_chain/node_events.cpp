/// The changes of nodes that are sent to IndexEvents. A node there is a prefix, however many blocks it has.
#include "hash_chain.h"

namespace canopy::hash_chain {

void HashChain::report_added(std::uint32_t prefix) const {
  if (!events_ || !events_->wants_nodes()) return;
  const Prefix& added = prefixes_[prefix];
  events_->added({.node = prefixes_.id(prefix),
                  .parent = added.parent,
                  .space = added.space,
                  .length = page_size_,
                  .words = prefixes_.words(prefix).data(),
                  .resident = 1});
}

void HashChain::report_removed(std::uint32_t prefix) const {
  if (events_ && events_->wants_nodes()) events_->removed(prefixes_.id(prefix), false);
}

void HashChain::report_cleared() const {
  if (events_ && events_->wants_nodes()) events_->cleared();
}

}  // namespace canopy::hash_chain
