/// The order of one publisher's messages: gaps, what repairs them, repeats, restarts, and the bound of what waits.
#include <canopy/kv_events/in_order.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

using canopy::kv_events::InOrder;
using canopy::kv_events::Order;

namespace {

InOrder::Message live(std::uint64_t sequence) { return {sequence, static_cast<double>(sequence), false, false}; }

/// Takes messages without a replay socket and applies what is due.
struct Watch {
  InOrder in_order;
  std::vector<std::uint64_t> applied{};

  Order take(std::uint64_t sequence, double time, bool clears = false) {
    const auto taken = in_order.take({sequence, time, clears, false}, {}, false);
    if (taken.is_due) applied.push_back(sequence);
    while (const auto held = in_order.next_held()) applied.push_back(held->message.sequence);
    return taken.order;
  }
  Order take(std::uint64_t sequence) { return take(sequence, static_cast<double>(sequence)); }
};

}  // namespace

TEST_CASE("events: gaps, what repairs them, repeats and restarts are distinguished") {
  Watch watch;
  const InOrder::Counts& counts = watch.in_order.counts();
  CHECK(watch.take(7, 10) == Order::first);
  CHECK(watch.take(8, 11) == Order::next);
  CHECK(watch.take(8, 11) == Order::repeated);
  CHECK(watch.take(12, 15) == Order::ahead);  // 9, 10 and 11 are missing
  CHECK(counts.missing == 3);
  CHECK(watch.take(10, 13) == Order::late);
  CHECK(watch.take(10, 13) == Order::repeated);
  CHECK(watch.take(11, 14) == Order::late);
  CHECK(watch.take(13, 16) == Order::next);
  CHECK(counts.missing == 1);
  CHECK(counts.repaired == 2);
  CHECK(counts.gaps == 1);
  CHECK(counts.repeated == 2);
  CHECK(counts.restarts == 0);
  CHECK(watch.applied == std::vector<std::uint64_t>{7, 8});
  CHECK(watch.take(9, 12) == Order::late);
  CHECK(watch.applied == std::vector<std::uint64_t>{7, 8, 9, 10, 11, 12, 13});
  CHECK(watch.take(0, 20, true) == Order::restart);  // begins again, later than all before
  CHECK(watch.take(1, 21) == Order::next);
  CHECK(watch.take(9, 12) == Order::ahead);  // no gap of the run before is repaired by this one
  CHECK(watch.take(0, 20, true) == Order::repeated);
  CHECK(watch.take(0, 5, true) == Order::restart);  // its clock was set back
  CHECK(counts.restarts == 2);
}

TEST_CASE("events: a stream with a gap at every message counts on, and old gaps are given up") {
  Watch watch;
  constexpr std::uint64_t kMessages = InOrder::kMostHeld + 1000;
  for (std::uint64_t i = 0; i < kMessages; ++i) watch.take(2 * i);
  const InOrder::Counts& counts = watch.in_order.counts();
  CHECK(counts.gaps == kMessages - 1);
  CHECK(counts.missing == kMessages - 1);
  CHECK(watch.take(2 * kMessages - 3) == Order::late);
  CHECK(watch.take(1) == Order::repeated);  // given up
  CHECK(watch.applied.size() > 1000);
}

TEST_CASE("events: each gap is counted once, with what is missing, what came, and what was before the first") {
  InOrder order;
  CHECK(order.replay_from() == 0);
  for (std::uint64_t sequence = 5; sequence < 8; ++sequence) CHECK(order.take(live(sequence), "x", false).is_due);
  CHECK(order.counts().before == 5);
  CHECK(order.counts().gaps == 0);
  for (const std::uint64_t sequence : {10U, 11U, 14U}) CHECK_FALSE(order.take(live(sequence), "x", false).is_due);
  CHECK(order.counts().gaps == 2);
  CHECK(order.counts().missing == 4);  // 8, 9, 12 and 13
  CHECK_FALSE(order.take({9, 9, false, true}, "x", true).is_due);
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

TEST_CASE("events: a replay that brought something is followed by another one, then the rest is lost") {
  InOrder order;
  CHECK(order.take(live(0), "x", true).is_due);
  CHECK_FALSE(order.take(live(4), "x", true).is_due);
  const std::uint64_t from = order.replay_from();
  CHECK(from == 0);
  CHECK(order.take({0, 0, false, true}, "x", true).order == Order::repeated);
  CHECK(order.take({1, 1, false, true}, "x", true).is_due);
  order.replay_ended(from);
  CHECK_FALSE(order.next_held());
  CHECK_FALSE(order.is_incomplete());
  CHECK(order.replay_from() == 1);
  order.replay_ended(order.replay_from());
  CHECK(order.next_held());
  CHECK(order.is_incomplete());
  CHECK_FALSE(order.waits());
  order.set_complete();
  CHECK_FALSE(order.is_incomplete());
}

TEST_CASE("events: what came behind a restart that only a replay shows is kept, also if it is no later") {
  for (const double time : {5.0, 6.0}) {
    CAPTURE(time);
    InOrder order;
    CHECK(order.take(live(0), "x", true).is_due);
    CHECK(order.take(live(1), "x", true).is_due);
    order.reconnected();
    CHECK_FALSE(order.take({2, time, false, false}, "x", true).is_due);
    REQUIRE(order.replay_from() == 1);
    CHECK(order.take({1, 5.0, false, true}, "x", true).order == Order::restart);
    REQUIRE(order.replay_from() == 0);
    CHECK(order.take({0, 4.0, false, true}, "x", true).is_due);
    for (const std::uint64_t sequence : {1U, 2U}) {
      const auto held = order.next_held();
      REQUIRE(held);
      CHECK(held->message.sequence == sequence);
    }
    CHECK_FALSE(order.waits());
    CHECK(order.take({3, 7.0, false, false}, "x", true).is_due);
    CHECK(order.counts().missing == 0);  // none is lost
    CHECK(order.counts().gaps == 1);
  }
}

TEST_CASE("events: the first message of a run that only a replay showed is no restart when it comes late") {
  InOrder order;
  CHECK(order.take({0, 1.0, true, false}, "x", true).is_due);
  CHECK(order.take({1, 2.0, false, false}, "x", true).is_due);
  order.reconnected();
  CHECK(order.take({1, 5.0, false, true}, "x", true).order == Order::restart);
  order.give_up();
  REQUIRE(order.next_held());
  CHECK(order.take({0, 4.0, true, true}, "x", true).order == Order::repeated);
  CHECK(order.counts().restarts == 1);
}

TEST_CASE("events: what waits behind a gap is bounded in messages and in bytes") {
  InOrder many;
  CHECK(many.take(live(0), {}, false).is_due);
  for (std::uint64_t sequence = 2; sequence < 2 + InOrder::kMostHeld; ++sequence) {
    CHECK_FALSE(many.next_held());
    many.take(live(sequence), {}, false);
  }
  CHECK(many.next_held());

  InOrder large;
  CHECK(large.take(live(0), {}, false).is_due);
  const std::string payload(InOrder::kMostHeldBytes / 16, 'x');
  for (std::uint64_t sequence = 2; sequence < 2 + 16; ++sequence) {
    CHECK_FALSE(large.next_held());
    large.take(live(sequence), payload, false);
  }
  CHECK(large.next_held());
}
