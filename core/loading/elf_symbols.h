#pragma once

#include <canopy/support/result.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace canopy {

/// What a shared library defines, read from its bytes without running any of it. Every offset, size and count
/// of the file is checked before it is followed, so hostile bytes cost one pass over them and nothing else.
class ElfSymbols {
 public:
  /// The error is one sentence that fits behind a file name. REQUIRES: `file` outlives the result.
  static Result<ElfSymbols> read(std::span<const std::byte> file);

  /// Whether .dynsym defines `name` so that a loader can find it by name.
  bool defines(std::string_view name) const { return address_of(name).has_value(); }
  /// Where it defines it, as the file counts addresses.
  std::optional<std::uint64_t> address_of(std::string_view name) const;

 private:
  ElfSymbols(std::span<const std::byte> symbols, std::span<const std::byte> names) : symbols_(symbols), names_(names) {}

  std::span<const std::byte> symbols_;
  std::span<const std::byte> names_;
};

}  // namespace canopy
