/// Where a prompt lives: questions to an index of eight workers and a million blocks, and events into it.
#include <canopy/routing/event_intake.h>
#include <canopy/support/random.h>
#include <fmt/format.h>

#include <iterator>

#include "cases.h"
#include "clock.h"

namespace canopy::bench {
namespace {

using namespace routing;

constexpr std::size_t kWorkers = 8, kBlock = 16, kPromptBlocks = 512, kEventBlocks = 8;
constexpr std::size_t kBatchEvents = kPromptBlocks / kEventBlocks;

/// Prompts of 512 blocks, each on two workers: the second has its first half alone.
class Prompts {
 public:
  explicit Prompts(std::size_t count) : count_(count) {}
  std::size_t size() const { return count_; }
  void tokens_of(std::size_t prompt, std::vector<Token>& tokens) const {
    Random random(prompt + 1);
    tokens.resize(kPromptBlocks * kBlock);
    for (Token& token : tokens) token = static_cast<Token>(random.next() % 128'000);
  }
  /// As its worker tells it: 64 events of 8 blocks, or a removal of each.
  wire::EventBatch batch_of(std::size_t prompt, bool stored) const {
    wire::EventBatch batch;
    std::vector<Token> tokens;
    tokens_of(prompt, tokens);
    const auto hash = [&](std::size_t block) {
      return wire::signed_hash(static_cast<std::int64_t>(splitmix64(prompt * kPromptBlocks + block)));
    };
    for (std::size_t i = 0; i < kBatchEvents; ++i) {
      wire::Event event;
      event.kind = stored ? wire::EventKind::stored : wire::EventKind::removed;
      std::vector<wire::BlockHash> hashes;
      for (std::size_t block = 0; block < kEventBlocks; ++block) hashes.push_back(hash(i * kEventBlocks + block));
      batch.set_hashes(event, hashes);
      batch.set_text(event, wire::Field::medium, "GPU");
      if (stored) {
        batch.set_tokens(event, std::span(tokens).subspan(i * kEventBlocks * kBlock, kEventBlocks * kBlock));
        event.block_size = kBlock;
        event.set_present(wire::Field::block_size);
        if (i > 0) {
          event.parent = hash(i * kEventBlocks - 1);
          event.set_present(wire::Field::parent_block_hash);
        }
      }
      batch.events.push_back(event);
    }
    return batch;
  }

 private:
  std::size_t count_;
};

/// CPU seconds, so that other programs on the machine do not count.
template <class Work>
double spent_on(Work&& work) {
  const double start = cpu_now();
  work();
  return cpu_now() - start;
}

const char* const kNames[] = {"route: a prompt of 8 k tokens found", "route: a prompt of 8 k tokens not found",
                              "route: a batch stores 512 blocks", "route: a batch removes 512 blocks"};

Result<std::monostate> measure(const Setting& setting, Report&, std::vector<Row>& rows) {
  const std::size_t blocks = setting.options.quick ? 100'000 : 1'000'000, rounds = 400;
  const Prompts prompts(blocks / kPromptBlocks);
  BlockIndex index(kBlock, kWorkers, blocks + 64 * kPromptBlocks, 1);
  std::vector<EventIntake> workers;
  for (std::size_t worker = 0; worker < kWorkers; ++worker) workers.emplace_back(index, worker);
  for (std::size_t prompt = 0; prompt < prompts.size(); ++prompt) {
    wire::EventBatch batch = prompts.batch_of(prompt, true);
    workers[prompt % kWorkers].take(batch);
    batch.events.resize(kBatchEvents / 2);
    workers[(prompt + 1) % kWorkers].take(batch);
  }
  // Fresh prompts for the batches, and questions in an order that no cache foresees.
  constexpr std::size_t kFresh = 32;
  std::vector<wire::EventBatch> stores, removals;
  for (std::size_t i = 0; i < kFresh; ++i) {
    stores.push_back(prompts.batch_of(prompts.size() + i, true));
    removals.push_back(prompts.batch_of(prompts.size() + i, false));
  }
  std::vector<std::vector<Token>> known(rounds), unknown(rounds);
  Random random(7);
  for (std::size_t i = 0; i < rounds; ++i) {
    prompts.tokens_of(random.below(static_cast<std::uint32_t>(prompts.size())), known[i]);
    prompts.tokens_of(prompts.size() + 1000 + i, unknown[i]);
  }
  Repeated figures[std::size(kNames)], floors[std::size(kNames)];
  std::vector<Overlap> found(kWorkers);
  BlockIndex::Scratch scratch;
  std::uint64_t seen = 0, sum = 0;
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition) {
    const bool counts = repetition > 0;  // the first one is a warm-up
    const auto ask = [&](const std::vector<std::vector<Token>>& questions) {
      seen = 0;
      return spent_on([&] {
        for (const auto& tokens : questions) {
          index.find(tokens, root_of(), found, scratch);
          for (const Overlap& overlap : found) seen += overlap.total();
        }
      });
    };
    const double finding = ask(known);
    if (seen != rounds * kPromptBlocks * 3 / 2) return Error{"canopy bench: the index has not what it was told of"};
    const double missing = ask(unknown);
    if (seen != 0) return Error{"canopy bench: the index has what it was not told of"};
    const double naming = spent_on([&] {
      for (const auto& tokens : known) {
        Name name = root_of();
        for (std::size_t at = 0; at < tokens.size(); at += kBlock)
          name = next_name(name, std::span(tokens).subspan(at, kBlock));
        sum += name;
      }
    });
    const double storing = spent_on([&] {
      for (std::size_t i = 0; i < kFresh; ++i) workers[i % kWorkers].take(stores[i]);
    });
    const double removing = spent_on([&] {
      for (std::size_t i = 0; i < kFresh; ++i) workers[i % kWorkers].take(removals[i]);
    });
    if (!counts) continue;
    figures[0].add(finding / rounds), figures[1].add(missing / rounds);
    figures[2].add(storing / kFresh), figures[3].add(removing / kFresh);
    for (std::size_t i = 0; i < 3; ++i) floors[i].add(naming / rounds);
  }
  if (sum == 0) return Error{"canopy bench: no prompt was named"};
  const std::string section =
      fmt::format("Where a prompt lives: {} workers, {} blocks of {} tokens", kWorkers, index.blocks(), kBlock);
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    Row row{section, kNames[i], Kind::time, i < 2 ? "a prompt" : "a batch", figures[i].spread(), {}, {}, {}};
    if (i < 3) row.floor = floors[i].spread(), row.note = "floor: XXH3 over its blocks";
    rows.push_back(std::move(row));
  }
  return std::monostate{};
}

}  // namespace

void add_route_cases(const Options&, std::vector<Case>& cases) {
  cases.push_back({"Where a prompt lives", {std::begin(kNames), std::end(kNames)}, measure});
}

}  // namespace canopy::bench
