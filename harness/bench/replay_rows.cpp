/// A whole replay, one request after the other: what an engine asks of its index, and nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "cases.h"
#include "clock.h"
#include "floor.h"
#include "replay_plan.h"
#include "replay_source.h"
#include "subject.h"

namespace canopy::bench {
namespace {

enum Step : std::size_t { match, insert, evict, release, pages, kSteps };
constexpr std::array<const char*, kSteps> kStepNames{"match", "insert", "evict", "release", "pages"};

struct Replayed {
  std::array<double, kSteps> seconds{};
  std::uint64_t requests = 0, prompt_tokens = 0, hit_tokens = 0;
  std::uint64_t resident_tokens = 0;
  IndexUse use;
  double four() const { return seconds[match] + seconds[insert] + seconds[evict] + seconds[release]; }
};

NamespaceId space_of(const std::string& name, std::unordered_map<std::string, NamespaceId>& spaces) {
  if (name.empty()) return NamespaceId::shared;
  return spaces.emplace(name, static_cast<NamespaceId>(spaces.size() + 1)).first->second;
}

/// `index_name` empty: the original's algorithm. The words of a prompt were written just before its calls, as a
/// tokenizer would have; the tree's memory is as cold as the requests since have left it.
Result<Replayed> replay(const Setting& setting, const std::string& index_name, Units page_size, ReplayPlan* plan,
                        const std::string& index_options = {}) {
  auto source = open_source(setting.options);
  if (!source) return source.error();
  auto subject = make_subject(setting.registry, index_name, page_size, source->capacity, index_options);
  if (!subject) return subject.error();
  auto allocator = make_allocator(setting.registry, "free_list");
  if (!allocator) return allocator.error();
  (*allocator)->offer({1, static_cast<std::uint32_t>(source->capacity / page_size)});
  PrefixIndex& index = *subject->index;
  Replayed replayed;
  std::unordered_map<std::string, NamespaceId> spaces;
  std::vector<Page> brought;
  workload::ClientRequest client;
  while (replayed.requests < source->limit) {
    auto more = source->requests->next(client);
    if (!more) return more.error();
    if (!*more) break;
    const Key key{space_of(client.space, spaces), client.prompt};
    RequestFacts facts;
    facts.space = key.space;
    facts.priority = client.priority;
    facts.prompt = static_cast<std::uint32_t>(client.prompt.size());
    std::array<double, kSteps> took{};

    double start = now();
    const Lock lock = index.match(key, facts);
    took[match] = now() - start;
    start = now();
    const GroupPages resident = index.pages(lock);
    took[pages] = now() - start;
    if (plan) plan->matched(resident[0]);

    brought.resize(client.prompt.size() / page_size - lock.length / page_size);
    if (const std::uint64_t free = (*allocator)->occupancy().free; free < brought.size()) {
      start = now();
      const GroupPages left = index.evict(0, brought.size() - free);
      took[evict] = now() - start;
      if (plan) plan->left(left[0]);
      (*allocator)->free(left[0]);
    }
    Lock last = lock;
    if ((*allocator)->allocate(brought)) {
      start = now();
      const Inserted inserted = index.insert(lock, key, {std::span<const Page>(brought)}, {client.priority, false});
      took[insert] = now() - start;
      last = inserted.lock;
      const std::size_t kept = (last.length - lock.length) / page_size;
      if (plan) plan->added(std::span(brought).first(kept));
      (*allocator)->free(std::span(brought).subspan(kept));
    }
    facts.matched = lock.length;
    start = now();
    index.release(last, &facts);
    took[release] = now() - start;

    ++replayed.requests;
    replayed.prompt_tokens += client.prompt.size();
    replayed.hit_tokens += lock.length;
    for (std::size_t step = 0; step < kSteps; ++step) replayed.seconds[step] += took[step];
  }
  replayed.resident_tokens = index.sizes(0).evictable;
  replayed.use = index.use();
  return replayed;
}

struct FloorTook {
  double compare = 0, copy = 0;
};

Result<FloorTook> replay_floor(const Setting& setting, Units page_size, const ReplayPlan& plan, FloorStyle style) {
  auto source = open_source(setting.options);
  if (!source) return source.error();
  FloorMemory words(plan.words(), style), page_numbers(plan.words() / page_size, style);
  std::vector<Page> brought;
  FloorTook took;
  std::size_t piece = 0;
  workload::ClientRequest client;
  for (const ReplayPlan::Request& request : plan.requests()) {
    auto more = source->requests->next(client);
    if (!more) return more.error();
    const std::uint32_t* prompt = client.prompt.data();
    if (brought.size() < client.prompt.size()) {
      brought.resize(client.prompt.size());
      std::iota(brought.begin(), brought.end(), Page{1});
    }
    bool same = true;
    double start = now();
    for (; piece < request.pieces_end; ++piece) {
      same &= words.compare(plan.pieces()[piece].at, prompt, plan.pieces()[piece].count);
      prompt += plan.pieces()[piece].count;
    }
    took.compare += now() - start;
    if (!same) return Error{"canopy bench: the index matched words that were never inserted; its answers are wrong"};
    const auto [at, count] = request.added;
    start = now();
    words.copy(at, prompt, count);
    page_numbers.copy(at / page_size, brought.data(), count / page_size);
    took.copy += now() - start;
  }
  return took;
}

/// The floor made in each way, as often as the index takes its turn. The floor proper is memcmp and memcpy; with stores
/// that go around the caches it is what the machine can do.
struct Floor {
  struct Way {
    FloorStyle style;
    const char* name;
    Repeated compare, copy, all;
  };
  std::array<Way, 4> ways{{{{false, false}, "4 KiB pages and plain stores", {}, {}, {}},
                           {{false, true}, "4 KiB pages and streaming stores", {}, {}, {}},
                           {{true, false}, "2 MiB pages and plain stores", {}, {}, {}},
                           {{true, true}, "2 MiB pages and streaming stores", {}, {}, {}}}};

