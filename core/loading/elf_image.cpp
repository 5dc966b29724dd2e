#include "elf_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace canopy {
namespace {

using Bytes = std::span<const std::byte>;

#if defined(__x86_64__)
constexpr std::uint64_t kRelative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
constexpr std::uint64_t kRelative = R_AARCH64_RELATIVE;
#endif

constexpr std::uint64_t kSystemPage = 4096;                          // the smallest there is
constexpr std::uint64_t kMostSegments = 64, kMostSections = 65'000;  // of a library that a linker made
constexpr std::uint64_t kMostZeroes = std::uint64_t{1} << 30;        // that a segment has behind what the file has
constexpr std::uint64_t kMostAddresses = std::uint64_t{1} << 32;     // between the first segment and the last
constexpr std::uint64_t kMostAlignment = std::uint64_t{1} << 30;

constexpr std::uint64_t round_down(std::uint64_t address) { return address & ~(kSystemPage - 1); }
constexpr std::uint64_t round_up(std::uint64_t address) { return round_down(address + kSystemPage - 1); }

/// Whether [address, address + size) lies in [begin, begin + room), without a sum that wraps.
constexpr bool within(std::uint64_t address, std::uint64_t size, std::uint64_t begin, std::uint64_t room) {
  return address >= begin && size <= room && address - begin <= room - size;
}

template <class Entry>
std::vector<Entry> table(Bytes file, std::uint64_t offset, std::size_t count) {
  std::vector<Entry> entries(count);
  std::memcpy(entries.data(), file.data() + offset, count * sizeof(Entry));
  return entries;
}

std::string damaged(const std::string& what) { return what + ", so it is damaged"; }

}  // namespace

Result<ElfImage> ElfImage::read(Bytes file) {
  const auto header = table<Elf64_Ehdr>(file, 0, 1)[0];
  if (header.e_phnum > kMostSegments || header.e_shnum > kMostSections)
    return Error{damaged(fmt::format("it has {} segments and {} sections", header.e_phnum, header.e_shnum))};
  ElfImage image(file);
  image.segments_ = table<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  image.sections_ = table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  image.names_ = header.e_shstrndx;
  for (const Elf64_Phdr& segment : image.segments_)
    if (segment.p_type == PT_LOAD) image.loads_.push_back(segment);
  for (const auto flaw : {&ElfImage::flaw_of_loads, &ElfImage::flaw_of_sections, &ElfImage::flaw_of_others})
    if (std::string why = (image.*flaw)(); !why.empty()) return Error{std::move(why)};
  if (std::string why = image.read_dynamic(); !why.empty()) return Error{std::move(why)};
  return image;
}

std::string ElfImage::flaw_of_loads() const {
  std::uint64_t end = 0;
  for (const Elf64_Phdr& load : loads_) {
    const auto wrong = [&](const char* what) {
      return damaged(fmt::format("a segment at address {:#x} {}", load.p_vaddr, what));
    };
    if (load.p_memsz < load.p_filesz || load.p_memsz - load.p_filesz > kMostZeroes)
      return wrong("has no possible size");
    if (load.p_vaddr > kMostAddresses || load.p_memsz > kMostAddresses) return wrong("lies too far from the others");
    if (!std::has_single_bit(load.p_align) || load.p_align < kSystemPage || load.p_align > kMostAlignment ||
        (load.p_vaddr - load.p_offset) % load.p_align != 0)
      return wrong("is not aligned as it says");
    if ((load.p_flags & PF_R) == 0) return wrong("cannot be read");
    if ((load.p_flags & (PF_W | PF_X)) == (PF_W | PF_X)) return wrong("can be written and run");
    if (end != 0 && round_down(load.p_vaddr) < end) return wrong("lies over the one before it");
    end = round_up(load.p_vaddr + load.p_memsz);
  }
  if (loads_.empty()) return damaged("it has no segment to load");
  return {};
}

