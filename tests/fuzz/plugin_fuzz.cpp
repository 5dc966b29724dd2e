/// Hostile shared libraries: their bytes are read, and nothing of them is loaded.
#include <canopy/plugin.h>

#include <span>

#include "elf_symbols.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto symbols = canopy::ElfSymbols::read(std::as_bytes(std::span(data, size)));
  if (!symbols) canopy::fuzz::expect_sentence(symbols.error().text);
  else static_cast<void>(symbols->defines(canopy::kPluginSymbol));
  return 0;
}
