/// Hostile engine files: what is read dumps to a text that reads to the same dump.
#include <canopy/engine/engine_file.h>

#include "fuzz.h"

namespace {

using namespace canopy;

const Registry& registry() {
  static const Registry loaded = [] {
    Registry all;
    all.scan(own_plugin_folder(), Trust::as_ourselves);
    return all;
  }();
  return loaded;
}

void check(std::string_view text) {
  const auto document = parse_yaml(text, "f");
  if (!document) return fuzz::expect_sentence(document.error().text);
  const auto config = read_engine_config(*document, registry());
  if (!config) return fuzz::expect_sentence(config.error().text);
  const std::string dump = dump_engine_config(*config, registry());
  const auto again = parse_yaml(dump, "dump");
  EXPECT(bool{again}, dump);
  const auto same = read_engine_config(*again, registry());
  EXPECT(bool{same}, dump + (same ? std::string() : same.error().text));
  EXPECT(dump_engine_config(*same, registry()) == dump, dump);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(fuzz::text_of(data, size));
  return 0;
}
