// Values for printers_test.py, which stops at the end of main() and prints them.
#include <canopy/base/result.h>
#include <canopy/feed/counters.h>
#include <canopy/types.h>
#include <radix/column.h>

#include <string>

namespace {
void stop() {}
}  // namespace

int main() {
  using namespace canopy;
  const Result<int> seven = 7;
  const Result<std::string> failed = Error{"there is no such file"};
  const NodeId node{(std::uint64_t{3} << 32) | 17}, no_node = NodeId::none;
  radix::Column<std::uint32_t> column;
  column.push_back(4), column.push_back(2);
  CounterValues counters;
  counters.at(Counter::fetches, 2) = 5;
  counters[Counter::loaded_tokens_storage] = 1;
  stop();
  return *seven == 7 && !failed && node != no_node ? 0 : 1;
}
