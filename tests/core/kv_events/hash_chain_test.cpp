#include <canopy/kv_events/hash_chain.h>
#include <doctest/doctest.h>

#include <vector>

// The numbers were computed once by Python's hashlib from the rule that hash_chain.h states, not by this code:
// sha256(before + b"".join(t.to_bytes(4, "little") for t in block)), and for a salt
// sha256(b"sglang-cache-salt-v1\0" + salt) before the first block.
namespace {

using namespace canopy;
using namespace canopy::kv_events;

const std::vector<Token> kFirst = {1, 2, 3, 4}, kSecond = {5, 6, 7, 0x01020304};

std::int64_t sglang_name(const Digest& digest) { return static_cast<std::int64_t>(SglangChain::name(digest).value); }

}  // namespace

TEST_CASE("events: SGLang's name of a block stands for its tokens and for all blocks before it") {
  SglangChain chain;
  const Digest first = chain.next(chain.root(), kFirst);
  CHECK(sglang_name(first) == -3488128144981237669);
  CHECK(sglang_name(chain.next(first, kSecond)) == -5117259567746940851);
}

TEST_CASE("events: a salt changes SGLang's name of the first block") {
  SglangChain chain;
  CHECK(sglang_name(chain.next(chain.root("tenant-a"), kFirst)) == 3718046898735569995);
}