/// Each section that is loaded lies in one segment, at the same place of the file, with the rights that it needs.
std::string ElfImage::flaw_of_sections() const {
  for (const Elf64_Shdr& section : sections_) {
    const bool thread_zeroes = section.sh_type == SHT_NOBITS && (section.sh_flags & SHF_TLS) != 0;
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0 || thread_zeroes) continue;
    const auto wrong = [&](const char* what) {
      return damaged(fmt::format("its section {} at address {:#x} {}", name_of(section), section.sh_addr, what));
    };
    const Elf64_Phdr* const load = load_of(section.sh_addr, section.sh_size);
    if (!load) return wrong("lies in no segment");
    if (((section.sh_flags & SHF_WRITE) != 0 && (load->p_flags & PF_W) == 0) ||
        ((section.sh_flags & SHF_EXECINSTR) != 0 && (load->p_flags & PF_X) == 0))
      return wrong("lies in a segment without its rights");
    const std::uint64_t in_file = load->p_vaddr + load->p_filesz;
    if (section.sh_type == SHT_NOBITS ? section.sh_addr < in_file
                                      : section.sh_addr + section.sh_size > in_file ||
                                            section.sh_addr - load->p_vaddr != section.sh_offset - load->p_offset)
      return wrong("has another place in its segment");
  }
  return {};
}

std::string ElfImage::flaw_of_others() const {
  int dynamic = 0;
  bool stack = false, thread_data = false;
  for (const Elf64_Phdr& segment : segments_) {
    const auto wrong = [&](const char* what) {
      return damaged(
          fmt::format("its segment of type {:#x} at address {:#x} {}", segment.p_type, segment.p_vaddr, what));
    };
    if (segment.p_type == PT_GNU_STACK) stack = (segment.p_flags & PF_X) == 0;
    if (segment.p_type == PT_TLS) {
      thread_data = true;
      if (!std::has_single_bit(std::max<std::uint64_t>(segment.p_align, 1)) || segment.p_align > kSystemPage ||
          segment.p_filesz > segment.p_memsz || segment.p_memsz > kMostZeroes)
        return wrong("has no possible size");
    }
    const bool by_address = segment.p_type == PT_DYNAMIC || segment.p_type == PT_TLS || segment.p_type == PT_NOTE ||
                            segment.p_type == PT_GNU_EH_FRAME || segment.p_type == PT_GNU_RELRO ||
                            segment.p_type == PT_GNU_PROPERTY || segment.p_type == PT_PHDR;
    if (!by_address || segment.p_memsz == 0) continue;
    const Elf64_Phdr* const load =
        load_of(segment.p_vaddr, segment.p_type == PT_TLS ? segment.p_filesz : segment.p_memsz);
    if (!load || segment.p_vaddr - load->p_vaddr != segment.p_offset - load->p_offset)
      return wrong("lies in no segment that is loaded");
    if (segment.p_type == PT_PHDR) continue;
    const Elf64_Shdr* const section = section_at(segment.p_vaddr);
    if (!section) return wrong("begins with no section");
    if (segment.p_type == PT_DYNAMIC) {
      ++dynamic;
      if (section->sh_type != SHT_DYNAMIC || section->sh_size != segment.p_memsz || (load->p_flags & PF_W) == 0)
        return wrong("is not the dynamic section");
    }
    if (segment.p_type == PT_GNU_RELRO) {
      if ((load->p_flags & PF_W) == 0) return wrong("was never to be written");
      for (const Elf64_Shdr& other : sections_)
        if (const std::string name = name_of(other); (name == ".data" || name == ".bss") && other.sh_size > 0 &&
                                                     other.sh_addr < round_down(segment.p_vaddr + segment.p_memsz) &&
                                                     other.sh_addr + other.sh_size > round_down(segment.p_vaddr))
          return wrong("makes data read-only that is written later");
    }
  }
  if (dynamic != 1) return damaged(fmt::format("it has {} dynamic sections, expected 1", dynamic));
  if (!stack) return "it wants a stack that can be executed";
  if (!thread_data && std::any_of(sections_.begin(), sections_.end(),
                                  [](const Elf64_Shdr& section) { return (section.sh_flags & SHF_TLS) != 0; }))
    return damaged("its data of threads lies in no segment");
  return {};
}

