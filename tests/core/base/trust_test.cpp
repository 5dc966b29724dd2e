#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "plugin_fixtures.h"

using canopy::Trust;
using namespace canopy::test;

namespace {

/// Returns true if another user could change what a folder below `folder` is. The sticky /tmp does not let them.
bool others_can_write_above(fs::path folder) {
  for (;; folder = folder.parent_path()) {
    struct stat facts;
    if (::stat(folder.c_str(), &facts) != 0) return true;
    if ((facts.st_mode & 022U) != 0 && (facts.st_mode & S_ISVTX) == 0) return true;
    if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) return true;
    if (folder == folder.parent_path()) return false;
  }
}

}  // namespace

TEST_CASE("loading: in a folder that the user named, only root and ourselves may be able to change a plugin") {
  const Scratch scratch;
  const fs::path file = scratch.copy_of(fixture("good"), "good.so");
  const auto with_mode = [&](mode_t mode) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    return refusal_of(file, Trust::strict);
  };
  CHECK(with_mode(0775) == "users other than its owner can write to it (its mode is 0775; expected at most 0755)");
  CHECK(with_mode(0757) == "users other than its owner can write to it (its mode is 0757; expected at most 0755)");
  CHECK(with_mode(04755) ==
        "it is set-user-ID or set-group-ID; expected a plain file (its mode is 4755; expected at most 0755)");
  REQUIRE(::chmod(file.c_str(), 0755) == 0);

  const Scratch elsewhere;
  fs::create_symlink(file, elsewhere / "link.so");
  CHECK(refusal_of(elsewhere / "link.so", Trust::strict) ==
        "it is a symbolic link out of its folder, to " + file.string());
  CHECK(refusal_of(elsewhere / "link.so").empty());

  REQUIRE(::chmod(scratch.folder().c_str(), 0775) == 0);
  CHECK(refusal_of(file, Trust::strict) == "users other than its owner can write to the folder " +
                                               scratch.folder().string() +
                                               " (its mode is 0775; expected at most 0755)");
  CHECK(refusal_of(file, Trust::as_ourselves).empty());
  REQUIRE(::chmod(scratch.folder().c_str(), 0700) == 0);
  if (!others_can_write_above(scratch.folder())) CHECK(refusal_of(file, Trust::strict).empty());

  // A folder above that others can write is accepted only with the sticky bit, the folder of the plugin never.
  const fs::path inner = scratch / "inner";
  fs::create_directory(inner);
  fs::permissions(inner, fs::perms::owner_all);
  fs::copy(file, inner / "below.so");
  const auto above_with = [&](mode_t mode) {
    REQUIRE(::chmod(scratch.folder().c_str(), mode) == 0);
    return refusal_of(inner / "below.so", Trust::strict);
  };
  CHECK(above_with(0777) == "users other than its owner can write to the folder " + scratch.folder().string() +
                                " (its mode is 0777; expected at most 0755)");
  if (!others_can_write_above(scratch.folder().parent_path())) {
    CHECK(above_with(01777).empty());
    CHECK(contains(refusal_of(file, Trust::strict), "users other than its owner can write to the folder "));
  }
  REQUIRE(::chmod(scratch.folder().c_str(), 0700) == 0);

  if (::geteuid() == 0) {
    REQUIRE(::chown(file.c_str(), 4711, ::getegid()) == 0);
    CHECK(refusal_of(file, Trust::strict) == "it belongs to user 4711; expected root or user 0");
    REQUIRE(::chown(file.c_str(), 0, ::getegid()) == 0);
    REQUIRE(::chown(scratch.folder().c_str(), 4711, ::getegid()) == 0);
    CHECK(refusal_of(file, Trust::strict) ==
          "the folder " + scratch.folder().string() + " belongs to user 4711; expected root or user 0");
    REQUIRE(::chown(scratch.folder().c_str(), 0, ::getegid()) == 0);
  }
}

TEST_CASE("loading: a folder that only root and ourselves can write is accepted when the user names it") {
  const char* home = std::getenv("HOME");
  for (const fs::path& base : {own_folder(), fs::path(home != nullptr ? home : "/")}) {
    if (::access(base.c_str(), W_OK) != 0 || others_can_write_above(fs::canonical(base))) continue;
    const Scratch scratch(base);
    const fs::path file = scratch.copy_of(fixture("good"), "real.so");
    fs::create_symlink("real.so", scratch / "alias.so");  // stays in its folder
    CHECK(refusal_of(file, Trust::strict).empty());
    CHECK(refusal_of(scratch / "alias.so", Trust::strict).empty());
    return;
  }
  MESSAGE("no folder here has only safe folders above it: not tested");
}
