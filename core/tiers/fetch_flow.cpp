// A fetch is in the list of its stage: `reading_`, `copying_` or `arrived_`. A fetch that has ended is in none of them,
// and has neither a request nor a lock. `copying_` is in the order in which the copies end, so turn() looks only at its
// front.

#include "fetch_flow.h"

#include <algorithm>
#include <new>
#include <utility>

namespace canopy {

FetchFlow::~FetchFlow() {
  for (const auto& fetch : reading_) end(*fetch);
  for (const auto& fetch : copying_) end(*fetch);
  while (!arrived_.empty()) end(*std::shared_ptr(arrived_.back()));
}

std::shared_ptr<FetchState> FetchFlow::fetch(const RequestSpec& spec) {
  if (stopped_ || requests_.refuses(spec, "Tiers::fetch")) return nullptr;
  auto [key, facts] = requests_.arrival(spec, tier_.pages().prints_wanted());
  const Units here = device_.index->peek(key).length;
  const Lock found = look_up(key, facts);
  if (storage_ && !tier_.has_old_pages(spec.space)) {
    if (auto fetch = waits_for_storage(spec, key)) {
      ++device_.tiers.at(Counter::fetches, FetchOutcome::joined);
      return fetch;
    }
    if (auto read = storage_->reader().begin(key, found, std::max(here, found.length), facts.priority))
      return wait_for(std::move(read), spec, here);
  }
  return load(spec, key, here, found.length, nullptr);
}

/// Copies from the host tier, which has `there` units of the key, to the pools, which have `here`.
/// `waiting`: the fetch that waited for it. May be null (it begins now). Returns null if there is nothing to copy.
std::shared_ptr<FetchState> FetchFlow::load(const RequestSpec& spec, const Key& key, Units here, Units there,
                                            std::shared_ptr<FetchState> waiting) {
  std::shared_ptr<FetchState> fetch;
  FetchOutcome outcome = FetchOutcome::nothing;
  if (there > here && !tier_.has_old_pages(spec.space)) {
    // A fetch cannot take over the handles of another one: after waiting for the storage it makes its own copy.
    if (!waiting) fetch = copying(spec, there);
    outcome = fetch ? FetchOutcome::joined : worth(here, there) ? FetchOutcome::no_room : FetchOutcome::not_worth;
    if (outcome == FetchOutcome::no_room) {
      fetch = waiting ? std::move(waiting) : std::make_shared<FetchState>();
      if (begin(fetch, spec, key, there)) outcome = fetch->until < there ? FetchOutcome::cut : FetchOutcome::whole;
      else fetch = nullptr;
    }
  }
  ++device_.tiers.at(Counter::fetches, outcome);
  tier_.pages().end_operation(Operation::begin);
  return fetch;
}

/// Returns a fetch that waits for the storage, of the same prompt or of a longer one whose read is of use for this one,
/// too. May be null (none).
std::shared_ptr<FetchState> FetchFlow::waits_for_storage(const RequestSpec& spec, const Key& key) const {
  for (const auto& fetch : reading_)
    if (fetch->spec.space == spec.space && fetch->prompt.size() >= spec.prompt.size() &&
        fetch->spec.min_uncached <= spec.min_uncached && !fetch->read->unwanted &&
        storage_->reader().serves(*fetch->read, key) &&
        std::equal(spec.prompt.begin(), spec.prompt.end(), fetch->prompt.begin()))
      return fetch;
  return nullptr;
}

std::shared_ptr<FetchState> FetchFlow::wait_for(std::shared_ptr<StorageRead> read, const RequestSpec& spec,
                                                Units here) {
  auto fetch = std::make_shared<FetchState>();
  fetch->flow = this;
  fetch->stage = FetchState::Stage::reading;
  fetch->read = std::move(read);
  fetch->prompt.assign(spec.prompt.begin(), spec.prompt.end());
  fetch->spec = spec;
  fetch->spec.prompt = fetch->prompt;
  fetch->spec.priority = RequestFlow::priority_of(spec);
  fetch->spec.retention = {};  // the caller's; the priority is what it has to say here
  fetch->from = fetch->until = here;
  fetch->called_us = tier_.now_us();
  reading_.push_back(fetch);
  tier_.pages().end_operation(Operation::begin);
  return fetch;
}

/// Returns true if the storage takes longer than computing what it may bring. The request then uses what the host tier
/// has.
bool FetchFlow::abandoned(const FetchState& fetch) const {
  const StorageRead& read = *fetch.read;
  if (read.done() || !prefetch_.weighs()) return false;
  const Units page = device_.page_size, from = static_cast<Units>(read.first) * page,
              until = static_cast<Units>(read.end) * page;
  return tier_.now_us() - fetch.called_us >= prefetch_.costs().allowed_us(from, until - from);
}

/// Continues, from the host tier, the fetches whose storage step has ended.
void FetchFlow::continue_after_reads() {
  for (std::size_t i = 0; i < reading_.size();) {
    if (reading_[i]->read->instead) reading_[i]->read = reading_[i]->read->instead;
    const bool without = abandoned(*reading_[i]);
    device_.tiers[Counter::abandoned_fetches_storage] += without;
    if (!reading_[i]->read->done() && !without) {
      ++i;
      continue;
    }
    auto fetch = std::move(reading_[i]);
    reading_.erase(reading_.begin() + static_cast<std::ptrdiff_t>(i));
    continue_after_read(std::move(fetch));
  }
}

void FetchFlow::continue_after_read(std::shared_ptr<FetchState> fetch) noexcept {
  if (fetch->handles > 0 && !stopped_) try {
      const auto [key, facts] = requests_.arrival(fetch->spec, false);
      const Units here = device_.index->peek(key).length;
      Found found;
      {
        const IndexTimer timer(tier_.state());
        found = tier_.state().index->find(key);
      }
      if (load(fetch->spec, key, here, found.length, fetch)) return;
    } catch (const std::bad_alloc&) {  // it brings nothing
      ++device_.lacked;
    }
  fetch->ends_us = tier_.now_us();
  end(*fetch);
}

/// Matches a prefix below, as any request does, so that it stays recent there while the pools serve it.
Lock FetchFlow::look_up(const Key& key, RequestFacts& facts) {
  Lock found;
  {
    const IndexTimer timer(tier_.state());
    found = tier_.state().index->match(key, facts);
  }
  facts.matched = found.length;
  facts.ending = Ending::finished;
  tier_.pages().release(found, key.space, &facts);
  return found;
}

void FetchFlow::touch(const RequestSpec& spec) {
  auto [key, facts] = requests_.arrival(spec, tier_.pages().prints_wanted());
  look_up(key, facts);
  tier_.pages().end_operation(Operation::begin);
}

/// Returns a copying fetch that brings the same prefix. May be null (none).
std::shared_ptr<FetchState> FetchFlow::copying(const RequestSpec& spec, Units units) const {
  const auto words = static_cast<std::ptrdiff_t>(units + device_.overlap);
  for (const auto& fetch : copying_)
    if (fetch->request->space == spec.space && fetch->until >= units &&
        std::equal(spec.prompt.begin(), spec.prompt.begin() + words, fetch->request->tokens.begin()))
      return fetch;
  return nullptr;
}

/// Takes pages for what the pools lack of a prefix, and begins to fill them. If it returns false the fetch holds
/// nothing: there is no room or no memory, or a store cannot copy.
bool FetchFlow::begin(const std::shared_ptr<FetchState>& fetch, const RequestSpec& spec, const Key& key,
                      Units there) noexcept {
  fetch->flow = this;
  fetch->stage = FetchState::Stage::copying;
  fetch->spec.space = spec.space;
  bool begun = false;
  try {
    copying_.push_back(fetch);  // takes its memory before the pages
    try {
      arrived_.reserve(arrived_.size() + copying_.size());
      begun = begin_copy(*fetch, spec, key, there);
    } catch (const std::bad_alloc&) {
      ++device_.lacked;
    }
    if (!begun) copying_.pop_back();
  } catch (const std::bad_alloc&) {
    ++device_.lacked;
  }
  if (!begun) {
    fetch->until = fetch->from;
    end(*fetch);
  }
  return begun;
}

bool FetchFlow::begin_copy(FetchState& fetch, const RequestSpec& spec, const Key& key, Units there) {
  fetch.source = tier_.begin_reading(key, there);
  if (fetch.source.length == 0) return false;
  fetch.request = requests_.begin_fetch(spec, fetch.source.length);
  fetch.from = fetch.request->lock.length;
  // Copied, since making room above may call the index below.
  const GroupPages below = tier_.state().index->pages(fetch.source, std::min(fetch.from, fetch.source.length));
  for (std::size_t g = 0; g < device_.pools.size(); ++g) from_[g].assign(below[g].begin(), below[g].end());
  const std::size_t pages = requests_.reserve_fetch(*fetch.request, from_);
  fetch.until = fetch.from + static_cast<Units>(pages) * device_.page_size;
  if (pages == 0 || !worth(fetch.from, fetch.until)) return false;
  for (std::size_t g = 0; g < device_.pools.size(); ++g) {
    const std::vector<Page>& row = fetch.request->rows[g];
    to_[g].clear();
    for (std::size_t i = 0; i < pages; ++i)
      if (from_[g][i] != 0) to_[g].push_back(row[fetch.from / device_.page_size + i]);
    from_[g].resize(pages);
    std::erase(from_[g], Page{0});
  }
  const std::uint64_t loaded = device_.tiers[Counter::loaded_bytes_host];
  if (!tier_.load(from_, to_, fetch.copies, fetch.ends_us)) return false;
  fetch.bytes = device_.tiers[Counter::loaded_bytes_host] - loaded;
  tier_.count_copy(HostLane::load, fetch.bytes, true);
  device_.tiers[Counter::loaded_tokens_host] += fetch.until - fetch.from;
  pages_.digest().take(Digest::Step::fetch, fetch.from, fetch.until, fetch.ends_us);
  pages_.end_operation(Operation::reserve);
  return true;
}

bool FetchFlow::worth(Units from, Units until) const {
  return until > from && prefetch_.costs().worth(tier_.load_us(until - from), from, until - from);
}

/// Returns the time of the first turn after `ends_us`, if turns are `again_us` apart.
std::uint64_t FetchFlow::seen_us(std::uint64_t ends_us, std::uint64_t again_us) const {
  const std::uint64_t now_us = tier_.now_us();
  if (again_us == 0 || ends_us <= now_us) return ends_us;
  return now_us + (ends_us - now_us + again_us - 1) / again_us * again_us;
}

std::uint64_t FetchFlow::begins_us(const FetchState& fetch, Units usable, std::uint64_t called_us,
                                   std::uint64_t again_us) const {
  Awaited awaited{fetch.from, 0, called_us, ends_us(fetch), true};
  Units until = fetch.until;
  if (fetch.stage == FetchState::Stage::reading) {
    const StorageRead& read = *fetch.read;
    until = static_cast<Units>(read.end) * device_.page_size;
    awaited.is_question = read.stage < StorageRead::Stage::reading;
    const auto brought_us = read.done() ? tier_.now_us() : storage_->reader().ends_us(read);
    awaited.end_is_known = brought_us.has_value();
    const Units loads = awaited.is_question ? 0 : until - std::min(until, fetch.from);
    // The turn that processes the end of the first step begins the second.
    const std::uint64_t load_us = loads > 0 ? std::max(tier_.load_us(loads), again_us) : 0;
    if (brought_us) awaited.ends_us = seen_us(*brought_us, again_us) + load_us;
  }
  awaited.count = std::min(until, usable) - std::min({until, usable, fetch.from});
  awaited.ends_us = std::max(awaited.ends_us, tier_.now_us() + 1);  // it has not arrived yet
  return prefetch_.begins_us(awaited, tier_.now_us(), again_us);
}

void FetchFlow::turn() {
  continue_after_reads();
  while (!copying_.empty() && copying_.front()->ends_us <= tier_.now_us()) {
    const auto fetch = std::move(copying_.front());
    copying_.pop_front();
    arrive(fetch);
  }
  if (!std::exchange(dropped_, false)) return;
  for (std::size_t i = arrived_.size(); i-- > 0;)
    if (const auto fetch = arrived_[i]; fetch->handles == 0) end(*fetch);
}

/// Completes a fetch: its pages become the index's, unless its namespace was flushed since it began, or a store failed.
/// The request stays, and holds them for its handles.
void FetchFlow::arrive(const std::shared_ptr<FetchState>& arrived) noexcept {
  FetchState& fetch = *arrived;
  const bool loaded = tier_.has_loaded(fetch.copies);
  fetch.stage = FetchState::Stage::arrived;
  tier_.count_copy(HostLane::load, fetch.bytes, false);
  if (!loaded || tier_.has_old_pages(fetch.spec.space) || !requests_.commit_fetch(*fetch.request, fetch.until))
    fetch.until = fetch.from;
  tier_.end_reading(std::exchange(fetch.source, Lock{}), fetch.spec.space);
  tier_.pages().end_operation(Operation::release);
  if (fetch.handles > 0 && fetch.until > fetch.from) arrived_.push_back(arrived);
  else end(fetch);
}

void FetchFlow::credit(FetchState& fetch, Units matched, std::uint64_t took_us) {
  fetch.begun = true;
  if (fetch.done() && fetch.until == fetch.from) return;  // nothing arrived
  ++device_.tiers.at(Counter::fetch_ends, fetch.done() ? FetchEnd::used : FetchEnd::late);
  device_.tiers[Counter::fetch_took_us] += took_us;
  if (!fetch.done() || std::exchange(fetch.credited, true)) return;
  const Units end = std::min(std::max(matched, fetch.from), fetch.until);
  Units stored = 0;
  if (fetch.read) {
    const Units from = std::max(fetch.read->from, fetch.from), until = std::min(fetch.read->until, end);
    stored = until > from ? until - from : 0;
  }
  device_.tiers[Counter::hit_tokens_storage] += stored;
  device_.tiers[Counter::hit_tokens_host] += end - fetch.from - stored;
  device_.tiers[Counter::fetch_saved_us] += prefetch_.costs().recompute_us(fetch.from, end - fetch.from);
}

std::uint64_t FetchFlow::next_us() const {
  const bool now = std::ranges::any_of(reading_, [](const auto& fetch) { return fetch->read->done(); });
  return now ? tier_.now_us() : copying_.empty() ? kUnlimited : copying_.front()->ends_us;
}

std::uint64_t FetchFlow::ends_us(const FetchState& fetch) const {
  if (fetch.stage != FetchState::Stage::reading) return fetch.ends_us;
  if (fetch.read->done()) return tier_.now_us();  // nothing had to be read: the next turn goes on
  if (storage_->in_real_time()) return storage_->next_us();
  return fetch.read->open > 0 ? fetch.read->ends_us : std::max(tier_.next_us(), tier_.now_us());
}

void FetchFlow::drop(FetchState& fetch) {
  if (fetch.done()) end(fetch);  // else its copy ends first
}

/// Releases everything that a fetch holds.
void FetchFlow::end(FetchState& fetch) {
  fetch.stage = FetchState::Stage::ended;
  std::erase_if(arrived_, [&](const auto& one) { return one.get() == &fetch; });
  if (fetch.request && !fetch.begun && fetch.until > fetch.from)
    ++device_.tiers.at(Counter::fetch_ends, FetchEnd::unused);
  tier_.end_reading(std::exchange(fetch.source, Lock{}), fetch.spec.space);
  if (RequestState* const request = std::exchange(fetch.request, nullptr)) requests_.end_fetch(*request);
}

}  // namespace canopy
