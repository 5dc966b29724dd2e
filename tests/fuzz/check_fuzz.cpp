/// Hostile files for canopy-dev check --replay: what is read is written as it was.
#include <check/faulty.h>
#include <check/program.h>

#include "fuzz.h"

namespace {

using namespace canopy;

const Registry& registry() {
  static const Registry loaded = [] {
    Registry all;
    all.scan(own_plugin_folder(), Trust::as_ourselves);
    check::add_faulty(all);
    return all;
  }();
  return loaded;
}

void try_file(std::string_view text) {
  const auto program = check::program_of(text, "f", registry());
  if (!program) return fuzz::expect_sentence(program.error().text);
  const std::string written = check::text_of(*program, {});
  const auto again = check::program_of(written, "f", registry());
  EXPECT(bool{again}, written + (again ? std::string() : again.error().text));
  EXPECT(check::text_of(*again, {}) == written, written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_file(fuzz::text_of(data, size));
  return 0;
}
