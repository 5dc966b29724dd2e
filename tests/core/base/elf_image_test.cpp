/// The checks of a plugin's file before any of its code runs.
#include <canopy/base/random.h>
#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include <support/sanitizers.h>
#include "plugin_fixtures.h"

using canopy::EvictionStrategy;
using canopy::Random;
using canopy::Registry;
using canopy::Trust;
using namespace canopy::test;

namespace {

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Loads a file and uses what it offers in a child process.
enum class Outcome { loaded, refused, died };
Outcome outcome_of(const fs::path& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    Registry registry;
    registry.add(file, Trust::as_ourselves);
    if (registry.offers().empty()) ::_exit(registry.refusals().empty() ? 9 : 1);
    for (const canopy::Offer& offer : registry.offers())
      if (auto policy = registry.make<EvictionStrategy>(offer.name, {})) (*policy)->rank({});
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return Outcome::died;
  return WEXITSTATUS(status) == 0 ? Outcome::loaded : WEXITSTATUS(status) == 1 ? Outcome::refused : Outcome::died;
}

/// A folder that no other user can change, up to the root; empty where there is none to write in.
fs::path safe_base() {
  const char* home = std::getenv("HOME");
  for (const fs::path& base : {own_folder(), fs::path(home != nullptr ? home : "/")}) {
    bool safe = ::access(base.c_str(), W_OK) == 0;
    for (fs::path folder = fs::canonical(base);; folder = folder.parent_path()) {
      struct stat facts;
      safe &= ::stat(folder.c_str(), &facts) == 0 && (facts.st_mode & 022U) == 0 &&
              (facts.st_uid == 0 || facts.st_uid == ::geteuid());
      if (folder == folder.parent_path()) break;
    }
    if (safe) return base;
  }
  return {};
}

}  // namespace

TEST_CASE("loading: every plugin of this build passes the checks of its file") {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(own_folder().parent_path() / "plugins")) {
    if (entry.path().extension() != ".so") continue;
    CAPTURE(entry.path().string());
    CHECK(refusal_of(entry.path()).empty());
    ++seen;
  }
  CHECK(seen >= 6);
}

TEST_CASE("loading: damaged program headers never end in a signal") {
  const Scratch scratch;
  const std::string good = bytes_of(fixture("good"));
  Elf64_Ehdr header;
  std::memcpy(&header, good.data(), sizeof(header));
  const std::size_t regions[][2] = {{0, sizeof(Elf64_Ehdr)},
                                    {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)},
                                    {header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr)},
                                    {header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)}};
  Random random(20'26);
  int loaded = 0, refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = good;
    const auto& [begin, size] = regions[random.below(4)];
    for (std::uint32_t changes = 1 + random.below(5); changes > 0; --changes) {
      char& byte = bytes[begin + random.below(static_cast<std::uint32_t>(size))];
      byte = static_cast<char>(random.one_in(2) ? random.below(256)
                                                : static_cast<unsigned char>(byte) ^ 1U << random.below(8));
    }
    // A name of its own each time: the loader knows files by their name and inode.
    const fs::path file = scratch.text(("d" + std::to_string(round) + ".so").c_str(), bytes);
    const Outcome outcome = outcome_of(file);
    CHECK_MESSAGE(outcome != Outcome::died, "mutation " << round);
    ++(outcome == Outcome::loaded ? loaded : refused);
    fs::remove(file);
  }
  CHECK(loaded > 20);
  CHECK(refused > 100);
}

