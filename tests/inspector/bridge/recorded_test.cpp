/// Streams that SGLang 0.5.23 published, message by message: what is in them was read from their JSON by hand.
#include <canopy/kv_events/stream.h>

#include <fstream>
#include <sstream>

#include <support/shared_folder.h>
#include "followed.h"

using namespace attach_test;

TEST_CASE("streams of SGLang end in the tree that their events say, message by message") {
  struct After {
    std::size_t blocks, nodes, copies;
  };
  // A clear; a prompt of 16 blocks; a branch of 8 behind the 8th; another tenant's copy of the first 4 with 5 of its
  // own; 4 and 3 under two salts; both ends of 8 evicted; a clear; the first prompt again.
  constexpr std::array<After, 9> kAfter = {
      {{0, 0, 0}, {16, 1, 0}, {24, 3, 0}, {29, 5, 4}, {33, 6, 4}, {36, 7, 4}, {20, 5, 4}, {0, 0, 0}, {16, 1, 0}}};
  for (const char* name : {"sglang-0.5.23_radix_default", "sglang-0.5.23_rust_default"}) {
    const auto path = canopy::test::shared_file("events/" + std::string(name) + ".bin");
    if (path.empty()) return;
    CAPTURE(name);
    std::ifstream file(path, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    const std::string bytes = content.str();
    canopy::kv_events::RecordedStream stream(bytes);
    canopy::kv_events::Message message;
    Followed followed(false);
    for (const After& after : kAfter) {
      auto next = stream.next(message);
      REQUIRE(next);
      REQUIRE(*next);
      followed.receive({message.sequence, std::string(message.payload)}, false);
      if (!followed.mirror) {
        CHECK(after.blocks == 0);
        continue;
      }
      CHECK(followed.follower.tree()->blocks().count() == after.blocks);
      CHECK(followed.follower.tree()->copies() == after.copies);
      CHECK(followed.mirror->node_count() == after.nodes);
      CHECK(followed.mirror->drift() == 0);
    }
    CHECK(followed.mirror->page_size() == 16);
    CHECK(followed.mirror->pool(0).name == "GPU");
    CHECK(followed.mirror->spaces()[1].name == "salt s1");
  }
}
