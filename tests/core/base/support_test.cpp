/// Helpers that all rooms share: figures as people read them, and files.
#include <canopy/base/figures.h>
#include <canopy/base/file.h>
#include <canopy/base/printable.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

using namespace canopy;

TEST_CASE("figures: numbers are grouped, rounded and carry units") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1204331) == "1,204,331");
  CHECK(plural(1, "node") == "1 node");
  CHECK(plural(12031, "node") == "12,031 nodes");
  CHECK(brief(812) == "812");
  CHECK(brief(999.7) == "1.0 k");
  CHECK(brief(41234) == "41.2 k");
  CHECK(brief(1'000'000) == "1.0 M");
  CHECK(brief(900e9) == "900.0 G");
  CHECK(brief(2'500e12) == "2500.0 T");
  CHECK(bytes(1023) == "1023 B");
  CHECK(bytes(std::uint64_t{3} << 19) == "1.5 MiB");
  CHECK(bytes(std::uint64_t{900} << 30) == "900.0 GiB");
  CHECK(bytes(std::uint64_t{1} << 60) == "1048576.0 TiB");
  CHECK(percent(0.13986) == "13.99 %");
  CHECK(percent(362, 1000) == "36.2 %");
  CHECK(percent(0, 0) == "-");
}

TEST_CASE("figures: a measured time keeps its digits, a duration turns into minutes and hours") {
  CHECK(seconds(0) == "0 s");
  CHECK(seconds(2.5e-9) == "2.5 ns");
  CHECK(seconds(340e-9) == "340 ns");
  CHECK(seconds(2.1e-6) == "2.1 us");
  CHECK(seconds(0.0682) == "68.2 ms");
  CHECK(seconds(75.5) == "75.50 s");
  CHECK(duration(2.1e-6) == "2.1 us");
  CHECK(duration(59) == "59.00 s");
  CHECK(duration(60) == "1 min 0 s");
  CHECK(duration(200) == "3 min 20 s");
  CHECK(duration(36'000) == "10 h 0 min");
  CHECK(duration(7530) == "2 h 5 min");
}

TEST_CASE("UniqueFd closes what it owns, once, and keeps errno") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto open = [](int number) { return ::fcntl(number, F_GETFD) >= 0; };
  {
    UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    UniqueFd other(std::move(reader));
    CHECK_FALSE(reader);
    CHECK(other.get() == ends[0]);
    writer = std::move(other);
    CHECK(writer.get() == ends[0]);
    CHECK_FALSE(open(ends[1]));
    CHECK(open(ends[0]));
    errno = EXDEV;
  }
  CHECK(errno == EXDEV);
  CHECK_FALSE(open(ends[0]));
}

TEST_CASE("open_regular opens files alone, and never waits for a pipe") {
  const auto folder = std::filesystem::temp_directory_path() / ("canopy-open-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto kind = [](const std::string& path) {
    const OpenedFile file = open_regular(path);
    CHECK(file.error == 0);
    CHECK_FALSE(file.descriptor);
    return std::string(kind_of(file.facts.st_mode));
  };
  CHECK(kind(folder) == "a folder");
  CHECK(kind("/dev/null") == "a device");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(kind(folder / "pipe") == "a pipe");
  CHECK(open_regular(folder / "none").error == ENOENT);

  std::ofstream(folder / "file") << "12345";
  const OpenedFile file = open_regular(folder / "file");
  REQUIRE(file.descriptor);
  CHECK(file.facts.st_size == 5);
  CHECK((::fcntl(file.descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);
  std::filesystem::create_symlink("file", folder / "link");
  CHECK(open_regular(folder / "link").descriptor);
  const OpenedFile link = open_regular(folder / "link", O_NOFOLLOW);
  CHECK_FALSE(link.descriptor);
  CHECK(link.error == ELOOP);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a field of a CSV runs nowhere, moves no cursor, and is one field") {
  CHECK(csv_field("acme") == "acme");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("a\"b") == "\"a\"\"b\"");
  for (const char* formula : {"=cmd|calc!A0", "@SUM(A1)", "-2+3", "+1"})
    CHECK(csv_field(formula) == "'" + std::string(formula));
  CHECK(csv_field("a\x1b[31m\nb") == "a\\x1b[31m\\x0ab");
  CHECK(csv_field("").empty());
}

TEST_CASE("different names are shown as different names, and none as the program's own") {
  CHECK(shown_name("") == "(shared)");
  CHECK(shown_name("shared") == "shared");
  CHECK(shown_name("(shared)") == "'(shared)'");
  CHECK(shown_name("'(shared)'") == "''(shared)''");
  CHECK(shown_name("a (b)") == "a (b)");
}
