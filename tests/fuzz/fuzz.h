#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

/// Each target defines this function. With clang it is a libFuzzer target; main.cpp stands in for libFuzzer elsewhere.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace canopy::fuzz {

inline void expect(bool fact, const char* what, std::string_view about, const char* file) {
  if (fact) return;
  std::fprintf(stderr, "%s: not so: %s\n%.*s\n", file, what, static_cast<int>(about.size()), about.data());
  std::abort();
}

/// `about` is printed if it is not so.
#define EXPECT(fact, about) canopy::fuzz::expect(fact, #fact, about, __FILE__)

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Expects an error message of bad input: not empty, not all of the input, and nothing that a terminal obeys.
inline void expect_sentence(std::string_view sentence) {
  EXPECT(!sentence.empty() && sentence.size() < 20'000, sentence.substr(0, 200));
  for (const char c : sentence) EXPECT(c == '\n' || static_cast<unsigned char>(c) >= ' ', sentence);
}

/// A file without a name, and the path that leads to it.
class File {
 public:
  void hold(std::string_view bytes) {
    EXPECT(::ftruncate(descriptor_, 0) == 0 &&
               ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
           path());
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_ = ::memfd_create("fuzz", 0);
};

}  // namespace canopy::fuzz
