/// Hostile answers of a server: read in one piece and in many, which must give the same elements; and as the map of a
/// cluster.
#include <redis/slots_reply.h>

#include "../plugins/redis/reply_text.h"
#include "fuzz.h"

namespace {

using namespace canopy;

constexpr std::uint64_t kPlaced = 8;  // bytes of a string that goes into memory of the caller's

/// Returns the elements of a stream. One that is refused may have reported more or fewer before that was noticed.
std::string replies_of(std::string_view bytes, std::size_t most, bool& read) {
  test::ReplyText replies(kPlaced);
  redis::RespReader reader(replies);
  read = test::feed(reader, bytes, most);
  return replies.text();
}

struct Map final : redis::ReplySink {
  std::byte* place(std::uint64_t) override { return nullptr; }
  void element(const redis::Element& element) override {
    reply.take(element);
    if (!element.last) return;
    for (const redis::SlotRange& range : reply.ranges()) EXPECT(range.first <= range.last && range.last < 16384, "");
    reply.clear();
  }
  redis::SlotsReply reply;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  bool read = false, read_in_pieces = false;
  const std::string whole = replies_of(bytes, bytes.size(), read);
  for (const std::size_t most : {std::size_t{1}, std::size_t{7}}) {
    const std::string pieces = replies_of(bytes, most, read_in_pieces);
    EXPECT(read == read_in_pieces, bytes);
    EXPECT(pieces == whole, bytes);
  }
  Map map;
  redis::RespReader reader(map);
  test::feed(reader, bytes, bytes.size());
  return 0;
}
