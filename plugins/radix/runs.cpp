#include "runs.h"

#include <algorithm>

#include "stream_copy.h"

namespace canopy::radix {
namespace {

constexpr std::uint64_t kMostWordsAhead = (std::uint64_t{256} << 20) / sizeof(std::uint32_t);

/// Returns the number of words, page numbers included, that the largest pool needs when it is full; 0 if no pool has a
/// limit. At most 256 MiB, because a limit may be far above the use, and the memory taken at the start must not end the
/// process.
std::uint64_t words_of_full_pool(const PrefixIndex::Context& context) {
  std::uint64_t units = 0;
  for (const Group& group : context.groups)
    if (group.capacity != kUnlimited) units = std::max(units, group.capacity);
  units = std::min(units, kMostWordsAhead);  // so that no sum wraps
  return units + units / context.page_size * context.groups.size();
}

/// Adds an eighth for fragments.
std::uint64_t words_ahead(std::uint64_t full_pool) { return std::min(full_pool / 8 * 9, kMostWordsAhead); }

/// Returns the words whose memory is kept. A full pool evicts what the next request needs and fills up again. At times
/// a third of it is then free blocks, in a small pool one long request more. If that memory were given back, each
/// request would fault it in again.
std::uint64_t words_to_keep(std::uint64_t full_pool) {
  constexpr std::uint64_t kLongRequest = (std::uint64_t{1} << 20) / sizeof(std::uint32_t);
  return full_pool ? std::min(full_pool / 3 * 4 + kLongRequest, kMostWordsAhead) : 0;
}

}  // namespace

Runs::Runs(const PrefixIndex::Context& context, std::uint64_t keep_free, bool prefault)
    : page_size_(context.page_size),
      overlap_(context.overlap),
      groups_(context.groups.size()),
      keep_free_(keep_free),
      full_pool_(prefault ? words_of_full_pool(context) : 0),
      store_(keep_free_, words_ahead(full_pool_), words_to_keep(full_pool_)) {}

RunStore::Block Runs::add(const Key& key, Units depth, Units limit, const IncomingPages& incoming) {
  const std::size_t count = std::size_t{limit - depth} + overlap_, pages = (limit - depth) / page_size_;
  const RunStore::Block run = store_.allocate(kHeadWords + count);
  const RunStore::Block page_block = run ? store_.allocate(pages * groups_) : 0;
  if (!page_block) {
    if (run) store_.free(run);
    return 0;
  }
  head(run) = {depth, 0, page_block, 0};
  stream_copy(store_.at(run) + kHeadWords, key.words.data() + depth, count);
  Page* into = store_.at(page_block);
  if (groups_ == 1) stream_copy(into, incoming.pages(0, depth, limit).data(), pages);
  else
    for (std::size_t i = 0; i < pages; ++i)
      for (std::size_t g = 0; g < groups_; ++g)
        into[i * groups_ + g] = incoming.page(g, depth + static_cast<Units>(i) * page_size_);
  return run;
}

void Runs::remove_window(const Node& node) {
  Run& run = head(node.run);
  if (--run.windows == 0) {
    store_.free(run.pages);
    store_.free(node.run);
  } else {
    store_.shrink(run.pages, std::size_t{(node.begin - run.depth) / page_size_} * groups_);
    store_.shrink(node.run, kHeadWords + std::size_t{node.begin - run.depth} + overlap_);
  }
}

void Runs::clear() {
  store_ = RunStore(keep_free_, 0, 0);  // frees the old memory before the new is taken
  store_ = RunStore(keep_free_, words_ahead(full_pool_), words_to_keep(full_pool_));
}

}  // namespace canopy::radix
