#include <elf_image.h>

#include <doctest/doctest.h>
#include <elf.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

using canopy::ElfImage;
using Bytes = std::vector<std::byte>;

constexpr const char* kSymbol = "canopy_plugin_";

/// Exactly as long as the file, so that AddressSanitizer sees one byte too many.
Bytes good_plugin() {
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::ifstream in(own.parent_path() / "bad_plugins" / "good.so", std::ios::binary);
  REQUIRE(in);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

template <class T>
T get(const Bytes& file, std::size_t offset) {
  T out;
  std::memcpy(&out, file.data() + offset, sizeof(T));
  return out;
}
template <class T>
void put(Bytes& file, std::size_t offset, T value) {
  std::memcpy(file.data() + offset, &value, sizeof(T));
}

std::string refusal(const Bytes& file) {
  const auto symbols = ElfImage::read(file);
  return symbols ? "" : symbols.error().text;
}

/// The refusal after one field of the ELF header was overwritten.
template <class T>
std::string refusal_with(std::size_t offset, T value) {
  Bytes file = good_plugin();
  put(file, offset, value);
  return refusal(file);
}

/// Returns the offset of the header of the dynamic symbol table.
std::size_t dynamic_symbols_of(const Bytes& file) {
  const auto header = get<Elf64_Ehdr>(file, 0);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const std::size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    if (get<Elf64_Shdr>(file, at).sh_type == SHT_DYNSYM) return at;
  }
  FAIL("the good plugin has a dynamic symbol table");
  return 0;
}

bool mentions(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a real plugin defines its descriptor, and only whole names are found") {
  const Bytes file = good_plugin();
  const auto symbols = ElfImage::read(file);
  REQUIRE(symbols);
  CHECK(symbols->address_of(kSymbol));
  CHECK_FALSE(symbols->address_of("canopy_plugin"));
  CHECK_FALSE(symbols->address_of("anopy_plugin_x"));
  CHECK_FALSE(symbols->address_of(""));
  // libstdc++'s own name for `delete`, which a plugin uses and does not define.
  CHECK_FALSE(symbols->address_of("_ZdlPvm"));
}

TEST_CASE("the error of a file that is no library of this machine describes the file") {
  const std::string not_elf = "it is not an ELF file; expected an ELF shared library";
  CHECK(refusal({}) == not_elf);
  CHECK(refusal(Bytes(4096, std::byte{'#'})) == not_elf);
  CHECK(refusal({std::byte{0x7f}, std::byte{'E'}, std::byte{'L'}}) == not_elf);
  CHECK(refusal({std::byte{0x7f}, std::byte{'E'}, std::byte{'L'}, std::byte{'F'}}) ==
        "its ELF header is not within its 4 bytes, so it is truncated or damaged");
  CHECK(refusal_with<std::uint8_t>(EI_CLASS, ELFCLASS32) == "it is not a 64-bit ELF file; this host loads only those");
  CHECK(refusal_with<std::uint8_t>(EI_DATA, ELFDATA2MSB) ==
        "it is not a little-endian ELF file; this host is little-endian");
  CHECK(mentions(refusal_with<Elf64_Half>(offsetof(Elf64_Ehdr, e_machine), EM_RISCV),
                 "it is built for ELF machine 243; this host is "));
  CHECK(refusal_with<Elf64_Half>(offsetof(Elf64_Ehdr, e_type), ET_REL) ==
        "it is an ELF file of type 1; expected a shared library, type 3");
}

TEST_CASE("every table of a library must lie within it") {
  const auto far = ~Elf64_Off{0} - 8;
  CHECK(mentions(refusal_with(offsetof(Elf64_Ehdr, e_phoff), far), "its program header table is not within"));
  CHECK(mentions(refusal_with(offsetof(Elf64_Ehdr, e_shoff), far), "its section header table is not within"));
  CHECK(mentions(refusal_with<Elf64_Half>(offsetof(Elf64_Ehdr, e_phnum), 0), "its program header table"));
  CHECK(mentions(refusal_with<Elf64_Half>(offsetof(Elf64_Ehdr, e_shnum), 0xffff), "its section header table"));
  CHECK(mentions(refusal_with<Elf64_Half>(offsetof(Elf64_Ehdr, e_shentsize), 1), "its section header table"));

  const Bytes good = good_plugin();
  const std::size_t first_segment = get<Elf64_Ehdr>(good, 0).e_phoff;
  Bytes file = good;
  put(file, first_segment + offsetof(Elf64_Phdr, p_filesz), far);
  CHECK(mentions(refusal(file), "its segment 0 is not within"));

  const std::size_t dynamic_symbols = dynamic_symbols_of(good);
  const auto with = [&](std::size_t field, auto value) {
    file = good;
    put(file, dynamic_symbols + field, value);
    return refusal(file);
  };
  CHECK(mentions(with(offsetof(Elf64_Shdr, sh_offset), far), "its dynamic symbol table is not within"));
  CHECK(mentions(with(offsetof(Elf64_Shdr, sh_size), far), "its dynamic symbol table is not within"));
  CHECK(mentions(with(offsetof(Elf64_Shdr, sh_entsize), Elf64_Xword{0}), "its dynamic symbol table"));
  CHECK(mentions(with(offsetof(Elf64_Shdr, sh_link), Elf64_Word{0xffff}), "its table of symbol names"));
  CHECK(with(offsetof(Elf64_Shdr, sh_type), Elf64_Word{SHT_PROGBITS}) ==
        "it has no dynamic symbol table, in which a plugin exports its descriptor");
}

TEST_CASE("a library that was cut short anywhere is refused") {
  const Bytes good = good_plugin();
  for (std::size_t size = 0; size < good.size(); size += 512) {
    CAPTURE(size);
    const Bytes file(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(refusal(file).empty());
  }
  CHECK_FALSE(refusal(Bytes(good.begin(), good.end() - 1)).empty());
}

TEST_CASE("thousands of damaged headers are read without a step outside the file") {
  const Bytes good = good_plugin();
  const auto header = get<Elf64_Ehdr>(good, 0);
  const auto dynamic_symbols = get<Elf64_Shdr>(good, dynamic_symbols_of(good));
  struct Region {
    std::size_t begin, size;
  };
  const Region regions[] = {{0, sizeof(Elf64_Ehdr)},
                            {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)},
                            {header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)},
                            {dynamic_symbols.sh_offset, dynamic_symbols.sh_size}};
  std::mt19937 random(20240607);
  Bytes file = good;
  int refused = 0, survived = 0;
  for (int round = 0; round < 8000; ++round) {
    const Region& region = regions[random() % std::size(regions)];
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
      file[region.begin + random() % region.size] = static_cast<std::byte>(random() % 3 ? random() & 0xff : 0xff);
    if (const auto symbols = ElfImage::read(file)) {
      ++survived;
      symbols->address_of(kSymbol);
    } else {
      ++refused;
      CHECK_FALSE(symbols.error().text.empty());
    }
    std::memcpy(file.data() + region.begin, good.data() + region.begin, region.size);
  }
  // Both ways were taken, so the loop above did look.
  CHECK(refused > 1000);
  CHECK(survived > 1000);
}
