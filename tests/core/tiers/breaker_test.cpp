#include <doctest/doctest.h>

#include <tiers/storage_calls.h>

using namespace canopy;

namespace {

void end_calls(Breaker& breaker, std::uint64_t now, int count, bool well) {
  for (int i = 0; i < count; ++i) {
    breaker.called();
    if (well) breaker.served(now);
    else breaker.failed(now);
  }
}

}  // namespace

TEST_CASE("breaker: five failures in a row open it, one call at a time tries, and three that end well close it") {
  Breaker breaker(0);
  end_calls(breaker, 1, 4, false);
  CHECK(breaker.may_call(1));
  end_calls(breaker, 1, 1, true);
  end_calls(breaker, 1, 5, false);
  CHECK_FALSE(breaker.may_call(1));
  CHECK(breaker.opened() == 1);
  CHECK_FALSE(breaker.may_call(100'000));
  REQUIRE(breaker.may_call(100'001));
  breaker.called();
  CHECK_FALSE(breaker.may_call(100'001));  // one at a time
  breaker.failed(100'002);
  CHECK(breaker.state(300'001) == Breaker::State::open);
  CHECK(breaker.state(300'002) == Breaker::State::half_open);
  end_calls(breaker, 300'002, 3, true);
  CHECK(breaker.state(300'002) == Breaker::State::closed);
}

TEST_CASE("breaker: it always finds its way back, within a second and a half") {
  Breaker breaker(0);
  std::uint64_t now = 0;
  end_calls(breaker, now, 5, false);
  for (int outage = 0; outage < 40; ++outage) {
    std::uint64_t waited = 0;
    while (!breaker.may_call(now)) now += 1000, waited += 1000;
    REQUIRE(waited <= 1'500'000);
    end_calls(breaker, now, 1, false);
  }
  now += 1'500'000;
  end_calls(breaker, now, 3, true);
  CHECK(breaker.state(now) == Breaker::State::closed);
  end_calls(breaker, now, 5, false);
  CHECK(breaker.may_call(now + 100'000));  // the next outage begins with a short wait
}

TEST_CASE("breaker: half of the last 32 calls open it, spread as they may be") {
  Breaker breaker(0);
  for (int i = 0; i < 15; ++i) end_calls(breaker, 0, 1, false), end_calls(breaker, 0, 1, true);
  CHECK(breaker.may_call(0));
  end_calls(breaker, 0, 1, false);
  CHECK_FALSE(breaker.may_call(0));
}

TEST_CASE("breaker: three damaged records within a thousand open it for the configured time") {
  Breaker hour(3'600'000'000), ever(~std::uint64_t{0}), rare(0);
  hour.checked(7, 64, 2);
  CHECK(hour.may_call(7));
  hour.checked(7, 64, 1);
  CHECK_FALSE(hour.may_call(3'600'000'006));
  CHECK(hour.may_call(3'600'000'007));
  ever.checked(7, 3, 3);
  CHECK_FALSE(ever.may_call(~std::uint64_t{0} - 1));
  for (int i = 0; i < 100; ++i) rare.checked(0, 600, 1);
  CHECK(rare.may_call(0));
  for (const auto& [between, opens] : {std::pair{997U, true}, {998U, false}}) {  // the first and the third, and these
    Breaker three(1);
    three.checked(0, 1, 1);
    three.checked(0, 1, 1);
    three.checked(0, between, 0);
    three.checked(0, 1, 1);
    CHECK(three.may_call(0) == !opens);
  }
}
