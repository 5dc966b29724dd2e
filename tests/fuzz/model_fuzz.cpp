/// Hostile config.json files of models: what is read has a price that can be divided by.
#include <lab/model_memory.h>

#include <cmath>

#include "fuzz.h"

namespace {

using namespace canopy;

void try_config(std::string_view text) {
  const auto memory = lab::model_memory_of(text, "f");
  if (!memory) return fuzz::expect_sentence(memory.error().text);
  EXPECT(std::isfinite(memory->bytes_per_token) && memory->bytes_per_token > 0, memory->sentence);
  fuzz::expect_sentence(memory->sentence);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_config(fuzz::text_of(data, size));
  return 0;
}
