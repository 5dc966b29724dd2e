#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/hash_chain.h>
#include <canopy/kv_events/msgpack.h>
#include <canopy/kv_events/stream.h>
#include <doctest/doctest.h>

#include <support/recorded_stream.h>
#include <support/shared_folder.h>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace {

using namespace canopy;
using namespace canopy::kv_events;
using recorded::framed;
namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += "0123456789abcdef"[value >> 4], hex += "0123456789abcdef"[value & 15];
  }
  return hex;
}

TEST_CASE("events: a message is in the last two frames, whatever the release") {
  const std::string sequence("\0\0\0\0\0\0\1\2", 8), end(8, '\xff');
  const auto of = [](std::vector<std::string_view> frames) { return message_of(frames); };
  for (const auto& message : {of({sequence, "p"}), of({"", sequence, "p"}), of({"", "", sequence, "p"})}) {
    REQUIRE(message);
    CHECK(message->sequence == 258);
    CHECK(message->payload == "p");
    CHECK_FALSE(message->is_end);
  }
  CHECK(of({"kv@pod", sequence, "p"})->topic == "kv@pod");      // a subscriber
  CHECK(of({"", "kv@pod", sequence, "p"})->topic == "kv@pod");  // a client of a replay socket
  CHECK(of({"", end, ""})->is_end);
  CHECK(of({"", "", end, ""})->is_end);
  CHECK(of({"p"}).error().text.find("a message has 1 frames") == 0);
  CHECK(of({"short", "p"}).error().text.find("has 5 bytes; expected a sequence of 8") != std::string::npos);
}

TEST_CASE("events: numbers of one to eight bytes are read as they were written") {
  for (unsigned bytes = 1; bytes <= 8; ++bytes) {
    const std::uint64_t number = 0xF1E2D3C4B5A69788u >> (64 - 8 * bytes);
    std::string text;
    append_big_endian(text, number, bytes);
    CHECK(text.size() == bytes);
    CHECK(text[0] == '\xf1');
    CHECK(big_endian(text) == number);
  }
  CHECK(big_endian({}) == 0);
}

TEST_CASE("events: a recorded stream that is cut or no stream has a sentence") {
  const std::string sequence(8, '\0'), bytes = framed({"t", sequence, "one"}) + framed({"t", sequence, "two"});
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    RecordedStream stream(std::string_view(bytes).substr(0, size));
    Message message;
    std::size_t messages = 0;
    auto next = stream.next(message);
    for (; next && *next; next = stream.next(message)) ++messages;
    CHECK(messages == size / (bytes.size() / 2));
    CHECK(static_cast<bool>(next) == (size % (bytes.size() / 2) == 0));
    if (!next)
      CHECK(next.error().text.find("the stream ends within the message that begins at byte") != std::string::npos);
  }
  Message message;
  CHECK(RecordedStream("a text file").next(message).error().text.find("not a recorded stream") != std::string::npos);
}

TEST_CASE("events: recorded streams are read completely, and their hashes are SGLang's chain") {
  const fs::path folder = test::shared_file("events");
  if (folder.empty()) return;
  std::size_t streams = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".bin") continue;
    ++streams;
    CAPTURE(entry.path().string());
    std::ifstream file(fs::path(entry.path()).replace_extension(".json"));
    const nlohmann::json described = nlohmann::json::parse(file);
    const std::string bytes = content_of(entry.path());
    RecordedStream stream(bytes);
    Message message;
    EventBatch batch;
    std::size_t at = 0, blocks = 0, salted = 0;
    std::map<std::uint64_t, Digest> known;
    SglangChain chain;
    for (auto next = stream.next(message); next && *next; next = stream.next(message), ++at) {
      REQUIRE(at < described.size());
      CHECK(message.topic == described[at]["topic"].get<std::string>());
      CHECK(message.sequence == described[at]["seq"].get<std::uint64_t>());
      CHECK(hex_of(message.payload) == described[at]["hex"].get<std::string>());
      const auto read = read_batch(message.payload, batch);
      REQUIRE_MESSAGE(read, (read ? "" : read.error().text));
      CHECK(batch.unknown_events + batch.unknown_fields == 0);
      // Everything that was sent is there: written again it is the same.
      std::string again;
      write_batch(batch, batch.form, again);
      CHECK(again == message.payload);
      // An independent decoder, nlohmann_json's, counts the same.
      const auto decoded = nlohmann::json::from_msgpack(message.payload);
      REQUIRE(batch.events.size() == decoded[1].size());
      for (std::size_t i = 0; i < batch.events.size(); ++i) {
        const Event& event = batch.events[i];
        if (event.kind == EventKind::cleared) continue;
        CHECK(event.hashes.count == decoded[1][i]["block_hashes"].size());
        if (event.kind != EventKind::stored) continue;
        CHECK(tokens_match_hashes(event));
        CHECK(event.tokens.count == decoded[1][i]["token_ids"].size());
        const std::string_view salt = batch.text_of(event, Field::cache_salt);
        salted += salt.empty() ? 0U : 1U;
        Digest digest = chain.root(salt);
        if (event.has(Field::parent_block_hash)) {
          REQUIRE(known.contains(event.parent.value));
          digest = known.at(event.parent.value);
        }
        const auto size = static_cast<std::size_t>(event.block_size);
        for (std::size_t block = 0; block < event.hashes.count; ++block, ++blocks) {
          digest = chain.next(digest, batch.tokens_of(event).subspan(block * size, size));
          CHECK(SglangChain::name(digest).value == batch.hashes_of(event)[block].value);
          known[SglangChain::name(digest).value] = digest;
        }
      }
    }
    CHECK(at == described.size());
    CHECK(stream.at() == bytes.size());
    CHECK(blocks > 50);
    CHECK(salted == 2);
  }
  CHECK(streams >= 2);
}

// Computed with Python's cbor2 6.3 (canonical=True), hashlib and xxhash 4.1.
TEST_CASE("events: vLLM's chains over canonical CBOR") {
  const std::vector<Token> first = {0, 23, 24, 255, 256, 65535, 65536, 4294967295};
  std::vector<Token> second(16);
  for (Token i = 0; i < 16; ++i) second[i] = 1000 + i;
  const std::string salt("\x81\x64salt", 6);
  struct Expected {
    VllmChain::Function function;
    std::string root, first, second;
    std::uint64_t name;
  };
  for (const Expected& expected :
       {Expected{VllmChain::Function::sha256_cbor, "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e",
                 "39532d759036eca7efd7a6e039e216836a50436ef6b04f2f261c9e2f453fb3ec",
                 "d9af7ed480909299cc089c35723696c49e08e22dbdf164ef0ba13a7cb915e92e", 838015313023199534U},
        Expected{VllmChain::Function::xxhash_cbor, "1ebe36576dcb573f26b99533a20aaeca",
                 "22e1206817e9f7a1ac6f233b092aaed8", "ba8fa37f06d84c9ff44642e959ab8dcd", 17601829763623390669U}}) {
    VllmChain chain(expected.function);
    const Digest root = chain.root("0"), one = chain.next(root, first), two = chain.next(one, second, salt);
    CHECK(hex_of(root.text()) == expected.root);
    CHECK(hex_of(one.text()) == expected.first);
    CHECK(hex_of(two.text()) == expected.second);
    CHECK(VllmChain::name(two).value == expected.name);
  }
}

}  // namespace
