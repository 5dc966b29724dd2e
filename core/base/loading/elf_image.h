#pragma once

#include <canopy/base/result.h>
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

/// A shared library, read from its bytes; none of its code runs. Every offset, size and count in the file is checked
/// before it is used, so hostile bytes cost only one pass over them.
class ElfImage {
 public:
  /// Reads a file. The error is a message to follow a file name. REQUIRES: `file` outlives the result.
  static Result<ElfImage> read(std::span<const std::byte> file);

  /// Returns the address of a symbol that .dynsym exports; nothing if it exports no such symbol.
  std::optional<std::uint64_t> address_of(std::string_view name) const;
  /// Returns the bytes of the file at an address; nothing if it has fewer than `size` there.
  std::optional<std::span<const std::byte>> at(std::uint64_t address, std::uint64_t size) const;
  /// Returns the text at an address, up to its zero byte; nothing if there is none.
  std::optional<std::string> text_at(std::uint64_t address) const;
  /// Returns the address in a pointer of constant data, to which a loader adds its own base; nothing if it is no such
  /// pointer.
  std::optional<std::uint64_t> pointer_at(std::uint64_t address) const;

 private:
  explicit ElfImage(std::span<const std::byte> file) : file_(file) {}
  std::string read_segments(const Elf64_Ehdr& header);
  std::string read_sections(const Elf64_Ehdr& header);
  std::string check_layout() const;
  bool is_mapped(const Elf64_Shdr& section) const;
  bool agrees(Elf64_Phdr segment) const;
  /// Returns true if a loaded segment has these addresses, with these rights, at this place of the file.
  bool holds(const Elf64_Phdr& wanted) const;
  /// Returns the bytes from an address to the end of its segment in the file; empty if it is in no segment.
  std::span<const std::byte> from(std::uint64_t address) const;

  std::span<const std::byte> file_, symbols_, names_;
  std::vector<Elf64_Phdr> loads_, others_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::span<const std::byte>> relocations_;
};

}  // namespace canopy
