/// The contract in C99 once more, in this program: planted faults are noticed by it too.
#include <doctest/doctest.h>

extern "C" int contract(void);

TEST_CASE("the contract in C99 holds") { CHECK(contract() == 0); }
