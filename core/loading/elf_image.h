#pragma once

#include <canopy/support/result.h>
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace canopy {

/// A shared library as a loader would map it, read from its bytes without mapping it. The system's loader believes
/// program headers; here they are compared with the section headers, which say the same in other words.
class ElfImage {
 public:
  /// The error is one sentence that fits behind a file name. REQUIRES: ElfSymbols::read has accepted the file, which
  /// outlives the result.
  static Result<ElfImage> read(std::span<const std::byte> file);

  /// Bytes that the file has at an address; nothing where it has not that many.
  std::optional<std::span<const std::byte>> at(std::uint64_t address, std::uint64_t size) const;
  /// The text at an address, up to its zero byte.
  std::optional<std::string> text_at(std::uint64_t address) const;
  /// The address in a pointer of constant data, which a loader adds its own base to; nothing if it is no such pointer.
  std::optional<std::uint64_t> pointer_at(std::uint64_t address) const;
  /// The texts of an entry of the dynamic section, such as DT_NEEDED.
  std::vector<std::string> texts_of(Elf64_Sxword tag) const;

 private:
  explicit ElfImage(std::span<const std::byte> file) : file_(file) {}
  std::string flaw_of_loads() const;
  std::string flaw_of_sections() const;
  std::string flaw_of_others() const;
  std::string read_dynamic();
  const Elf64_Phdr* load_of(std::uint64_t address, std::uint64_t size) const;
  const Elf64_Shdr* section_at(std::uint64_t address) const;
  std::string name_of(const Elf64_Shdr& section) const;
  std::optional<std::uint64_t> value_of(Elf64_Sxword tag) const;

  std::span<const std::byte> file_;
  std::vector<Elf64_Phdr> segments_, loads_;
  std::vector<Elf64_Shdr> sections_;
  std::uint16_t names_ = 0;  ///< the section of sections' names
  std::vector<Elf64_Dyn> dynamic_;
};

}  // namespace canopy
