#include <canopy/engine/pool_view.h>

#include "pool.h"

namespace canopy {

const std::string& PoolView::group() const { return pool_->group(); }
const PageNeeds& PoolView::needs() const { return pool_->needs(); }
std::uint64_t PoolView::limit() const { return pool_->limit(); }
Occupancy PoolView::occupancy() const { return pool_->occupancy(); }
std::uint64_t PoolView::offered() const { return pool_->offered(); }
std::uint64_t PoolView::free_pages() const { return pool_->free_pages(); }
std::uint64_t PoolView::growable() const { return pool_->growable(); }
std::uint64_t PoolView::surplus() const { return pool_->surplus(); }
bool PoolView::draining() const { return pool_->draining(); }
bool PoolView::is_out(Page page) const { return pool_->is_out(page); }
std::uint64_t PoolView::longest_run() const { return pool_->longest_run(); }
std::uint64_t PoolView::last_owner(Page page) const { return pool_->last_owner(page); }
std::uint32_t PoolView::segment_pages() const { return pool_->segment_pages(); }
std::span<const PoolSegment> PoolView::segments() const { return pool_->segments(); }
PoolView::HandedOut PoolView::handed_out() const { return pool_->handed_out(); }
std::string PoolView::memory() const { return pool_->memory(); }
std::uint64_t PoolView::refusals() const { return pool_->refusals(); }

}  // namespace canopy
