/// KV events: reading payloads of both forms, and the names of blocks.
#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/hash_chain.h>
#include <fmt/format.h>

#include <iterator>

#include "cases.h"
#include "clock.h"

namespace canopy::bench {
namespace {

using namespace kv_events;

constexpr std::size_t kEvents = 64, kBlocksOfEvent = 8, kBlock = 16;
constexpr std::size_t kBlocks = kEvents * kBlocksOfEvent;

/// Returns a batch as from a busy server: each event is a run of blocks of 16 tokens.
EventBatch made_batch(bool digests) {
  EventBatch batch;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kEvents; ++i) {
    Event event;
    event.kind = EventKind::stored, event.block_size = kBlock;
    const auto hash = [&] {
      number += 0x9E3779B97F4A7C15u;
      return digests ? batch.add_digest(fmt::format("{:032}", number)) : signed_hash(static_cast<std::int64_t>(number));
    };
    std::vector<BlockHash> hashes;
    for (std::size_t block = 0; block < kBlocksOfEvent; ++block) hashes.push_back(hash());
    std::vector<Token> tokens;
    for (std::size_t token = 0; token < kBlocksOfEvent * kBlock; ++token)
      tokens.push_back(static_cast<Token>((number >> 16) + 7919 * token) % 128'000);
    batch.set_hashes(event, hashes);
    batch.set_tokens(event, tokens);
    event.parent = hash();
    event.set_present(Field::parent_block_hash), event.set_present(Field::block_size), event.set_nil(Field::lora_id);
    batch.set_text(event, Field::medium, "GPU");
    batch.events.push_back(event);
  }
  return batch;
}

const char* const kNames[] = {"wire: a block read, maps", "wire: a block read, arrays",
                              "wire: a block read, maps, digests", "wire: a block written, maps",
                              "wire: a block's name, SGLang"};

Result<std::monostate> measure(const Setting& setting, Report& report) {
  const std::size_t rounds = setting.options.quick ? 200 : 2000;
  const double blocks = static_cast<double>(rounds * kBlocks);
  Measured figures[std::size(kNames)];
  const EventBatch numbers = made_batch(false), digests = made_batch(true);
  std::string payloads[3], written;
  write_batch(numbers, Form::maps, payloads[0]);
  write_batch(numbers, Form::arrays, payloads[1]);
  write_batch(digests, Form::maps, payloads[2]);
  EventBatch read;
  SglangChain chain;
  for (std::size_t repetition = 0; repetition <= setting.repetitions; ++repetition) {
    const bool counts = repetition > 0;  // the first one is a warm-up
    for (std::size_t i = 0; i < std::size(payloads); ++i) {
      std::size_t seen = 0;
      const double seconds = seconds_of([&] {
        for (std::size_t round = 0; round < rounds; ++round) {
          if (!read_batch(payloads[i], read)) return;
          seen += read.hashes.size();
        }
      });
      if (seen != rounds * kBlocks) return Error{"canopy-dev bench: a payload was not read as it was written"};
      if (counts) figures[i].ours.add(seconds / blocks);
    }
    const double writing = seconds_of([&] {
      for (std::size_t round = 0; round < rounds; ++round) {
        written.clear();
        write_batch(numbers, Form::maps, written);
      }
    });
    Digest digest;
    const double naming = seconds_of([&] {
      for (std::size_t round = 0; round < rounds / 10; ++round)
        for (std::size_t block = 0; block < kBlocks; ++block)
          digest = chain.next(digest, std::span(numbers.tokens).subspan(block * kBlock, kBlock));
    });
    if (counts) figures[3].ours.add(writing / blocks), figures[4].ours.add(naming / (blocks / 10));
  }
  const std::string section =
      fmt::format("KV events, batches of {} events of {} blocks of {} tokens", kEvents, kBlocksOfEvent, kBlock);
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    report.rows.push_back(figures[i].row(section, kNames[i], "a block"));
  return std::monostate{};
}

}  // namespace

void add_wire_cases(const Options&, std::vector<Case>& cases) {
  cases.push_back({{std::begin(kNames), std::end(kNames)}, measure});
}

}  // namespace canopy::bench