TEST_CASE("loading: segments that a loader would follow are refused") {
  const Scratch scratch;
  const std::string good = bytes_of(fixture("good"));
  Elf64_Ehdr header;
  std::memcpy(&header, good.data(), sizeof(header));
  int number = 0;  // a name of its own for each: a file that is loaded must not change
  const auto refusal = [&](Elf64_Word type, auto change) {
    std::string bytes = good;
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
      if (segment.p_type != type) continue;
      change(segment);
      std::memcpy(bytes.data() + header.e_phoff + i * sizeof(segment), &segment, sizeof(segment));
      break;
    }
    return refusal_of(scratch.text(("s" + std::to_string(number++) + ".so").c_str(), bytes));
  };
  const std::string unmappable = "cannot be mapped, so it is damaged", no_section = "no section fits its segment at ";
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_memsz += std::uint64_t{1} << 40; }), unmappable));
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_memsz += 1 << 20; }), unmappable));
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_vaddr += 8; }), unmappable));
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_align = 3; }), unmappable));
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_flags = PF_X; }), unmappable));
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_flags = PF_R | PF_W | PF_X; }), unmappable));
  CHECK(contains(refusal(PT_LOAD, [](auto& load) { load.p_type = PT_NULL; }), "no segment fits its section at "));
  CHECK(contains(refusal(PT_GNU_RELRO, [](auto& relro) { relro.p_memsz += 8192; }), no_section));
  // mold writes it so where data of threads begins it; the loader reads no place in the file.
  CHECK(refusal(PT_GNU_RELRO, [](auto& relro) { relro.p_offset = relro.p_filesz = 0; }) == "");
  CHECK(contains(refusal(PT_DYNAMIC, [](auto& dynamic) { dynamic.p_vaddr += 16; }), no_section));
  CHECK(contains(refusal(PT_DYNAMIC, [](auto& dynamic) { dynamic.p_memsz -= 16; }), no_section));
  CHECK(contains(refusal(PT_GNU_STACK, [](auto& stack) { stack.p_flags |= PF_X; }), "it requires an executable stack"));
  CHECK(
      contains(refusal(PT_GNU_STACK, [](auto& stack) { stack.p_type = PT_NULL; }), "it requires an executable stack"));
  // Data of threads, all of it zeroes: a GiB is the most.
  const auto zeroes = [](std::uint64_t bytes) {
    return [bytes](auto& segment) {
      segment.p_type = PT_TLS, segment.p_filesz = 0, segment.p_memsz = bytes, segment.p_align = 8;
    };
  };
  if (!kAddressSanitizer && !kThreadSanitizer)  // they cannot live with so large a block of a thread's data
    CHECK(refusal(PT_GNU_EH_FRAME, zeroes(std::uint64_t{1} << 30)) == "");
  CHECK(contains(refusal(PT_GNU_EH_FRAME, zeroes((std::uint64_t{1} << 30) + 1)), no_section));
  for (const auto& [of_file, of_memory, align] : {std::tuple{16, 8, 8}, {8, 8, 3}})
    CHECK(contains(refusal(PT_GNU_EH_FRAME,
                           [&, file = of_file, memory = of_memory, step = align](auto& segment) {
                             segment.p_type = PT_TLS, segment.p_align = static_cast<Elf64_Xword>(step);
                             segment.p_filesz = static_cast<Elf64_Xword>(file);
                             segment.p_memsz = static_cast<Elf64_Xword>(memory);
                           }),
                   no_section));
  // A segment that is read-only from the start needs no protection later, so one with RELRO has another meaning.
  Elf64_Phdr frames{};
  for (std::size_t i = 0; i < header.e_phnum && frames.p_type != PT_GNU_EH_FRAME; ++i)
    std::memcpy(&frames, good.data() + header.e_phoff + i * sizeof(frames), sizeof(frames));
  REQUIRE(frames.p_type == PT_GNU_EH_FRAME);
  CHECK(contains(refusal(PT_GNU_RELRO,
                         [&](auto& relro) {
                           relro.p_vaddr = frames.p_vaddr, relro.p_offset = frames.p_offset;
                           relro.p_memsz = relro.p_filesz = frames.p_memsz;
                         }),
                 no_section));
}

TEST_CASE("loading: nothing of a refused file runs") {
  const Scratch scratch;
  const fs::path canary = scratch / "canary";
  REQUIRE(::setenv("CANOPY_CANARY", canary.c_str(), 1) == 0);
  CHECK(contains(refusal_of(fixture("wrong_magic")), "its magic is 0x21544f4e; expected "));
  CHECK(contains(refusal_of(fixture("small_struct")), "its CanopyPlugin has 8 bytes; expected at least "));
  CHECK(contains(refusal_of(fixture("other_toolchain")), "it was built for itanium/another_libc++/64; this host is "));
  CHECK_FALSE(fs::exists(canary));
  // The canary works: it reports when a library is loaded.
  CHECK(refusal_of(fixture("says_loaded")).empty());
  CHECK(fs::exists(canary));
  ::unsetenv("CANOPY_CANARY");
}

TEST_CASE("loading: a plugin may have other names") {
  const fs::path base = safe_base();
  if (base.empty()) {
    MESSAGE("no folder here has only safe folders above it: not tested");
    return;
  }
  const Scratch scratch(base);
  const fs::path good = scratch.copy_of(fixture("good"), "good.so");
  fs::create_hard_link(good, scratch / "as_profilers_do.bin");
  CHECK(refusal_of(good, Trust::strict).empty());
}
