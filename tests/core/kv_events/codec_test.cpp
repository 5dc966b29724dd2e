#include <canopy/base/random.h>
#include <canopy/kv_events/codec.h>
#include <doctest/doctest.h>

#include <support/shared_folder.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace {

using namespace canopy;
using namespace canopy::kv_events;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

EventBatch read_good(const std::string& payload) {
  EventBatch batch;
  const auto read = read_batch(payload, batch);
  REQUIRE_MESSAGE(read, (read ? "" : read.error().text));
  return batch;
}

std::string problem_of(const std::string& payload) {
  EventBatch batch;
  const auto read = read_batch(payload, batch);
  CHECK_FALSE(read);
  CHECK(batch.events.empty());
  return read ? "" : read.error().text;
}

std::string written(const EventBatch& batch, Form form) {
  std::string payload;
  write_batch(batch, form, payload);
  return payload;
}

/// Mostly as SHA-256 makes them, but of any length that a server may choose.
std::string some_digest(Random& random) {
  const std::uint32_t bytes = random.one_in(2) ? 32 : 1 + random.below(kMostDigestBytes);
  return std::string(bytes, static_cast<char>(random.next()));
}

/// Every kind of event with every field, each present with a value, nil, or absent, as `choice` says.
EventBatch made_up(Random& random) {
  EventBatch batch;
  batch.time = static_cast<double>(random.below(1'000'000)) / 8;
  batch.has_rank = !random.one_in(4);
  if (batch.has_rank && random.one_in(2)) batch.rank = random.below(300);
  for (std::uint32_t events = random.below(4); events > 0; --events) {
    Event event;
    event.kind = static_cast<EventKind>(random.below(3));
    if (event.kind != EventKind::cleared) {
      std::vector<BlockHash> hashes;
      for (std::uint32_t count = random.below(5); count > 0; --count)
        hashes.push_back(random.one_in(3)   ? signed_hash(static_cast<std::int64_t>(random.next()))
                         : random.one_in(2) ? BlockHash{random.next() >> random.below(64), 0, 0, false}
                                            : batch.add_digest(some_digest(random)));
      batch.set_hashes(event, hashes);
      for (const Field field :
           {Field::medium, Field::lora_name, Field::kv_cache_spec_kind, Field::cache_salt, Field::session_id})
        if (random.one_in(3)) event.set_nil(field);
        else if (random.one_in(2)) batch.set_text(event, field, std::string(random.below(40), 'x'));
      for (const Field field : {Field::extra_keys, Field::locality, Field::ownership, Field::lookahead_token_ids})
        if (random.one_in(4))
          batch.set_text(event, field, from_hex("9493a161c0c381a162cb3ff8000000000000c402ffeed7010011223344556677"));
      event.group = random.below(5), event.lora_id = -7, event.sliding_window = 4096;
      for (const Field field : {Field::group_idx, Field::lora_id, Field::kv_cache_spec_sliding_window})
        if (random.one_in(2)) event.set_present(field);
    }
    if (event.kind == EventKind::stored) {
      event.token_pairs = random.one_in(3);
      event.block_size = 1 + random.below(1 << 20);
      event.set_present(Field::block_size);
      std::vector<Token> tokens;
      for (std::uint32_t count = 2 * random.below(20) + (event.token_pairs ? 2 : 0); count > 0; --count)
        tokens.push_back(static_cast<Token>(random.next() >> random.below(32)));
      batch.set_tokens(event, tokens);
      event.parent = signed_hash(-5);
      random.one_in(2) ? event.set_nil(Field::parent_block_hash) : event.set_present(Field::parent_block_hash);
    }
    batch.events.push_back(event);
  }
  return batch;
}

std::size_t memory_of(const EventBatch& batch) {
  return batch.events.capacity() * sizeof(Event) + batch.hashes.capacity() * sizeof(BlockHash) +
         batch.tokens.capacity() * sizeof(Token) + batch.bytes.capacity();
}

std::string packed(const char* json) {
  const auto bytes = nlohmann::json::to_msgpack(nlohmann::json::parse(json));
  return {bytes.begin(), bytes.end()};
}

