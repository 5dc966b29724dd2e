// boost::dll::library_info answers the same question, but trusts every offset: it reads out of bounds or never
// returns on a damaged file. What passes here needs no second opinion from it, so it is not used at all.

#include "elf_symbols.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace canopy {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "plugins can be loaded on x86-64 and aarch64; name the ELF machine of this one here"
#endif

using Bytes = std::span<const std::byte>;

std::optional<Bytes> part(Bytes file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.subspan(offset, size);
}

/// Entry `i` of a table, copied because a file promises no alignment. REQUIRES: the table has it.
template <class Entry>
Entry entry(Bytes table, std::size_t i) {
  Entry out;
  std::memcpy(&out, table.data() + i * sizeof(Entry), sizeof(Entry));
  return out;
}

std::string machine_name(Elf64_Half machine) {
  if (machine == EM_X86_64) return "x86-64";
  if (machine == EM_AARCH64) return "aarch64";
  return fmt::format("ELF machine {}", machine);
}

/// Why the identification in front of the file is not that of a library of this host; empty if it is.
std::string foreign(const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "it is not a 64-bit ELF file, this host loads 64-bit ones";
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return "it is not a little-endian ELF file, this host is little-endian";
  if (header.e_machine != kMachine)
    return fmt::format("it is built for {}, this host is {}", machine_name(header.e_machine), machine_name(kMachine));
  if (header.e_type != ET_DYN)
    return fmt::format("it is an ELF file of type {}, a shared library has type {}", header.e_type, ET_DYN);
  return {};
}

Error beyond(std::string_view what, std::size_t size) {
  return {fmt::format("its {} does not lie within its {} bytes, so it is cut short or damaged", what, size)};
}

}  // namespace

Result<ElfSymbols> ElfSymbols::read(Bytes file) {
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return Error{"it is not an ELF file, a plugin is an ELF shared library"};
  if (file.size() < sizeof(Elf64_Ehdr)) return beyond("ELF header", file.size());
  const auto header = entry<Elf64_Ehdr>(file, 0);
  if (std::string why = foreign(header); !why.empty()) return Error{std::move(why)};

  // The loader maps by program headers and touches what it mapped: a segment past the end would be a SIGBUS.
  const auto segments = part(file, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (!segments || header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr))
    return beyond("program header table", file.size());
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = entry<Elf64_Phdr>(*segments, i);
    if (segment.p_type == PT_NULL) continue;
    if (!part(file, segment.p_offset, segment.p_filesz) ||
        (segment.p_type == PT_LOAD && segment.p_filesz > segment.p_memsz))
      return beyond(fmt::format("segment {}", i), file.size());
  }

  // The section headers come last in what linkers write, so a file that was cut short anywhere fails here.
  const auto sections = part(file, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (!sections || header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return beyond("section header table", file.size());
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry<Elf64_Shdr>(*sections, i);
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto symbols = part(file, section.sh_offset, section.sh_size);
    if (!symbols || section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size % sizeof(Elf64_Sym) != 0)
      return beyond("dynamic symbol table", file.size());
    if (section.sh_link >= header.e_shnum) return beyond("table of symbol names", file.size());
    const auto strings = entry<Elf64_Shdr>(*sections, section.sh_link);
    const auto names = part(file, strings.sh_offset, strings.sh_size);
    if (strings.sh_type != SHT_STRTAB || !names) return beyond("table of symbol names", file.size());
    return ElfSymbols{*symbols, *names};
  }
  return Error{"it has no dynamic symbol table, a plugin exports its descriptor there"};
}

std::optional<std::uint64_t> ElfSymbols::address_of(std::string_view name) const {
  for (std::size_t i = 0; i < symbols_.size() / sizeof(Elf64_Sym); ++i) {
    const auto symbol = entry<Elf64_Sym>(symbols_, i);
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    if (symbol.st_shndx == SHN_UNDEF || (binding != STB_GLOBAL && binding != STB_WEAK)) continue;
    if (visibility != STV_DEFAULT && visibility != STV_PROTECTED) continue;
    const auto found = part(names_, symbol.st_name, name.size() + 1);
    if (found && std::memcmp(found->data(), name.data(), name.size()) == 0 && found->back() == std::byte{0})
      return symbol.st_value;
  }
  return std::nullopt;
}

}  // namespace canopy
