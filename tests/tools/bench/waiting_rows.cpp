/// A scheduler's waiting queue: 64 prompts found one by one. The floor is the same 64 once more, when everything that
/// they read is in the processor's cache: no batch of them that prefetches for all can take less.
#include <fmt/format.h>

#include <array>
#include <vector>

#include <workload/text.h>
#include "clock.h"
#include "floor.h"
#include "subject.h"

namespace canopy::bench {
namespace {

constexpr Units kTurnPage = 16;
constexpr std::size_t kWaiting = 64, kTogether = 16;  ///< kTogether: as Engine::find_many

/// Conversations whose turns are a node each; all of an index.
struct Waiting {
  std::size_t sessions;
  Units turns, turn_tokens;
  std::string row() const {
    return fmt::format("waiting: find {} prompts of {} turns of {} tokens, {} conversations, page {}", kWaiting, turns,
                       turn_tokens, sessions, kTurnPage);
  }
};

/// Writes the words of a conversation's first turns.
void write_words(const Waiting& shape, std::size_t session, Units turns, std::vector<std::uint32_t>& words) {
  words.resize(std::size_t{turns} * shape.turn_tokens);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(splitmix64(session << 20 | i));
}

Result<std::monostate> measure_waiting(const Setting& setting, const Waiting& shape, Report& report) {
  auto subject = make_subject(setting, false, kTurnPage);
  if (!subject) return subject.error();
  PrefixIndex& index = *subject->index;
  std::vector<std::uint32_t> words;
  std::vector<Page> pages;
  Page last = 0;
  for (Units turn = 1; turn <= shape.turns; ++turn)
    for (std::size_t session = 0; session < shape.sessions; ++session) {
      write_words(shape, session, turn, words);
      const Key key{NamespaceId::shared, words};
      const Lock lock = index.match(key, {});
      pages.resize((words.size() - lock.length) / kTurnPage);
      for (Page& page : pages) page = ++last;
      index.release(index.insert(lock, key, {std::span<const Page>(pages)}, {}).lock);
    }
  Measured figures, together;
  std::uint64_t drawn = 0, found = 0;
  std::array<std::vector<std::uint32_t>, kWaiting> prompts;
  std::array<Key, kWaiting> keys;
  for (std::size_t repetition = 0; repetition < setting.repetitions; ++repetition) {
    double first = 0, again = 0, batch = 0;
    const std::size_t rounds = 20;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto draw = [&] {
        for (std::size_t i = 0; i < kWaiting; ++i) {
          write_words(shape, splitmix64(++drawn) % shape.sessions, shape.turns, prompts[i]);
          keys[i] = {NamespaceId::shared, prompts[i]};
        }
      };
      const auto find_all = [&] {
        for (const Key& key : keys) found += index.find(key).length;
      };
      draw();
      first += seconds_of(find_all);
      again += seconds_of(find_all);
      draw();
      batch += seconds_of([&] {
        for (std::size_t i = 0; i < kWaiting; i += kTogether) {
          const auto some = std::span<const Key>(keys).subspan(i, kTogether);
          index.prefetch(some);
          for (const Key& key : some) found += index.find(key).length;
        }
      });
    }
    figures.ours.add(first / (rounds * kWaiting));
    figures.floor.add(again / (rounds * kWaiting));
    together.ours.add(batch / (rounds * kWaiting));
    together.floor.add(again / (rounds * kWaiting));
  }
  if (found != 3 * 20 * kWaiting * setting.repetitions * shape.turns * shape.turn_tokens)
    return Error{"a waiting prompt was not found"};
  const std::string section = "A waiting queue: the floor is the same prompts again, in the cache";
  report.rows.push_back(figures.row(section, shape.row(), "a prompt"));
  report.rows.push_back(together.row(section, shape.row() + ", prefetched", "a prompt"));
  return std::monostate{};
}

}  // namespace

void add_waiting_cases(const Options& options, std::vector<Case>& cases) {
  const std::size_t sessions = options.quick ? 2'000 : 30'000;
  for (const Waiting shape : {Waiting{sessions * 8, 1, 128}, Waiting{sessions, 4, 256}, Waiting{sessions / 8, 4, 2048}})
    cases.push_back({{shape.row(), shape.row() + ", prefetched"}, [shape](const Setting& setting, Report& report) {
                       return measure_waiting(setting, shape, report);
                     }});
}

}  // namespace canopy::bench
