/// Damaged recordings of a feed.
#include "fuzz.h"

#include <canopy/base/random.h>
#include <mirror/mirror.h>
#include <sources/recorded_requests.h>
#include <sources/recording.h>

#include <cstring>
#include <string_view>

namespace {

using namespace canopy;
using inspector::Mirror;
using inspector::MirrorNode;
using inspector::Recording;

/// Calls all functions of a mirror that views call.
void look_at(const Mirror& mirror) {
  std::size_t nodes = 0;
  std::uint64_t sum = mirror.drift();
  mirror.each_node([&](const MirrorNode& node) {
    ++nodes;
    EXPECT(mirror.find(node.id) == &node, "a recording");
    EXPECT(node.parent == 0 || mirror.node(node.parent).id != 0, "a recording");
    EXPECT(static_cast<std::size_t>(node.space) < mirror.spaces().size(), "a recording");
    // Up to a root in fewer steps than there are nodes, or it would go round for ever.
    std::size_t steps = 0;
    for (std::uint32_t at = node.parent; at != 0; at = mirror.node(at).parent)
      EXPECT(++steps <= mirror.node_count(), "a recording");
    if (nodes < 8) sum += mirror.locks(node, 0) + mirror.history(node.id).size();
  });
  EXPECT(nodes == mirror.node_count(), "a recording");
  for (std::size_t g = 0; g < mirror.groups(); ++g) sum += mirror.next_to_evict(g, 16).size();
  for (const inspector::MirrorRequest& request : mirror.requests()) sum += mirror.why_missed(request).size();
  EXPECT(sum + 1 != 0, "a recording");
}

void check(std::string_view bytes) {
  static fuzz::File file;
  file.hold(bytes);
  const auto recording = Recording::open(file.path());
  if (!recording) {
    EXPECT(recording.error().text.starts_with(file.path() + ": "), "a recording");
    return fuzz::expect_sentence(recording.error().text);
  }
  Mirror mirror((*recording)->header());
  const std::uint64_t half = (*recording)->commits() / 2;
  mirror.take((*recording)->events(0, half));
  look_at(mirror);
  const auto then = mirror.moment();
  mirror.take((*recording)->events(half, ~std::uint64_t{0}));
  look_at(mirror);
  static_cast<void>(Mirror::difference(then, mirror.moment()));
  const auto requests = inspector::RecordedRequests::open(file.path());
  if (!requests) return fuzz::expect_sentence(requests.error().text);
  for (inspector::RecordedRequest request; (*requests)->next(request); request = {})
    EXPECT((*requests)->progress() <= 1, "a recording");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(fuzz::text_of(data, size));
  return 0;
}

/// Events are 32 bytes behind a header: bits, kinds, places and extreme numbers of them.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  Random random(seed);
  if (size < FeedHeader::kBytes + sizeof(Event) || random.one_in(8)) return LLVMFuzzerMutate(data, size, most);
  const std::size_t events = (size - FeedHeader::kBytes) / sizeof(Event);
  const auto any_event = [&] { return data + FeedHeader::kBytes + random.remainder(events) * sizeof(Event); };
  std::uint8_t* event = any_event();
  switch (random.remainder(7)) {
    case 0:
      data[random.remainder(size)] ^= static_cast<std::uint8_t>(1U << random.remainder(8));
      break;
    case 1:
      event[random.remainder(sizeof(Event))] ^= static_cast<std::uint8_t>(1U << random.remainder(8));
      break;
    case 2:  // another kind of event
      *event = static_cast<std::uint8_t>(random.remainder(32));
      break;
    case 3:  // an event twice, or in another's place
      std::memmove(event, any_event(), sizeof(Event));
      break;
    case 4: {  // a number as large as it gets, or as small
      const std::uint64_t extreme[] = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 32};
      std::memcpy(event + 8 * random.remainder(4), &extreme[random.remainder(5)], 8);
      break;
    }
    case 5:  // one field of another event
      std::memmove(event + 8, any_event() + 8 * (1 + random.remainder(3)), 8);
      break;
    default:  // a bit of what the header says of the engine
      data[random.remainder(256)] ^= static_cast<std::uint8_t>(1U << random.remainder(8));
  }
  return random.one_in(16) ? random.remainder(size + 1) : size;
}