TEST_CASE("events: what was written is read as it was, in both forms") {
  Random random(17);
  std::size_t events = 0;
  for (int i = 0; i < 3000; ++i) {
    const EventBatch batch = made_up(random);
    const std::string maps = written(batch, Form::maps), arrays = written(batch, Form::arrays);
    const EventBatch of_maps = read_good(maps), of_arrays = read_good(arrays);
    events += batch.events.size();
    REQUIRE(of_maps.events.size() == batch.events.size());
    CHECK(of_maps.unknown_fields == 0);
    CHECK(of_arrays.unknown_fields == 0);
    CHECK(written(of_maps, Form::maps) == maps);
    CHECK(written(of_arrays, Form::arrays) == arrays);
    for (std::size_t at = 0; at < batch.events.size(); ++at) {
      const Event &made = batch.events[at], &read = of_arrays.events[at];
      CHECK(read.kind == made.kind);
      // A hole in an array is nil.
      CHECK((read.present & made.present) == made.present);
      CHECK((read.present & ~read.nil) == (made.present & ~made.nil));
      CHECK(of_maps.events[at].present == made.present);
      CHECK(of_maps.events[at].nil == made.nil);
      CHECK(of_maps.events[at].token_pairs == (made.token_pairs && made.tokens.count > 0));
      for (const Field field : {Field::medium, Field::cache_salt, Field::extra_keys})
        if (made.has(field)) CHECK(of_arrays.text_of(read, field) == batch.text_of(made, field));
      const auto hashes = of_arrays.hashes_of(read), wanted = batch.hashes_of(made);
      REQUIRE(hashes.size() == wanted.size());
      for (std::size_t h = 0; h < hashes.size(); ++h) {
        CHECK(hashes[h].value == wanted[h].value);
        CHECK(of_arrays.digest_of(hashes[h]) == batch.digest_of(wanted[h]));
      }
    }
  }
  CHECK(events > 3000);
}

TEST_CASE("events: the bytes of every dialect are read, and written again byte for byte") {
  const auto path = test::shared_file("events/dialects.json");
  if (path.empty()) return;
  std::ifstream file(path);
  const nlohmann::json dialects = nlohmann::json::parse(file);
  std::size_t seen = 0;
  for (const auto& [release, dialect] : dialects.items()) {
    CAPTURE(release);
    for (const char* key : {"hex_rank_none", "hex_rank_0"}) {
      if (dialect[key].is_null()) continue;
      std::string payload = from_hex(dialect[key]);
      const EventBatch batch = read_good(payload);
      CHECK(batch.time == 1.5);
      CHECK(batch.has_rank == (release != "vllm-0.9.0"));
      CHECK(batch.rank == (std::string_view(key) == "hex_rank_0" ? std::optional<std::int64_t>(0) : std::nullopt));
      CHECK(batch.unknown_events == 0);
      CHECK(batch.unknown_fields == 0);
      REQUIRE(batch.events.size() == 3);
      const Event& stored = batch.events[0];
      CHECK(stored.kind == EventKind::stored);
      CHECK(stored.hashes.count == 2);
      CHECK(stored.block_size == 2);
      CHECK(tokens_match_hashes(stored));
      const auto tokens = batch.tokens_of(stored);
      CHECK(std::vector<Token>(tokens.begin(), tokens.end()) == std::vector<Token>{1, 2, 3, 4});
      CHECK(stored.is_present(Field::parent_block_hash));
      CHECK_FALSE(stored.has(Field::parent_block_hash));
      CHECK(batch.text_of(stored, Field::medium) == (stored.is_present(Field::medium) ? "GPU" : ""));
      const BlockHash first = batch.hashes_of(stored)[0];
      if (first.digest_bytes > 0) CHECK(first.value == 0x18191a1b1c1d1e1fU);
      else if (release.starts_with("sglang")) CHECK(static_cast<std::int64_t>(first.value) == -3750763034362895579);
      else CHECK(first.value == 16045690984503111693U);
      CHECK(batch.events[1].kind == EventKind::removed);
      CHECK(batch.events[1].hashes.count == 1);
      CHECK(batch.hashes_of(batch.events[1])[0].value == batch.hashes_of(stored)[1].value);
      CHECK(batch.events[2].kind == EventKind::cleared);
      const bool maps = dialect["decoded"].get<std::string>().find("'type'") != std::string::npos;
      CHECK(batch.form == (maps ? Form::maps : Form::arrays));
      const std::string_view name = maps ? (release.starts_with("sglang") ? "M2" : "M1")
                                    : stored.is_present(Field::lora_name) ? "A3"
                                    : stored.is_present(Field::medium)    ? "A2"
                                                                          : "A1";
      CHECK(dialect_of(batch) == name);
      // msgspec's longer header of vLLM 0.33; the shortest one is written.
      if (const auto longer = payload.find("\xde\0\x08", 0, 3); longer != std::string::npos)
        payload.replace(longer, 3, "\x88");
      CHECK(written(batch, batch.form) == payload);
      ++seen;
    }
  }
  CHECK(seen >= 2 * dialects.size() - 1);
}

