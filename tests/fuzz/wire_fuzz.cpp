/// Hostile KV events: as a payload, and as a recorded stream. What is read can be written and read again.
#include <canopy/kv_events/codec.h>
#include <canopy/kv_events/stream.h>

#include "fuzz.h"

namespace {

using namespace canopy;
using namespace canopy::kv_events;

void check_batch(std::string_view payload) {
  EventBatch batch;
  const auto read = read_batch(payload, batch);
  const std::size_t memory = batch.events.capacity() * sizeof(Event) + batch.hashes.capacity() * sizeof(BlockHash) +
                             batch.tokens.capacity() * sizeof(Token) + batch.bytes.capacity();
  EXPECT(memory <= 64 * payload.size() + 4096, payload);
  if (!read) return fuzz::expect_sentence(read.error().text);
  for (const Form form : {Form::maps, Form::arrays}) {
    std::string written, again;
    write_batch(batch, form, written);
    EventBatch second;
    EXPECT(static_cast<bool>(read_batch(written, second)), payload);
    EXPECT(second.events.size() == batch.events.size() && second.hashes.size() == batch.hashes.size(), payload);
    EXPECT(second.tokens == batch.tokens, payload);
    write_batch(second, form, again);
    EXPECT(again == written, payload);
  }
}

void check_stream(std::string_view bytes) {
  RecordedStream stream(bytes);
  Message message;
  auto next = stream.next(message);
  for (; next && *next; next = stream.next(message)) check_batch(message.payload);
  if (!next) fuzz::expect_sentence(next.error().text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_batch(fuzz::text_of(data, size));
  check_stream(fuzz::text_of(data, size));
  return 0;
}
