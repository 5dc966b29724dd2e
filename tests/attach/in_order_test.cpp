/// The order of one publisher's messages: what is missing is counted, and what waits for it is bounded.
#include <canopy/attach/in_order.h>
#include <doctest/doctest.h>

using canopy::attach::InOrder;
using Verdict = InOrder::Verdict;

namespace {

InOrder::Message live(std::uint64_t sequence) { return {sequence, static_cast<double>(sequence), false, false}; }

}  // namespace

TEST_CASE("each gap is counted once, with the messages that are missing, those that came, and those before the first") {
  InOrder order;
  CHECK(order.replay_from() == 0);
  for (std::uint64_t sequence = 5; sequence < 8; ++sequence) CHECK(order.see(live(sequence), false) == Verdict::apply);
  CHECK(order.counts().before == 5);
  CHECK(order.counts().gaps == 0);
  for (const std::uint64_t sequence : {10U, 11U, 14U}) {
    CHECK(order.see(live(sequence), false) == Verdict::hold);
    order.keep(live(sequence), "x");
  }
  CHECK(order.counts().gaps == 2);
  CHECK(order.counts().missing == 4);  // 8, 9, 12 and 13
  CHECK(order.see({9, 9, false, true}, true) == Verdict::hold);
  order.keep({9, 9, false, true}, "x");
  CHECK(order.counts().missing == 3);
  CHECK(order.counts().repaired == 1);
  CHECK_FALSE(order.next_held());  // 8 is missing
  order.give_up();
  for (const std::uint64_t sequence : {9U, 10U, 11U}) {
    const auto next = order.next_held();
    REQUIRE(next);
    CHECK(next->message.sequence == sequence);
  }
  CHECK_FALSE(order.next_held());
  CHECK(order.waits());
  CHECK(order.replay_from() == 11);
}

TEST_CASE("what waits behind a gap is bounded in messages and in bytes") {
  InOrder many;
  CHECK(many.see(live(0), false) == Verdict::apply);
  for (std::uint64_t sequence = 2; sequence < 2 + InOrder::kMostHeld; ++sequence) {
    CHECK_FALSE(many.is_full());
    many.keep(live(sequence), {});
  }
  CHECK(many.is_full());

  InOrder large;
  CHECK(large.see(live(0), false) == Verdict::apply);
  const std::string payload(InOrder::kMostHeldBytes / 16, 'x');
  for (std::uint64_t sequence = 2; sequence < 2 + 16; ++sequence) {
    CHECK_FALSE(large.is_full());
    large.keep(live(sequence), payload);
  }
  CHECK(large.is_full());
}
