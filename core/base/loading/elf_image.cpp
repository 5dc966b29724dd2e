// boost::dll::library_info also finds symbols, but it trusts every offset: with a damaged file it reads out of bounds
// or never returns.

#include "elf_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace canopy {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr std::uint64_t kRelative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
constexpr std::uint64_t kRelative = R_AARCH64_RELATIVE;
#else
#error "plugins can be loaded on x86-64 and aarch64; name the ELF machine of this one here"
#endif

constexpr std::uint64_t kPage = 4096;  // Bytes of the smallest memory page of a system.
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

using Bytes = std::span<const std::byte>;

std::optional<Bytes> part(Bytes file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return std::nullopt;
  return file.subspan(offset, size);
}

/// Returns entry `i` of a table, copied because a file guarantees no alignment. REQUIRES: the table has it.
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

/// Returns an error message if the file header is not that of a library for this host, else an empty text.
std::string foreign(const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "it is not a 64-bit ELF file; this host loads only those";
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return "it is not a little-endian ELF file; this host is little-endian";
  if (header.e_machine != kMachine)
    return fmt::format("it is built for {}; this host is {}", machine_name(header.e_machine), machine_name(kMachine));
  if (header.e_type != ET_DYN)
    return fmt::format("it is an ELF file of type {}; expected a shared library, type {}", header.e_type, ET_DYN);
  return {};
}

std::string beyond(std::string_view what, std::size_t size) {
  return fmt::format("its {} is not within its {} bytes, so it is truncated or damaged", what, size);
}

constexpr std::uint64_t round_down(std::uint64_t address) { return address / kPage * kPage; }

bool is_alignment(std::uint64_t bytes, std::uint64_t most) { return (bytes & (bytes - 1)) == 0 && bytes <= most; }

/// Returns true if a loader can map a segment at `begin` or after it, and its bytes are not both writable and
/// executable.
bool mappable(const Elf64_Phdr& load, std::uint64_t begin) {
  return load.p_memsz - load.p_filesz <= kMost && load.p_vaddr <= 4 * kMost && round_down(load.p_vaddr) >= begin &&
         is_alignment(load.p_align, kMost) && load.p_align >= kPage && (load.p_flags & PF_R) != 0 &&
         (load.p_vaddr - load.p_offset) % load.p_align == 0 && (load.p_flags & (PF_W | PF_X)) != (PF_W | PF_X);
}

}  // namespace

Result<ElfImage> ElfImage::read(Bytes file) {
  if (file.size() < SELFMAG || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return Error{"it is not an ELF file; expected an ELF shared library"};
  if (file.size() < sizeof(Elf64_Ehdr)) return Error{beyond("ELF header", file.size())};
  const auto header = entry<Elf64_Ehdr>(file, 0);
  ElfImage image(file);
  std::string why = foreign(header);
  if (why.empty()) why = image.read_segments(header);
  if (why.empty()) why = image.read_sections(header);
  if (why.empty()) why = image.check_layout();
  if (!why.empty()) return Error{std::move(why)};
  return image;
}

std::string ElfImage::read_segments(const Elf64_Ehdr& header) {
  const auto segments = part(file_, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (!segments || header.e_phnum == 0 || header.e_phentsize != sizeof(Elf64_Phdr))
    return beyond("program header table", file_.size());
  if (header.e_phnum > 64) return fmt::format("it has {} segments; expected at most 64", header.e_phnum);
  std::uint64_t end = 0;  // Address of the first page after the segments so far.
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = entry<Elf64_Phdr>(*segments, i);
    const bool load = segment.p_type == PT_LOAD;
    if (segment.p_type == PT_NULL) continue;
    if (!part(file_, segment.p_offset, segment.p_filesz) || (load && segment.p_filesz > segment.p_memsz))
      return beyond(fmt::format("segment {}", i), file_.size());
    if (load && !mappable(segment, end)) return fmt::format("its segment {} cannot be mapped, so it is damaged", i);
    if (load) end = round_down(segment.p_vaddr + segment.p_memsz + kPage - 1);
    (load ? loads_ : others_).push_back(segment);
  }
  return {};
}

/// Reads the section headers. Linkers write them last, so a truncated file always fails here.
std::string ElfImage::read_sections(const Elf64_Ehdr& header) {
  const auto sections = part(file_, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  if (!sections || header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return beyond("section header table", file_.size());
  bool found = false;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry<Elf64_Shdr>(*sections, i);
    const auto content = part(file_, section.sh_offset, section.sh_size);
    sections_.push_back(section);
    if (section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) != 0) {
      if (!content) return beyond("table of relocations", file_.size());
      relocations_.push_back(*content);
    }
    if (section.sh_type != SHT_DYNSYM || found) continue;
    if (!content || section.sh_entsize != sizeof(Elf64_Sym) || section.sh_size % sizeof(Elf64_Sym) != 0)
      return beyond("dynamic symbol table", file_.size());
    if (section.sh_link >= header.e_shnum) return beyond("table of symbol names", file_.size());
    const auto strings = entry<Elf64_Shdr>(*sections, section.sh_link);
    const auto names = part(file_, strings.sh_offset, strings.sh_size);
    if (strings.sh_type != SHT_STRTAB || !names) return beyond("table of symbol names", file_.size());
    symbols_ = *content, names_ = *names, found = true;
  }
  return found ? "" : "it has no dynamic symbol table, in which a plugin exports its descriptor";
}

/// Compares the program headers, which the system's loader follows without a check, with the section headers, which it
/// does not read. Both describe the same layout, so a difference is damage.
std::string ElfImage::check_layout() const {
  for (const Elf64_Shdr& section : sections_)
    if (!is_mapped(section))
      return fmt::format("no segment fits its section at {:#x}, so it is damaged", section.sh_addr);
  bool stack = false;
  for (const Elf64_Phdr& segment : others_) {
    if (segment.p_type == PT_GNU_STACK) stack = (segment.p_flags & PF_X) == 0;
    else if (!agrees(segment))
      return fmt::format("no section fits its segment at {:#x}, so it is damaged", segment.p_vaddr);
  }
  return stack ? "" : "it requires an executable stack";
}

bool ElfImage::is_mapped(const Elf64_Shdr& section) const {
  const bool zeroes = section.sh_type == SHT_NOBITS, of_threads = (section.sh_flags & SHF_TLS) != 0;
  if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0) return true;
  if (of_threads && std::ranges::count(others_, Elf64_Word{PT_TLS}, &Elf64_Phdr::p_type) == 0) return false;
  Elf64_Phdr wanted{};
  wanted.p_vaddr = section.sh_addr, wanted.p_offset = section.sh_offset, wanted.p_memsz = section.sh_size;
  wanted.p_filesz = zeroes ? 0 : section.sh_size;
  if ((section.sh_flags & SHF_WRITE) != 0) wanted.p_flags |= PF_W;
  if ((section.sh_flags & SHF_EXECINSTR) != 0) wanted.p_flags |= PF_X;
  return (of_threads && zeroes) || holds(wanted);
}