  Result<std::monostate> take_turns(const Setting& setting, Units page_size, const ReplayPlan& plan) {
    for (Way& way : ways) {
      const auto took = replay_floor(setting, page_size, plan, way.style);
      if (!took) return took.error();
      way.compare.add(took->compare);
      way.copy.add(took->copy);
      way.all.add(took->compare + took->copy);
    }
    return std::monostate{};
  }
  const Way& best(bool streaming) const {
    const auto worse = [&](const Way& a, const Way& b) {
      if (a.style.streaming != b.style.streaming) return a.style.streaming != streaming;
      return a.all.spread().median > b.all.spread().median;
    };
    return *std::max_element(ways.begin(), ways.end(), worse);
  }
  std::string tried() const {
    std::string text;
    for (const Way& way : ways)
      text += fmt::format("{}{:.1f} ms with {}", text.empty() ? "" : ", ", way.all.spread(1e3).median, way.name);
    return text;
  }
};

std::vector<std::string> names(Units page_size) {
  std::vector<std::string> all{fmt::format("replay: match + insert + evict + release, page {}", page_size)};
  all.push_back(fmt::format("replay: the four, against stores around the caches, page {}", page_size));
  all.push_back(fmt::format("replay: the four, memory taken as it is needed, page {}", page_size));
  all.push_back(fmt::format("replay: as needed, against stores around the caches, page {}", page_size));
  for (const char* step : kStepNames) all.push_back(fmt::format("replay: {}, page {}", step, page_size));
  all.push_back(fmt::format("replay: memory, page {}", page_size));
  return all;
}

Result<std::monostate> measure(const Setting& setting, Units page_size, Report& report, std::vector<Row>& rows) {
  const std::string& index_name = setting.options.index;
  ReplayPlan plan(page_size);
  const auto warm_up = replay(setting, index_name, page_size, &plan);
  if (!warm_up) return warm_up.error();

  Floor floor;
  std::array<Repeated, kSteps> ours, originals;
  Repeated our_four, later_four, original_four;
  std::uint64_t original_hits = 0;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    if (auto took = floor.take_turns(setting, page_size, plan); !took) return took.error();
    const auto mine = replay(setting, index_name, page_size, nullptr);
    if (!mine) return mine.error();
    our_four.add(mine->four());
    for (std::size_t step = 0; step < kSteps; ++step) ours[step].add(mine->seconds[step]);
    const auto later = replay(setting, index_name, page_size, nullptr, "prefault: false");
    later_four.add((later ? *later : *mine).four());
    if (repetition >= setting.original_repetitions) continue;
    const auto original = replay(setting, {}, page_size, nullptr);
    if (!original) return original.error();
    original_hits = original->hit_tokens;
    original_four.add(original->four());
    for (std::size_t step = 0; step < kSteps; ++step) originals[step].add(original->seconds[step]);
  }

