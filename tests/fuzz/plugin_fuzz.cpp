/// Hostile shared libraries: their bytes are read, and nothing of them is loaded.
#include <canopy/plugin.h>

#include <span>

#include "elf_image.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto image = canopy::ElfImage::read(std::as_bytes(std::span(data, size)));
  if (!image) return canopy::fuzz::expect_sentence(image.error().text), 0;
  const auto descriptor = image->address_of(canopy::kPluginSymbol);
  for (const std::uint64_t address : {descriptor.value_or(0), std::uint64_t{size}})
    static_cast<void>(image->text_at(image->pointer_at(address).value_or(address)));
  return 0;
}
