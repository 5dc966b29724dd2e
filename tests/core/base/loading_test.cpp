#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <type_traits>

#include <loaded_plugin.h>
#include "plugin_fixtures.h"

using namespace canopy::test;

TEST_CASE("loading: what is no file to load is refused with what it is") {
  const Scratch scratch;
  CHECK(refusal_of(scratch / "missing.so") == "there is no such file");
  CHECK(refusal_of(scratch.text("empty.so", "")) == "it is empty; expected an ELF shared library");
  CHECK(refusal_of(scratch.text("junk.so", "#!/bin/sh\n")) == "it is not an ELF file; expected an ELF shared library");
  CHECK(refusal_of(scratch.folder()) == "it is a folder; expected a regular file");
  CHECK(refusal_of("/dev/zero") == "it is a device; expected a regular file");

  // A reader of a FIFO waits for its writer, and there is none.
  REQUIRE(::mkfifo((scratch / "fifo.so").c_str(), 0600) == 0);
  CHECK(refusal_of(scratch / "fifo.so") == "it is a pipe; expected a regular file");

  fs::create_symlink("nowhere.so", scratch / "dangling.so");
  CHECK(refusal_of(scratch / "dangling.so") == "it is a symbolic link to nowhere.so, which does not exist");
  fs::create_symlink("circle.so", scratch / "circle.so");
  CHECK(contains(refusal_of(scratch / "circle.so"), "it cannot be reached: "));

  fs::resize_file(scratch.text("huge.so", "x"), (std::uintmax_t{256} << 20) + 1);  // a hole: takes no disk
  CHECK(refusal_of(scratch / "huge.so") == "it has 268435457 bytes; expected at most 268435456");
}

TEST_CASE("loading: a plugin that was cut short is refused wherever it ends") {
  const Scratch scratch;
  const fs::path file = scratch.copy_of(fixture("good"), "cut.so");
  for (std::uintmax_t size = (fs::file_size(file) - 1) / 512 * 512;; size -= 512) {
    CAPTURE(size);
    fs::resize_file(file, size);
    CHECK_FALSE(refusal_of(file).empty());
    if (size == 0) break;
  }
}

TEST_CASE("loading: a library the loader cannot complete is refused in the loader's words") {
  const Scratch scratch;
  std::ifstream in(fixture("good"), std::ios::binary);
  std::string library{std::istreambuf_iterator<char>(in), {}};
  const std::size_t needed = library.find(std::string(".so.6", 6));
  REQUIRE(needed != std::string::npos);
  library[needed + 4] = '9';
  const std::string why = refusal_of(scratch.text("incomplete.so", library));
  CHECK(contains(why, "the loader refuses it: "));
  CHECK(contains(why, ".so.9"));
}

TEST_CASE("loading: a library without a descriptor is refused and none of its code runs") {
  const Scratch scratch;
  const fs::path canary = scratch / "canary";
  REQUIRE(::setenv("CANOPY_CANARY", canary.c_str(), 1) == 0);
  CHECK(refusal_of(fixture("no_symbol")) ==
        "it does not export canopy_plugin_, so it is not a Canopy plugin and was not loaded");
  CHECK_FALSE(fs::exists(canary));
  // The canary works: it reports when a library is loaded.
  void* const loaded = ::dlopen(fixture("no_symbol").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loaded != nullptr);
  CHECK(fs::exists(canary));
  ::dlclose(loaded);
  ::unsetenv("CANOPY_CANARY");
}

TEST_CASE("loading: a descriptor that is not of this host's kind is refused with both sides") {
  CHECK(refusal_of(fixture("wrong_magic")) == "its magic is 0x21544f4e; expected 0x33504e43");
  CHECK(refusal_of(fixture("small_struct")) == "its CanopyPlugin has 8 bytes; expected at least 40");
  CHECK(refusal_of(fixture("other_toolchain")) ==
        "it was built for itanium/another_libc++/64; this host is " CANOPY_TOOLCHAIN);
  if (!kSanitized) CHECK_FALSE(is_mapped(fixture("wrong_magic")));

  const CanopyComponent component{};
  const CanopyPlugin good{
      canopy::kPluginMagic, sizeof(CanopyPlugin), CANOPY_TOOLCHAIN, "1", &component, sizeof component, 1};
  CHECK(canopy::why_unreadable(good).empty());
  const auto with = [&]<class Field>(Field CanopyPlugin::* field, std::type_identity_t<Field> value) {
    CanopyPlugin bad = good;
    bad.*field = value;
    return canopy::why_unreadable(bad);
  };
  CHECK(with(&CanopyPlugin::component_size, 40) ==
        "its CanopyComponent has 40 bytes; expected 56 to 4096, a multiple of 8");
  CHECK(with(&CanopyPlugin::component_size, 49) ==
        "its CanopyComponent has 49 bytes; expected 56 to 4096, a multiple of 8");
  CHECK(with(&CanopyPlugin::component_size, 1 << 20) ==
        "its CanopyComponent has 1048576 bytes; expected 56 to 4096, a multiple of 8");
  CHECK(with(&CanopyPlugin::component_size, 64).empty());  // a newer one, with a field more
  CHECK(with(&CanopyPlugin::size, 56).empty());
  CHECK(with(&CanopyPlugin::toolchain, nullptr) == "it does not name its toolchain; this host is " CANOPY_TOOLCHAIN);
  CHECK(with(&CanopyPlugin::version, nullptr) == "it has no version");
  CHECK(with(&CanopyPlugin::components, nullptr) == "it has 1 components, but its list of components is null");
  CHECK(with(&CanopyPlugin::count, 0) == "it has 0 components; expected 1 to 4096");
  CHECK(with(&CanopyPlugin::count, 4097) == "it has 4097 components; expected 1 to 4096");
}