TEST_CASE("events: named fields behind an array, pairs of tokens, unknown kinds and keys") {
  const EventBatch salted = read_good(packed(
      R"([1.5, [["BlockStored", [-3], null, [1, 2], 2, null, "GPU", {"cache_salt": "s1", "later": [{"a": 1}]}]], null])"));
  CHECK(salted.text_of(salted.events[0], Field::cache_salt) == "s1");
  CHECK(salted.unknown_fields == 1);
  CHECK(dialect_of(salted) == "A2");

  const EventBatch eagle = read_good(packed(R"([1, [["BlockStored", [5], null, [[1, 2], [2, 3]], 2, null]], 0])"));
  CHECK(eagle.events[0].token_pairs);
  CHECK(eagle.tokens == std::vector<Token>{1, 2, 2, 3});
  CHECK(tokens_match_hashes(eagle.events[0]));

  // nlohmann_json sorts the keys, so the type is the last of them.
  const EventBatch later = read_good(packed(
      R"([1.5, [{"type": "BlockMoved", "block_hashes": [7], "to": [[1]]}, ["Later", {"block_hashes": 2}, [3]],
          {"block_hashes": [9], "medium": "CPU", "new": {"x": [1, {}]}, "type": "BlockRemoved"},
          ["BlockRemoved", [8], "GPU", 3, "more", [1]], ["AllBlocksCleared", 1]], 2, "future", [1]])"));
  CHECK(later.unknown_events == 2);
  REQUIRE(later.events.size() == 3);
  CHECK(later.hashes.size() == 2);  // those of unknown events are gone
  CHECK(later.text_of(later.events[0], Field::medium) == "CPU");
  CHECK(later.hashes_of(later.events[0])[0].value == 9);
  CHECK(later.events[1].group == 3);
  CHECK(later.rank == 2);
  CHECK(later.unknown_fields == 7);  // to, new, two positions of removed, one of cleared, two of the batch
}

TEST_CASE("events: an independent decoder reads what is written") {
  EventBatch batch;
  batch.time = 2.5, batch.rank = 1;
  Event event;
  event.kind = EventKind::stored, event.block_size = 2;
  batch.set_hashes(event, std::vector<BlockHash>{signed_hash(-3), {~0ULL, 0, 0, false}});
  batch.set_tokens(event, std::vector<Token>{1, 2, 3, 4'000'000'000});
  event.set_nil(Field::parent_block_hash), event.set_present(Field::block_size), event.set_nil(Field::lora_id);
  batch.set_text(event, Field::medium, "GPU");
  batch.set_text(event, Field::cache_salt, "s");
  batch.events.push_back(event);
  using nlohmann::json;
  CHECK(json::from_msgpack(written(batch, Form::maps)) == json::parse(R"([2.5, [{"type": "BlockStored",
      "block_hashes": [-3, 18446744073709551615], "parent_block_hash": null, "token_ids": [1, 2, 3, 4000000000],
      "block_size": 2, "lora_id": null, "medium": "GPU", "cache_salt": "s"}], 1])"));
  CHECK(json::from_msgpack(written(batch, Form::arrays)) == json::parse(R"([2.5, [["BlockStored",
      [-3, 18446744073709551615], null, [1, 2, 3, 4000000000], 2, null, "GPU", {"cache_salt": "s"}]], 1])"));
}

TEST_CASE("events: a time of whole seconds stays a floating-point number") {
  EventBatch batch;
  for (const double time : {2.0, -6442450944.0, 0.0}) {
    batch.time = time;
    const std::string payload = written(batch, Form::maps);
    CHECK(payload[1] == '\xcb');
    CHECK(read_good(payload).time == time);
  }
  const std::string kept = from_hex(
      "93cb400000000000000091"
      "83a474797065ac426c6f636b52656d6f766564"
      "ac626c6f636b5f68617368657390a86c6f63616c697479cb4008000000000000c0");
  CHECK(written(read_good(kept), Form::maps) == kept);
}

