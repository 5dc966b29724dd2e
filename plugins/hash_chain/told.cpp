/// What HashChain tells a TreeListener. A node there is a prefix, however many blocks it has.
#include <canopy/feed/writer.h>

#include "hash_chain.h"

namespace canopy::hash_chain {

void HashChain::tell_added(std::uint32_t prefix) const {
  TreeListener* const listener = feed_ ? feed_->listener() : nullptr;
  if (!listener) return;
  const Prefix& told = prefixes_[prefix];
  listener->added({prefixes_.id(prefix), told.parent, page_size_, told.space, 1, 0}, prefixes_.words(prefix).data());
}

void HashChain::tell_removed(std::uint32_t prefix) const {
  if (TreeListener* const listener = feed_ ? feed_->listener() : nullptr)
    listener->removed({prefixes_.id(prefix), false});
}

void HashChain::tell_cleared() const {
  if (TreeListener* const listener = feed_ ? feed_->listener() : nullptr) listener->cleared({});
}

}  // namespace canopy::hash_chain