  const auto source = open_source(setting.options);
  if (!source) return source.error();
  report.source = source->name;
  report.remarks.push_back(
      fmt::format("replay, page {}: {} hit {} tokens and the original's algorithm {}, {}. The floor's medians: {}.",
                  page_size, index_name, warm_up->hit_tokens, original_hits,
                  warm_up->hit_tokens == original_hits ? "equal" : "NOT EQUAL", floor.tried()));

  const std::string section =
      fmt::format("Replay of {}: {} requests, {:.1f} M tokens, a pool of {:.1f} M", source->name, warm_up->requests,
                  static_cast<double>(warm_up->prompt_tokens) / 1e6, static_cast<double>(source->capacity) / 1e6);
  const double share = 1 / static_cast<double>(warm_up->requests);
  const std::vector<std::string> called = names(page_size);
  const Floor::Way &plain = floor.best(false), &streaming = floor.best(true);
  const auto add = [&](const Repeated& mine, std::optional<Spread> floor_spread, const Repeated& original,
                       std::string note) {
    rows.push_back({section, called[rows.size()], Kind::time, "a request", mine.spread(share), std::move(floor_spread),
                    original.if_any(share), std::move(note)});
  };
  add(our_four, plain.all.spread(share), original_four, fmt::format("{:.1f} ms in all", our_four.spread(1e3).median));
  add(our_four, streaming.all.spread(share), original_four, {});
  add(later_four, plain.all.spread(share), original_four, "prefault: false, where the index has such an option");
  add(later_four, streaming.all.spread(share), original_four, {});
  add(ours[match], plain.compare.spread(share), originals[match], {});
  add(ours[insert], plain.copy.spread(share), originals[insert], {});
  for (const Step step : {evict, release, pages}) add(ours[step], std::nullopt, originals[step], {});

  const double bytes = static_cast<double>(warm_up->use.bytes), tokens = static_cast<double>(warm_up->resident_tokens),
               formula = tokens * 4 + tokens / page_size * 4 + static_cast<double>(warm_up->use.nodes) * 160;
  const double used = formula > 0 ? bytes / formula : 0;
  rows.push_back({section,
                  called[rows.size()],
                  Kind::share,
                  "of 4 B a token + 4 B a page + 160 B a node",
                  {used, used, used},
                  std::nullopt,
                  std::nullopt,
                  fmt::format("{:.1f} MiB for {} nodes", bytes / (1 << 20), warm_up->use.nodes)});
  return std::monostate{};
}

std::string shards_name(std::size_t shards) {
  return fmt::format("replay: {} shard{}, a thread each, page 16", shards, shards == 1 ? "" : "s");
}

/// As many tenants as threads, each with an index of its own and the whole source: nothing is shared but the machine.
/// The time of a request is that of the slowest tenant's index calls over the requests of all.
Result<std::monostate> measure_shards(const Setting& setting, std::size_t shards, Report&, std::vector<Row>& rows) {
  Repeated all;
  std::uint64_t requests = 0;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    std::vector<Result<Replayed>> tenants(shards, Error{});
    std::vector<std::thread> threads;
    for (Result<Replayed>& tenant : tenants)
      threads.emplace_back([&] { tenant = replay(setting, setting.options.index, 16, nullptr); });
    for (std::thread& thread : threads) thread.join();
    double slowest = 0;
    requests = 0;
    for (const Result<Replayed>& tenant : tenants) {
      if (!tenant) return tenant.error();
      slowest = std::max(slowest, tenant->four());
      requests += tenant->requests;
    }
    all.add(slowest / static_cast<double>(requests));
  }
  rows.push_back({"Shards: one index and one thread for each namespace", shards_name(shards), Kind::time, "a request",
                  all.spread(), std::nullopt, std::nullopt,
                  fmt::format("{:.0f} requests/s of index time", 1 / all.spread().median)});
  return std::monostate{};
}

}  // namespace

void add_replay_cases(const Options&, std::vector<Case>& cases) {
  for (const Units page_size : {1U, 16U, 64U})
    cases.push_back(
        {"Replay", names(page_size), [page_size](const Setting& setting, Report& report, std::vector<Row>& rows) {
           return measure(setting, page_size, report, rows);
         }});
  for (const std::size_t shards : {1U, 2U})
    cases.push_back(
        {"Shards", {shards_name(shards)}, [shards](const Setting& setting, Report& report, std::vector<Row>& rows) {
           return measure_shards(setting, shards, report, rows);
         }});
}

}  // namespace canopy::bench
