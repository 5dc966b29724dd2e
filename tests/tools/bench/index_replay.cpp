#include "index_replay.h"

#include <canopy/helpers/prefix_print.h>

#include <unordered_map>
#include <vector>

#include "clock.h"
#include "replay_source.h"
#include "subject.h"

namespace canopy::bench {
namespace {

/// Runs one request after the other through an index and an allocator of page numbers.
class IndexReplay {
 public:
  IndexReplay(const Subject& subject, SlotAllocator& allocator, Units page_size)
      : index_(*subject.index),
        allocator_(allocator),
        page_size_(page_size),
        wants_prints_(subject.policy->reads_prints() != Prints::none) {}

  void serve(const workload::ClientRequest& client) {
    const Key key{space_of(client.space), client.prompt};
    RequestFacts facts;
    facts.space = key.space;
    facts.priority = client.priority;
    facts.hints = client.hints;
    facts.prompt = static_cast<std::uint32_t>(client.prompt.size());
    facts.id = replayed_.requests + 1;
    if (wants_prints_) facts.prefix_prints = prints_of(key);
    Lock lock;
    GroupPages resident;
    timed(match, [&] { lock = index_.match(key, facts); });
    timed(pages, [&] { resident = index_.pages(lock); });

    brought_.resize(client.prompt.size() / page_size_ - lock.length / page_size_);
    make_room();
    Lock last = lock;
    if (allocator_.allocate(brought_)) last = add(lock, key, client.priority);
    facts.matched = lock.length;
    facts.output = client.output_tokens;
    facts.ending = Ending::finished;
    timed(release, [&] { index_.release(last, &facts); });

    ++replayed_.requests;
    replayed_.prompt_tokens += client.prompt.size();
    replayed_.hit_tokens += lock.length;
  }

  Replayed result() const {
    Replayed all = replayed_;
    all.resident_tokens = index_.sizes(0).evictable;
    all.use = index_.use();
    return all;
  }

 private:
  template <class Call>
  void timed(Step step, Call&& call) {
    const double start = now();
    call();
    replayed_.seconds[step] += now() - start;
  }

  void make_room() {
    const std::uint64_t free = allocator_.occupancy().free;
    if (free >= brought_.size()) return;
    GroupPages left;
    timed(evict, [&] { left = index_.evict(0, brought_.size() - free); });
    static_cast<void>(allocator_.free(left[0]));
  }

  Lock add(const Lock& lock, const Key& key, std::int32_t priority) {
    Inserted inserted;
    timed(insert, [&] { inserted = index_.insert(lock, key, {std::span<const Page>(brought_)}, {priority, false}); });
    const std::size_t kept = (inserted.lock.length - lock.length) / page_size_;
    static_cast<void>(allocator_.free(std::span(brought_).subspan(kept)));
    return inserted.lock;
  }

  std::span<const std::uint64_t> prints_of(const Key& key) {
    prints_.clear();
    std::uint64_t print = first_print(key.space);
    for (std::size_t end = kPrintStride; end <= key.words.size(); end += kPrintStride)
      prints_.push_back(print = next_print(print, key.words.data() + (end - kPrintStride)));
    return prints_;
  }

  NamespaceId space_of(const std::string& name) {
    if (name.empty()) return NamespaceId::shared;
    return spaces_.emplace(name, static_cast<NamespaceId>(spaces_.size() + 1)).first->second;
  }

  PrefixIndex& index_;
  SlotAllocator& allocator_;
  Units page_size_;
  bool wants_prints_;
  Replayed replayed_;
  std::vector<Page> brought_;
  std::vector<std::uint64_t> prints_;
  std::unordered_map<std::string, NamespaceId> spaces_;
};

}  // namespace

Result<Replayed> replay_index(const Setting& setting, const std::string& index_name, Units page_size,
                              const std::string& index_options, const std::string& policy) {
  auto source = open_source(setting.options);
  if (!source) return source.error();
  auto subject = make_subject(setting.registry, index_name, page_size, source->capacity, index_options, policy);
  if (!subject) return subject.error();
  auto allocator = make_allocator(setting.registry, "free_list");
  if (!allocator) return allocator.error();
  (*allocator)->offer({1, static_cast<std::uint32_t>(source->capacity / page_size)});
  IndexReplay replay(*subject, **allocator, page_size);
  workload::ClientRequest client;
  for (std::uint64_t taken = 0; taken < source->limit; ++taken) {
    auto more = source->requests->next(client);
    if (!more) return more.error();
    if (!*more) break;
    replay.serve(client);
  }
  return replay.result();
}

}  // namespace canopy::bench
