/// Hostile lines of a Mooncake trace. With -fsanitize=fuzzer it is a libFuzzer target; with CANOPY_FUZZ_MAIN
/// defined it is a program that mutates its own seeds: `trace_fuzz [RUNS [SEED]]`.
#include <workload/mooncake_line.h>
#include <workload/random.h>
#include <workload/text.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

namespace {

using namespace canopy::workload;

void expect(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "trace_fuzz: not so: %s\n", what);
  std::abort();
}

#define EXPECT(fact) expect(fact, #fact)

void check_line(std::string_view text) {
  static MooncakeLine line;  // kept, as a trace keeps it: what an earlier line left must not matter
  const auto problem = read_mooncake_line(text, kMooncakeBlock, line);
  if (problem) {
    EXPECT(!problem->text.empty() && problem->text.size() < 300);
    EXPECT(problem->column <= text.size() + 1);
    for (const char c : problem->text) EXPECT(c >= ' ' && c <= '~');
  } else {
    EXPECT(line.input_length <= kMaxPromptTokens && line.output_length <= kMaxPromptTokens);
    EXPECT(line.hash_ids.size() == (line.input_length + kMooncakeBlock - 1) / kMooncakeBlock);
    for (const std::uint64_t id : line.hash_ids) EXPECT(id <= ~std::uint64_t{0} / kMooncakeBlock);
    EXPECT(text.find('\0') == text.npos);
  }
  MooncakeLine fresh;
  const auto again = read_mooncake_line(text, kMooncakeBlock, fresh);
  EXPECT(problem.has_value() == again.has_value());
  if (problem) EXPECT(problem->text == again->text && problem->column == again->column);
  if (!problem) EXPECT(line.hash_ids == fresh.hash_ids && line.timestamp == fresh.timestamp);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  check_line(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifdef CANOPY_FUZZ_MAIN
namespace {

constexpr std::string_view kSeeds[] = {
    R"({"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0,1,2,3,4,5,6,7,8,9,10,11,12,13]})",
    R"({"timestamp": 27482, "input_length": 3, "output_length": 1, "hash_ids": [46]})",
    R"({"hash_ids":[],"output_length":0,"input_length":0,"timestamp":1e3})",
    R"({"x": [[[[{"y": "\ud83d\ude00\u0000"}]]]], "timestamp": -0, "input_length": 1.5, "hash_ids": [-1, 18446744073709551616]})",
};
constexpr std::string_view kPieces[] = {"{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "\\u0000",
                                        "-",
                                        "1e999",
                                        "0.5",
                                        "NaN",
                                        "null",
                                        "true",
                                        "18446744073709551615",
                                        "100000001",
                                        "\"hash_ids\":",
                                        "\xFF",
                                        "\"timestamp\": 0,",
                                        "[[[[[[[[",
                                        "\x1b[2J",
                                        "/*",
                                        "\xEF\xBB\xBF"};

std::string mutated(canopy::Random& random) {
  std::string line(kSeeds[random.remainder(std::size(kSeeds))]);
  for (std::uint64_t change = 1 + random.remainder(6); change > 0; --change) {
    const std::size_t at = random.remainder(line.size() + 1);
    switch (random.remainder(5)) {
      case 0:
        line.insert(at, kPieces[random.remainder(std::size(kPieces))]);
        break;
      case 1:
        line.erase(at, random.remainder(8));
        break;
      case 2:
        line.resize(at);
        break;
      case 3:
        line.insert(at, line.substr(random.remainder(line.size() + 1), random.remainder(40)));
        break;
      default:
        if (at < line.size()) line[at] = static_cast<char>(random.remainder(256));
    }
  }
  return line;
}

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t runs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 200'000;
  canopy::Random random(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1, 1);
  for (const std::string_view seed : kSeeds) check_line(seed);
  for (std::uint64_t i = 0; i < runs; ++i) check_line(mutated(random));
  std::printf("trace_fuzz: %llu lines\n", static_cast<unsigned long long>(runs));
}
#endif
