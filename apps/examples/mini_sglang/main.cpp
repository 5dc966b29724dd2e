#include <fmt/format.h>

#include <cstdio>
#include <numeric>
#include <string>

#include "cache_manager.h"

namespace {

using namespace canopy;
using namespace canopy::examples;

/// Returns a system prompt that all requests share, followed by one request's question.
std::vector<Token> prompt(Token question, std::size_t length) {
  std::vector<Token> ids(length);
  std::iota(ids.begin(), ids.end(), 100U);
  for (std::size_t i = 12; i < length; ++i) ids[i] = question + static_cast<Token>(i);
  return ids;
}

void show(const char* what, CacheManager& manager) {
  const SizeInfo sizes = manager.prefixes().size_info();
  fmt::print("  {:<62} {:>3} evictable {:>3} protected {:>3} free pages\n", what, sizes.evictable, sizes.protected_,
             manager.free_pages());
}

void walk_through(const Registry& registry, const std::string& index) {
  constexpr Units kPage = 4;
  CacheManager manager(registry, index, 16, kPage);
  fmt::print("mini-sglang's cache over the index '{}', 16 pages of {} tokens\n\n", index, kPage);
  show("at the start", manager);

  Running first = manager.begin(prompt(1'000, 18)), second = manager.begin(prompt(2'000, 20));
  show("two requests run that begin alike, of 18 and 20 tokens", manager);

  manager.cache(first, true);
  show("the first is finished", manager);

  const Slot before = second.row[0];
  manager.cache(second, false);
  show("the second has inserted its prompt, and runs on", manager);
  fmt::print("    the first token of its row was in slot {} before, and is in slot {} now\n", before, second.row[0]);

  Running third = manager.begin(prompt(1'000, 18));
  fmt::print("  the first prompt comes again: {} of 18 tokens are reused\n", third.handle.cached_len());
  manager.cache(third, true);
  manager.cache(second, true);
  show("all are finished", manager);

  // Needs more pages than are free: the cache evicts some and hands them to its caller.
  Running large = manager.begin(prompt(3'000, 60));
  show("a request of 60 tokens runs: cached pages were evicted for it", manager);
  manager.cache(large, true);
  manager.check_integrity();
  show("it is finished, and no page is missing", manager);

  try {
    manager.prefixes().evict(1'000);
  } catch (const CacheError& error) {
    fmt::print("  a request that is too large fails: {}\n", error.what());
  }
}

}  // namespace

/// usage: mini_sglang [radix|null]
int main(int argc, char** argv) {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  try {
    walk_through(registry, argc > 1 ? argv[1] : "radix");
  } catch (const CacheError& error) {
    std::fputs((std::string(error.what()) + "\n").c_str(), stderr);
    return 2;
  }
  return 0;
}
