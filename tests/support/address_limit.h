#pragma once

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace canopy::test {

/// While it lives, the process may map only so many more bytes. REQUIRES: no sanitizer that maps for itself.
class AddressLimit {
 public:
  explicit AddressLimit(std::uint64_t more) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + more;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~AddressLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressLimit(const AddressLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace canopy::test
