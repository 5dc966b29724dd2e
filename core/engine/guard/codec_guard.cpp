#include "guard/codec_guard.h"

#include <canopy/support/random.h>
#include <fmt/format.h>

namespace canopy {

std::span<const std::uint32_t> CodecGuard::useless(std::size_t got, std::size_t wanted, Scratch& scratch) const {
  wrong("encode", fmt::format("it gave {} words for {} tokens; these tokens are not reused", got, wanted));
  const std::span<std::uint32_t> words = scratch.words(wanted);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(splitmix64(++made_));
  return words;
}

}  // namespace canopy
