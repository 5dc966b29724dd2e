/// Tiers whose memory the system refuses: what finds none is dropped, no page is lost, and later ones are kept.
#include <support/address_limit.h>
#include <support/sanitizers.h>

#include "by_hand.h"

using namespace canopy;
using namespace canopy::test;

namespace {

constexpr std::uint64_t kLittle = std::uint64_t{16} << 20;  // less than a tier of the host takes at a time

bool has_no_limit() {
  if (kAddressSanitizer || kThreadSanitizer) MESSAGE("SKIPPED: a sanitizer cannot run with an address limit");
  return kAddressSanitizer || kThreadSanitizer;
}

}  // namespace

TEST_CASE("tier memory: what has no memory to be copied to is dropped") {
  if (has_no_limit()) return;
  const auto engine = stored_engine();
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  {
    const AddressLimit limit(kLittle);
    engine->make_free(0, 16);
  }
  CHECK(engine->tiers().counters()[Counter::dropped_tokens_host] == 40);
  CHECK(engine->tiers().counters()[Counter::written_tokens_host] == 0);
  CHECK(state_of(*engine).below->moving[0] == 0);
  engine->turn(1);
  CHECK(in_host(*engine) == 0);
  CHECK(ByHand::last->begun.empty());
  check_settled(*engine);
  CHECK(put_down(*engine) == prompt);
  check_settled(*engine);
}

TEST_CASE("tier memory: what has no memory to be brought to is not brought, and no request waits for it") {
  if (has_no_limit()) return;
  auto engine = stored_engine();
  const auto prompt = put_down(*engine);
  const auto kept = ByHand::last->kept;
  engine = stored_engine();
  ByHand::last->kept = kept;
  const Fetch fetch = engine->tiers().fetch(arrival(prompt));
  ByHand::last->end('f');
  {
    const AddressLimit limit(kLittle);
    engine->turn(1);
  }
  CHECK(fetch.done());
  CHECK(brings(*engine, BringOutcome::no_room) == 1);
  CHECK(state_of(*engine).below->moving[0] == 0);
  check_settled(*engine);
  const Fetch again = engine->tiers().fetch(arrival(prompt));
  ByHand::last->end('f');
  engine->turn(2);
  ByHand::last->end('g');
  engine->turn(3);
  CHECK(engine->tiers().counters()[Counter::loaded_tokens_storage] == 40);
}

TEST_CASE("tier memory: what has no memory for its record is not put, and stays in the host tier unlocked") {
  if (has_no_limit()) return;
  const auto engine = stored_engine({"store=none", "tiers.storage.write=through"});  // a record has a header alone
  const auto prompt = tokens(100, 41);
  leave(*engine, prompt);
  engine->make_free(0, 16);
  {
    const AddressLimit limit(kLittle);
    engine->turn(1);
  }
  CHECK(in_host(*engine) == 40);
  CHECK(state_of(*engine).below->index->sizes(0).protected_ == 0);
  CHECK(ByHand::last->begun.empty());
  check_settled(*engine);
}
