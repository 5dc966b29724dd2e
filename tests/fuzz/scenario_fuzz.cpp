/// Hostile lines of scenarios: they are read, and a world of them is not made.
#include <conformance/model/world_config.h>
#include <program/mismatch.h>
#include <program/operation.h>

#include "fuzz.h"

namespace {

using namespace canopy;

void check(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at).substr(0, text.substr(at, end - at).find("->"));
    at = end + 1;
    try {
      const bool world = line.starts_with("engine") || line.starts_with("requests");
      if (!world) {
        const program::Operation operation = program::operation_of(line, program::Runner::index);
        const std::string written = program::text_of(operation);
        EXPECT(program::operation_of(written, program::Runner::index) == operation, written);
      } else {
        static_cast<void>(test::config_of(line));
      }
    } catch (const test::Mismatch& error) {
      EXPECT(error.what()[0] != 0, line);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(fuzz::text_of(data, size));
  return 0;
}
