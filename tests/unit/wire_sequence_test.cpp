#include <canopy/wire/sequence.h>
#include <doctest/doctest.h>

using canopy::wire::Order;
using canopy::wire::SequenceWatch;

TEST_CASE("events: gaps, what repairs them, repeats and restarts are told apart") {
  SequenceWatch watch;
  CHECK(watch.see(7, 10, false) == Order::first);
  CHECK(watch.see(8, 11, false) == Order::next);
  CHECK(watch.see(8, 11, false) == Order::repeated);
  CHECK(watch.see(12, 15, false) == Order::ahead);  // 9, 10 and 11 are missing
  CHECK(watch.missing == 3);
  CHECK(watch.see(10, 13, false) == Order::late);
  CHECK(watch.see(10, 13, false) == Order::repeated);
  CHECK(watch.see(11, 14, false) == Order::late);
  CHECK(watch.see(13, 16, false) == Order::next);
  CHECK(watch.missing == 1);
  CHECK(watch.repaired == 2);
  CHECK(watch.gaps == 1);
  CHECK(watch.repeated == 2);
  CHECK(watch.restarts == 0);
  CHECK(watch.see(0, 20, true) == Order::restart);  // begins again, later than all before
  CHECK(watch.see(1, 21, false) == Order::next);
  CHECK(watch.see(9, 12, false) == Order::ahead);  // no gap of the life before is repaired by this one
  CHECK(watch.see(0, 20, true) == Order::repeated);
  CHECK(watch.see(0, 5, true) == Order::restart);  // its clock was set back
  CHECK(watch.restarts == 2);
}

TEST_CASE("events: a stream with a gap at every message takes bounded memory and counts on") {
  SequenceWatch watch;
  for (std::uint64_t sequence = 0; sequence < 200'000; sequence += 2)
    watch.see(sequence, static_cast<double>(sequence), false);
  CHECK(watch.gaps == 99'999);
  CHECK(watch.missing == 99'999);
  CHECK(watch.see(199'997, 199'997, false) == Order::late);
  CHECK(watch.see(1, 1, false) == Order::repeated);  // too long ago to be known
  CHECK(watch.see(~0ULL, 300'000, false) == Order::ahead);
}

TEST_CASE("events: the newest 1,024 gaps can be repaired, and what is repaired takes no room") {
  constexpr std::uint64_t kGaps = 1024;
  SequenceWatch watch;
  std::uint64_t sequence = 0;
  const auto ahead = [&](std::uint64_t by) {
    sequence += by;
    return watch.see(sequence, static_cast<double>(sequence), false);
  };
  ahead(0);
  for (std::uint64_t gap = 0; gap < kGaps; ++gap) CHECK(ahead(2) == Order::ahead);  // each misses one message
  CHECK(watch.see(sequence - 1, 0, false) == Order::late);
  CHECK(ahead(2) == Order::ahead);
  CHECK(watch.see(1, 0, false) == Order::late);  // the oldest was not forgotten for it
  CHECK(ahead(6) == Order::ahead);               // it misses five messages
  CHECK(watch.see(sequence - 3, 0, false) == Order::late);
  CHECK(watch.see(3, 0, false) == Order::repeated);  // forgotten for the two parts of the newest gap
  CHECK(watch.see(5, 0, false) == Order::late);
  CHECK(watch.see(sequence - 1, 0, false) == Order::late);
  CHECK(watch.see(sequence - 5, 0, false) == Order::late);
}
