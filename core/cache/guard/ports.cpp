#include "ports.h"

#include <canopy/base/random.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace canopy {

Occupancy AllocatorPort::possible(Occupancy reported) const {
  wrong("occupancy",
        Sentence("it says {} of {} pages are free, but {} were offered", reported.free, reported.capacity, offered_));
  return {offered_, std::min(reported.free, offered_)};
}

std::uint32_t AllocatorPort::out(Segment segment) const {
  const std::uint32_t out = read("use", &SlotAllocator::use, segment).out;
  if (out <= segment.pages) return out;
  wrong("use", Sentence("it says {} pages of {} are out", out, segment.pages));
  return segment.pages;
}

std::span<const std::uint32_t> CodecPort::encode(std::span<const Token> tokens, KeyWords& known) const {
  if (tokens.size() > known.known_) {
    const std::span<const Token> more = tokens.subspan(known.known_);
    const std::span<const std::uint32_t> words = make(more, known);
    if (words.data() == tokens.data()) return words;
    const std::span<std::uint32_t> room = known.words(more.size());
    if (words.data() != room.data()) std::ranges::copy(words, room.begin());
    known.known_ += more.size();
  }
  return std::span<const std::uint32_t>(known.room_).first(tokens.size());
}

std::span<const std::uint32_t> CodecPort::make(std::span<const Token> tokens, KeyWords& known) const {
  const auto words = call("encode", [&](const KeyCodec& codec) -> std::span<const std::uint32_t> {
    try {
      return codec.encode(tokens, known);
    } catch (const std::bad_alloc&) {
      if (!known.lacks_) throw;
      return {};
    }
  });
  if (std::exchange(known.lacks_, false)) throw std::bad_alloc();  // the system's fault, not the codec's
  const bool there = has_address(words);
  if (words.size() == tokens.size() && there) return words;
  wrong("encode",
        there ? Sentence("it gave {} words for {} tokens; these tokens are not reused", words.size(), tokens.size())
              : Sentence("it gave words without an address for {} tokens; these tokens are not reused", tokens.size()));
  // No other process that shares a storage makes the same ones.
  if (made_ == 0) made_ = std::uint64_t{std::random_device()()} << 32;
  const std::span<std::uint32_t> useless = known.words(tokens.size());
  for (std::uint32_t& word : useless) word = static_cast<std::uint32_t>(splitmix64(++made_));
  return useless;
}

std::string StorePort::flaw(Units page_size) {
  struct Shape {
    std::span<const Stream> streams;
    std::uint32_t layers = 0;
    const KVView* view = nullptr;
  };
  const Shape shape =
      call("view", [](KVStore& store) { return Shape{store.streams(), store.layers(), &store.view()}; });
  if (!shape.view) return name() + " threw when it was asked for its view";
  streams_ = shape.streams;
  view_ = shape.view;
  const std::string why = flaw_of(*shape.view, shape.layers, page_size);
  return why.empty() ? why : fmt::format("{} cannot be used: {}", name(), why);
}

std::string StorePort::flaw_of(const KVView& view, std::uint32_t layers, Units page_size) const {
  if (streams_.empty() || streams_.size() > kMaxStreams || !has_address(streams_))
    return fmt::format("it has {} streams{}, expected 1 to {}", streams_.size(),
                       has_address(streams_) ? "" : " without an address", kMaxStreams);
  if (view.streams != streams_.size())
    return fmt::format("its view has {} streams, and it has {}", view.streams, streams_.size());
  if (layers == 0 || view.layers != layers)
    return fmt::format("it has {} layers, and its view {}; expected the same number, at least 1", layers, view.layers);
  if (view.page_size != page_size)
    return fmt::format("its pages have {} tokens, and the engine's {}", view.page_size, page_size);
  if (view.segment_pages == 0) return "its segments have 0 pages";
  if (view.segments == 0) return "it has addresses for 0 segments";
  if (view.kernel_pages < view.segment_pages)
    return fmt::format("its segments lie {} pages apart, and have {}", view.kernel_pages, view.segment_pages);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const KVStream& stream = view.stream[s];
    const std::uint32_t row = streams_[s].row_bytes;
    if (row == 0 || stream.row_bytes != row)
      return fmt::format(
          "rows of its stream {} have {} bytes, and {} in its view; expected the same number, at least 1", s, row,
          stream.row_bytes);
    if (stream.token_stride < row || stream.page_stride < std::uint64_t{stream.token_stride} * (page_size - 1) + row)
      return fmt::format(
          "rows of its stream {} lie over one another: {} bytes from token to token and {} from page to "
          "page, for rows of {} bytes",
          s, stream.token_stride, stream.page_stride, row);
  }
  return {};
}

