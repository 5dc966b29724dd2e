/// The files of outputs, and the form of foreign text in them.
#include <canopy/base/atomic_file.h>
#include <canopy/base/printable.h>
#include <canopy/base/run_files.h>
#include <doctest/doctest.h>
#include <support/folder.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <canopy/base/yaml_document.h>
#include <bit>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace canopy;
namespace fs = std::filesystem;

namespace {

std::string slurp(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string why(const std::vector<RunFile>& inputs, const std::vector<RunFile>& outputs) {
  const auto apart = check_run_files(inputs, outputs);
  return apart ? "" : apart.error().text;
}

/// The length of the UTF-8 sequence that a text begins with, by its bits: 0 if it decodes to no character, or to one
/// that fewer bytes can hold.
std::size_t length_by_bits(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  const auto length = static_cast<std::size_t>(std::countl_one(first));
  if (length == 0) return 1;
  if (length == 1 || length > 4) return 0;
  std::uint32_t code = first & (0x7FU >> length);
  for (const char more : text.substr(1, length - 1)) {
    const std::uint32_t byte = static_cast<std::uint8_t>(more);
    if (byte >> 6 != 2) return 0;
    code = code << 6 | (byte & 0x3F);
  }
  const std::uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  return code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF) ? 0 : length;
}

}  // namespace

TEST_CASE("two names of one file are found: links, hard links, spellings, and files that are still to be made") {
  const test::Folder folder;
  const std::string trace = folder.file("t", "x");
  fs::create_symlink("t", folder.path() / "link");
  fs::create_hard_link(trace, folder.path() / "hard");
  fs::create_directory(folder.path() / "sub");
  fs::create_symlink("../new", folder.path() / "sub/dangling");
  for (const char* name : {"t", "link", "hard", "sub/../t", "./t"}) {
    CAPTURE(name);
    CHECK(why({{"--trace", trace}}, {{"--json", folder.at(name)}}) ==
          "--json " + in_quotes(folder.at(name)) + " is the same file as --trace " + in_quotes(trace) +
              ", which this run reads; nothing was written");
    CHECK_FALSE(why({{"--trace", folder.at(name)}}, {{"--json", trace}}).empty());
    CHECK_FALSE(why({}, {{"a", folder.at(name)}, {"b", trace}}).empty());
  }
  for (const char* name : {"new", "sub/../new", "sub/dangling"})
    CHECK(why({}, {{"a", folder.at("new")}, {"b", folder.at(name)}}).find("writes as well") != std::string::npos);
  CHECK_FALSE(why({}, {{"a", "/nowhere/./x"}, {"b", "/nowhere/y/../x"}}).empty());
  CHECK(why({{"i", trace}, {"j", trace}, {"k", ""}}, {{"a", folder.at("new")}, {"b", folder.at("other")}, {"c", ""}})
            .empty());
  CHECK(why({{"i", trace}}, {{"a", folder.at("sub/t")}}).empty());
}

TEST_CASE("a file is written whole, where its links lead, with the mode it had or the umask's") {
  const test::Folder folder;
  const auto mode = [&](const char* name) {
    struct stat facts{};
    return ::stat(folder.at(name).c_str(), &facts) == 0 ? facts.st_mode & 0777 : 0U;
  };
  fs::create_symlink("sub", folder.path() / "into");
  fs::create_directory(folder.path() / "sub");
  fs::create_symlink("into/target", folder.path() / "dangling");
  CHECK(write_file_atomically(folder.at("dangling"), "one"));
  CHECK(fs::is_symlink(folder.path() / "dangling"));
  CHECK(slurp(folder.at("sub/target")) == "one");
  const mode_t before = ::umask(027);
  CHECK(write_file_atomically(folder.at("new"), "text"));
  ::umask(before);
  CHECK(mode("new") == 0640);
  ::chmod(folder.at("new").c_str(), 0604);
  CHECK(write_file_atomically(folder.at("new"), "other"));
  CHECK(mode("new") == 0604);
  CHECK(slurp(folder.at("new")) == "other");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 4);  // no draft is left

  fs::create_symlink("loop", folder.path() / "loop");
  for (const char* path : {"loop", "sub", "nowhere/x"}) {
    CHECK_FALSE(can_write_file(folder.at(path)));
    CHECK_FALSE(write_file_atomically(folder.at(path), "text"));
  }
  CHECK(write_file_atomically("", "text").error().text == "the name of an output file is empty");
  if (::geteuid() != 0) {
    ::chmod(folder.at("new").c_str(), 0400);
    CHECK_FALSE(can_write_file(folder.at("new")));
  }
}

TEST_CASE("a file for which the disk has no room leaves the old one, and no draft") {
  const test::Folder folder;
  REQUIRE(write_file_atomically(folder.at("report"), "old"));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit few{8, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &few) == 0);
  const auto written = write_file_atomically(folder.at("report"), "longer than that");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  REQUIRE_FALSE(written);
  CHECK(written.error().text == folder.at("report") + ": could not be written: File too large");
  CHECK(slurp(folder.at("report")) == "old");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("utf8_length knows each pair of first bytes, up to the ends of each range") {
  for (unsigned first = 0; first < 256; ++first)
    for (unsigned second = 0; second < 256; ++second)
      for (const char* const rest : {"\x80\x80", "\xBF\xBF", "\x80z", "zz"}) {
        const std::string text = std::string{static_cast<char>(first), static_cast<char>(second)} + rest;
        const std::size_t length = utf8_length(text);
        REQUIRE_MESSAGE(length == length_by_bits(text), first << " " << second);
        if (length > 1) REQUIRE(utf8_length(std::string_view(text).substr(0, length - 1)) == 0);
      }
  CHECK(utf8_length("") == 0);
}

TEST_CASE("text of others is written out where a terminal would obey it or hide it") {
  CHECK(printable("plain \xC3\xA4 \xE2\x96\x88 \xF0\x9F\x8C\xB3") == "plain \xC3\xA4 \xE2\x96\x88 \xF0\x9F\x8C\xB3");
  CHECK(printable(std::string_view("\0\t\n\r\x1b\x7f", 6)) == "\\x00\\x09\\x0a\\x0d\\x1b\\x7f");
  CHECK(printable("\xC2\x9B\xC2\x85\xC2\xA0") == "\\u009b\\u0085\xC2\xA0");
  CHECK(printable("\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8\xEF\xBB\xBF\xD8\x9C") == "\\u202e\\u2066\\u2028\\ufeff\\u061c");
  CHECK(printable("\xF3\xA0\x80\x81") == "\\U000e0001");
  // Neither a cut sequence nor an overlong escape nor a surrogate is a character.
  CHECK(printable("\xE2\x80") == "\\xe2\\x80");
  CHECK(printable("\xC0\x9B\xED\xA0\x80\xFF") == "\\xc0\\x9b\\xed\\xa0\\x80\\xff");
  CHECK(printable_lines("a\nb\x1b\n") == "a\nb\\x1b\n");
  CHECK(in_quotes("a\n\xE2\x80\xAE") == "'a\\x0a\\u202e'");
  CHECK(in_quotes(std::string(1000, '\x1b')).size() == 48 * 4 + 5);
  // A dump that is printed reads back to the same text.
  for (const char* text : {"\x1b[2J", "\xE2\x80\xAE\"\\", "\xC2\x9B", "\xF3\xA0\x80\x81", "\x7f"}) {
    const std::string yaml = to_yaml(text);
    CHECK(printable(yaml) == yaml);
    const auto back = parse_yaml(yaml, "t");
    REQUIRE(back);
    CHECK(back->scalar == text);
  }
}