/// The dynamic section up to its end, with the tables that it names.
std::string ElfImage::read_dynamic() {
  const auto of_dynamic = std::find_if(segments_.begin(), segments_.end(),
                                       [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  const std::size_t count = of_dynamic->p_filesz / sizeof(Elf64_Dyn);
  dynamic_ = table<Elf64_Dyn>(file_, of_dynamic->p_offset, count);
  const auto end =
      std::find_if(dynamic_.begin(), dynamic_.end(), [](const Elf64_Dyn& one) { return one.d_tag == DT_NULL; });
  if (end == dynamic_.end()) return damaged("its dynamic section has no end");
  dynamic_.erase(end, dynamic_.end());
  struct Table {
    Elf64_Sxword address, size;  ///< size 0: of no known size
  };
  constexpr Table kTables[] = {{DT_STRTAB, DT_STRSZ},
                               {DT_SYMTAB, 0},
                               {DT_HASH, 0},
                               {DT_GNU_HASH, 0},
                               {DT_RELA, DT_RELASZ},
                               {DT_JMPREL, DT_PLTRELSZ},
                               {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
                               {DT_FINI_ARRAY, DT_FINI_ARRAYSZ},
                               {DT_VERSYM, 0},
                               {DT_VERNEED, 0},
                               {DT_VERDEF, 0},
                               {DT_INIT, 0},
                               {DT_FINI, 0},
                               {DT_PLTGOT, 0}};
  for (const Table& one : kTables)
    if (const auto address = value_of(one.address);
        address && !load_of(*address, std::max<std::uint64_t>(one.size ? value_of(one.size).value_or(0) : 1, 1)))
      return damaged(fmt::format("its dynamic section names address {:#x}, which lies in no segment", *address));
  return {};
}

const Elf64_Phdr* ElfImage::load_of(std::uint64_t address, std::uint64_t size) const {
  for (const Elf64_Phdr& load : loads_)
    if (within(address, size, load.p_vaddr, load.p_memsz)) return &load;
  return nullptr;
}

const Elf64_Shdr* ElfImage::section_at(std::uint64_t address) const {
  for (const Elf64_Shdr& section : sections_)
    if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_size > 0 && section.sh_addr == address) return &section;
  return nullptr;
}

std::string ElfImage::name_of(const Elf64_Shdr& section) const {
  if (names_ >= sections_.size()) return {};
  const Elf64_Shdr& names = sections_[names_];
  if (names.sh_type != SHT_STRTAB || !within(names.sh_offset, names.sh_size, 0, file_.size()) ||
      section.sh_name >= names.sh_size)
    return {};
  const char* const at = reinterpret_cast<const char*>(file_.data()) + names.sh_offset + section.sh_name;
  return {at, ::strnlen(at, std::min<std::uint64_t>(names.sh_size - section.sh_name, 32))};
}

std::optional<std::uint64_t> ElfImage::value_of(Elf64_Sxword tag) const {
  for (const Elf64_Dyn& one : dynamic_)
    if (one.d_tag == tag) return one.d_un.d_val;
  return std::nullopt;
}

std::optional<Bytes> ElfImage::at(std::uint64_t address, std::uint64_t size) const {
  const Elf64_Phdr* const load = load_of(address, size);
  if (!load || !within(address, size, load->p_vaddr, load->p_filesz)) return std::nullopt;
  return file_.subspan(load->p_offset + (address - load->p_vaddr), size);
}

std::optional<std::string> ElfImage::text_at(std::uint64_t address) const {
  const Elf64_Phdr* const load = load_of(address, 1);
  if (!load || address - load->p_vaddr >= load->p_filesz) return std::nullopt;
  const std::uint64_t most = load->p_filesz - (address - load->p_vaddr);
  const char* const text = reinterpret_cast<const char*>(at(address, most)->data());
  const std::size_t length = ::strnlen(text, most);
  return length < most ? std::optional(std::string(text, length)) : std::nullopt;
}

std::optional<std::uint64_t> ElfImage::pointer_at(std::uint64_t address) const {
  const auto relocations = at(value_of(DT_RELA).value_or(0), value_of(DT_RELASZ).value_or(0));
  for (std::size_t i = 0; relocations && i + sizeof(Elf64_Rela) <= relocations->size(); i += sizeof(Elf64_Rela)) {
    Elf64_Rela one;
    std::memcpy(&one, relocations->data() + i, sizeof(one));
    if (one.r_offset != address) continue;
    if (ELF64_R_TYPE(one.r_info) != kRelative) return std::nullopt;
    return static_cast<std::uint64_t>(one.r_addend);
  }
  // Packed relocations leave the address in place; a null pointer has none.
  const auto bytes = at(address, sizeof(std::uint64_t));
  if (!bytes) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes->data(), sizeof(value));
  return value;
}

std::vector<std::string> ElfImage::texts_of(Elf64_Sxword tag) const {
  std::vector<std::string> texts;
  const auto names = value_of(DT_STRTAB);
  for (const Elf64_Dyn& one : dynamic_)
    if (one.d_tag == tag && names)
      if (auto text = text_at(*names + one.d_un.d_val)) texts.push_back(std::move(*text));
  return texts;
}

}  // namespace canopy