/// Waits for all queued calls. Returns null (no failure), an error message, or an empty text: it threw, which is
/// recorded.
const char* StorePort::wait() {
  const char* failed = "";
  call("sync", [&](KVStore& store) { failed = store.sync(); });
  failures_ += failed != nullptr;
  return failed;
}

const char* StorePort::sync() {
  const char* const failed = wait();
  if (!failed) return nullptr;
  failure_ = Sentence("{}, sync: {}", name(), *failed ? failed : "it threw");
  return failure_->c_str();
}

bool StorePort::settled() {
  const char* const failed = wait();
  if (failed && *failed) wrong("sync", failed);
  return !failed;
}

StorageTraits StoragePort::traits() const {
  StorageTraits traits = call("traits", &PageStorage::traits);
  traits.batch = std::max(traits.batch, 1U);
  return traits;
}

/// Returns the failed result of a call that the storage refused or ended in an invalid way.
StorageDone StoragePort::as_failed(std::uint64_t ticket, const Open& open) {
  if (open.counts) return {ticket, Fate::failed, 0, {}};
  return {ticket, Fate::failed, 0, std::span(fates_).first(open.records)};
}

bool StoragePort::fits(const StorageDone& done, const Open& open) const {
  const auto known = [](Fate fate) { return fate <= Fate::failed; };
  if (!known(done.fate)) return false;
  if (open.counts) return done.found <= open.records;
  return done.fates.size() == open.records && has_address(done.fates) && std::ranges::all_of(done.fates, known);
}

std::size_t StoragePort::poll(std::span<StorageDone> done) {
  std::size_t most = 0;  // sized once: growth would invalidate earlier spans
  for (const auto& [ticket, open] : open_) most = std::max(most, open.records);
  fates_.assign(most, Fate::failed);
  std::size_t count = 0;
  for (auto at = open_.begin(); threw_ > 0 && count < done.size() && at != open_.end();) {
    if (!at->second.threw) {
      ++at;
      continue;
    }
    done[count++] = as_failed(at->first, at->second);
    at = open_.erase(at);
    --threw_;
  }
  const std::span<StorageDone> room = done.subspan(count);
  if (room.empty() || is_broken()) return count;
  bool faulty = true;
  std::size_t ended = call("poll", [&](PageStorage& storage) {
    try {
      const std::size_t got = storage.poll(room);
      faulty = false;
      return got;
    } catch (const std::bad_alloc&) {
      faulty = false;  // it may have memory the next time
      throw;
    }
  });
  if (ended > room.size()) wrong("poll", Sentence("it reported {} calls into {} places", ended, room.size()));
  if (faulty || ended > room.size()) ++bad_polls_, ended = 0;
  for (const StorageDone& one : room.first(ended)) {
    const auto open = open_.find(one.ticket);
    if (open == open_.end() || open->second.threw) {
      wrong("poll", Sentence("call {} ended, which was not pending", one.ticket));
      continue;
    }
    if (!fits(one, open->second))
      wrong("poll", Sentence("the end of call {} does not fit its {} records", one.ticket, open->second.records));
    done[count] = fits(one, open->second) ? one : as_failed(one.ticket, open->second);
    if (open->second.counts) done[count].fates = {};  // find() has none: they were not compared
    ++count;
    open_.erase(open);
  }
  return count;
}

}  // namespace canopy