bool ElfImage::agrees(Elf64_Phdr segment) const {
  if (segment.p_type == PT_TLS) {
    if (segment.p_memsz > kMost || segment.p_filesz > segment.p_memsz || !is_alignment(segment.p_align, kPage))
      return false;
    segment.p_memsz = segment.p_filesz;  // The zeros of each thread are elsewhere.
  }
  if (segment.p_memsz == 0) return true;
  if (segment.p_type == PT_GNU_RELRO) {
    // The loader reads its place in memory only. mold writes no place in the file where data of threads begins it.
    segment.p_flags |= PF_W;
    for (const Elf64_Phdr& load : loads_)
      if (segment.p_vaddr >= load.p_vaddr && segment.p_vaddr - load.p_vaddr < load.p_filesz)
        segment.p_offset = load.p_offset + (segment.p_vaddr - load.p_vaddr), segment.p_filesz = 1;
  }
  const std::uint64_t end = segment.p_vaddr + segment.p_memsz;
  bool begins = segment.p_type == PT_PHDR;
  for (const Elf64_Shdr& section : sections_) {
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0) continue;
    begins |= section.sh_addr == segment.p_vaddr &&
              (segment.p_type != PT_DYNAMIC || (section.sh_type == SHT_DYNAMIC && section.sh_size == segment.p_memsz));
    // Relro makes whole pages read-only. It covers at most three words of a section that is written later (.got.plt).
    if (segment.p_type == PT_GNU_RELRO && (section.sh_flags & SHF_TLS) == 0 && section.sh_addr + 24 < round_down(end) &&
        section.sh_addr + section.sh_size > end)
      return false;
  }
  return begins && holds(segment);
}

bool ElfImage::holds(const Elf64_Phdr& wanted) const {
  return std::ranges::any_of(loads_, [&](const Elf64_Phdr& load) {
    const std::uint64_t in_load = wanted.p_vaddr - load.p_vaddr;
    const bool in_file = in_load + wanted.p_filesz <= load.p_filesz && in_load == wanted.p_offset - load.p_offset;
    return in_load <= load.p_memsz && wanted.p_memsz <= load.p_memsz - in_load &&
           (load.p_flags & wanted.p_flags) == wanted.p_flags &&
           (wanted.p_filesz == 0 ? in_load >= load.p_filesz : in_file);
  });
}

std::optional<std::uint64_t> ElfImage::address_of(std::string_view name) const {
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

Bytes ElfImage::from(std::uint64_t address) const {
  for (const Elf64_Phdr& load : loads_)
    if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
      return file_.subspan(load.p_offset, load.p_filesz).subspan(address - load.p_vaddr);
  return {};
}

std::optional<Bytes> ElfImage::at(std::uint64_t address, std::uint64_t size) const {
  return part(from(address), 0, size);
}

std::optional<std::string> ElfImage::text_at(std::uint64_t address) const {
  const Bytes bytes = from(address);
  const char* const text = reinterpret_cast<const char*>(bytes.data());
  const std::size_t length = bytes.empty() ? 0 : ::strnlen(text, bytes.size());
  return length < bytes.size() ? std::optional(std::string(text, length)) : std::nullopt;
}

std::optional<std::uint64_t> ElfImage::pointer_at(std::uint64_t address) const {
  for (const Bytes table : relocations_)
    for (std::size_t i = 0; i < table.size() / sizeof(Elf64_Rela); ++i) {
      const auto one = entry<Elf64_Rela>(table, i);
      if (one.r_offset != address) continue;
      if (ELF64_R_TYPE(one.r_info) != kRelative) return std::nullopt;
      return static_cast<std::uint64_t>(one.r_addend);
    }
  // Packed relocations leave the address in place; a null pointer has no relocation.
  const auto bytes = at(address, sizeof(std::uint64_t));
  return bytes ? std::optional(entry<std::uint64_t>(*bytes, 0)) : std::nullopt;
}

}  // namespace canopy