TEST_CASE("events: what is wrong is named") {
  const auto of = [](const char* json) { return problem_of(packed(json)); };
  const auto has = [](const std::string& text, std::string_view part) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  };
  has(problem_of(""), "near byte 0: the payload ends in the middle of a value");
  has(problem_of("\xc1"), "a byte that MessagePack does not use");
  has(of("3"), "the payload is 3; expected a batch: an array of time, events and rank");
  has(of("[1]"), "the payload is an array of 1; expected a batch");
  has(of("{}"), "the payload is a map of 0; expected a batch");
  has(of(R"(["now", [], null])"), "the batch's time is the text 'now'; expected seconds");
  has(of("[1, 2, null]"), "the batch's events are 2; expected an array");
  has(of("[1, [], 1.5]"), "the batch's rank is 1.5; expected a whole number or nil");
  has(of("[1, [5], 0]"), "an entry of the batch's events is 5; expected an array or a map");
  has(of("[1, [[]], 0]"), "an event has no type");
  has(of("[1, [{\"medium\": null}], 0]"), "an event has no type");
  has(of("[1, [[7]], 0]"), "the type of an event is 7; expected a text");
  has(of(R"([1, [["BlockStored", [1], null, [1]]], 0])"), "BlockStored has no block_size");
  has(of(R"([1, [["BlockRemoved", null]], 0])"), "BlockRemoved has no block_hashes");
  has(of(R"([1, [["BlockRemoved", "abc"]], 0])"), "block_hashes of BlockRemoved is the text 'abc'; expected an array");
  has(of(R"([1, [["BlockRemoved", [1.5]]], 0])"),
      "an entry of block_hashes of BlockRemoved is 1.5; expected a whole number");
  has(of(R"([1, [["BlockRemoved", [[1]]]], 0])"),
      "an entry of block_hashes of BlockRemoved is an array; expected a whole number");
  has(of(R"([1, [["BlockRemoved", [1], 5]], 0])"), "medium of BlockRemoved is 5; expected a text or nil");
  has(of(R"([1, [["BlockRemoved", [1], "GPU", null, {"medium": "CPU"}]], 0])"), "BlockRemoved has medium twice");
  has(of(R"([1, [["BlockStored", [1], null, [1], 0, null]], 0])"),
      "block_size of BlockStored is 0; expected a whole number from 1");
  has(of(R"([1, [["BlockStored", [1], null, [-1], 1, null]], 0])"),
      "an entry of token_ids is -1; expected a whole number below 2^32");
  has(of(R"([1, [["BlockStored", [1], null, [4294967296], 1, null]], 0])"), "an entry of token_ids is 4294967296");
  has(of(R"([1, [["BlockStored", [1], null, [1, [1, 2]], 1, null]], 0])"), "both tokens and pairs");
  has(of(R"([1, [["BlockStored", [1], null, [[1, 2], 1], 1, null]], 0])"), "both tokens and pairs");
  has(of(R"([1, [["BlockStored", [1], null, [[1, 2, 3]], 1, null]], 0])"), "an entry of token_ids is an array of 3");
  has(of(R"([1, [["BlockStored", [1], {}, [1], 1, null]], 0])"),
      "parent_block_hash of BlockStored is a map; expected a whole number or a digest");
  has(problem_of(packed("[1, [], 0]") + "x"), "byte 4: 1 bytes follow the batch; expected none");
  has(problem_of(std::string("\x93\x01\x91\x92\xa1L", 6) + std::string(40, '\x91')),
      "arrays and maps are nested more than 32 deep");
}

TEST_CASE("events: a payload cut at any byte has a sentence, and lengths that lie cost nothing") {
  Random random(3);
  for (int i = 0; i < 60; ++i) {
    const EventBatch batch = made_up(random);
    for (const Form form : {Form::maps, Form::arrays}) {
      const std::string payload = written(batch, form);
      for (std::size_t size = 0; size < payload.size(); ++size)
        CHECK(problem_of(payload.substr(0, size)).find("the payload ends in the middle of a value") !=
              std::string::npos);
    }
  }
  const std::string start("\x93\x01", 2), stored(
                                              "\xdc\x00\x07\xab"
                                              "BlockStored",
                                              15);
  for (const char* lie : {"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff",
                          "\xdb\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff"}) {
    const std::string length(lie, 5);
    for (const std::string& payload :
         {length, start + length, start + "\x91" + length, start + "\x91" + stored + length,
          start + "\x91" + stored + "\x90\xc0" + length, start + "\x91" + stored + "\x91" + length}) {
      EventBatch batch;
      CHECK_FALSE(read_batch(payload, batch));
      CHECK(memory_of(batch) < 4096);
    }
  }
}

TEST_CASE("events: whatever the bytes, the memory is bounded by them") {
  Random random(5);
  std::string seed =
      packed(R"([1.5, [["BlockStored", [-3], null, [1, 2], 2, null, "GPU", {"cache_salt": "s1"}]], null])");
  std::size_t good = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string payload = random.one_in(4) ? std::string(random.below(200), '\0') : seed;
    for (std::uint32_t changes = random.below(4); changes > 0 && !payload.empty(); --changes)
      payload[random.below(static_cast<std::uint32_t>(payload.size()))] = static_cast<char>(random.next());
    EventBatch batch;
    if (read_batch(payload, batch)) ++good;
    CHECK(memory_of(batch) <= 64 * payload.size() + 4096);
  }
  CHECK(good > 1000);
  // The dearest bytes: the smallest events, hashes and tokens.
  for (const char* event : {"\x92\xac"
                            "BlockRemoved\x90",
                            "\x91\xb0"
                            "AllBlocksCleared"}) {
    std::string payload("\x93\x01\xdd\0\0\x40\0", 7);
    for (int i = 0; i < 0x4000; ++i) payload += event;
    EventBatch batch = read_good(payload + '\0');
    CHECK(batch.events.size() == 0x4000);
    CHECK(memory_of(batch) <= 64 * payload.size());
  }
}

}  // namespace
