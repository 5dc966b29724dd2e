/// In place of libFuzzer, for compilers without it: seeded mutations of the files of some folders.
///   fuzz_NAME [-runs=N] [-max_total_time=SECONDS] [-seed=K] [-dict=FILE] FOLDER...
#include "fuzz.h"

#include <canopy/base/random.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                                             unsigned seed);
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using canopy::Random;

struct Fuzzing {
  std::vector<std::string> seeds, pieces;
  Random random{1};
};
Fuzzing fuzzing;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Lines "piece", as libFuzzer writes them: \" \\ and \xNN.
std::vector<std::string> pieces_of(const std::string& path) {
  std::vector<std::string> pieces;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 2 || line.front() != '"' || line.back() != '"') continue;
    std::string& piece = pieces.emplace_back();
    for (std::size_t i = 1; i + 1 < line.size(); ++i) {
      if (line[i] != '\\') piece += line[i];
      else if (line[i + 1] == 'x') piece += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16)), i += 3;
      else piece += line[++i];
    }
  }
  return pieces;
}

void mutate(std::string& text, std::size_t most) {
  Random& random = fuzzing.random;
  const std::size_t at = random.remainder(text.size() + 1);
  switch (random.remainder(7)) {
    case 0:
      if (!fuzzing.pieces.empty()) text.insert(at, fuzzing.pieces[random.remainder(fuzzing.pieces.size())]);
      break;
    case 1:
      text.erase(at, 1 + random.remainder(8));
      break;
    case 2:
      if (random.one_in(4)) text.resize(at);
      break;
    case 3:
      text.insert(at, text.substr(random.remainder(text.size() + 1), random.remainder(40)));
      break;
    case 4:
      text.insert(at, std::string(random.remainder(50), static_cast<char>(random.next())));
      break;
    case 5: {
      const std::string& other = fuzzing.seeds[random.remainder(fuzzing.seeds.size())];
      text.insert(at, other.substr(random.remainder(other.size() + 1), random.remainder(200)));
      break;
    }
    default:
      if (at < text.size()) text[at] = static_cast<char>(random.next());
  }
  if (text.size() > most) text.resize(most);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most) {
  std::string text(canopy::fuzz::text_of(data, size));
  mutate(text, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

int main(int count, char** arguments) {
  std::uint64_t runs = 20'000, seconds = 0;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const auto value = [&](const char* name) {
      return argument.starts_with(name) ? argument.substr(std::strlen(name)) : std::string();
    };
    if (const std::string of = value("-runs="); !of.empty()) runs = std::stoull(of);
    else if (const std::string all = value("-max_total_time="); !all.empty()) seconds = std::stoull(all), runs = ~0ULL;
    else if (const std::string seed = value("-seed="); !seed.empty()) fuzzing.random = Random(std::stoull(seed));
    else if (const std::string dict = value("-dict="); !dict.empty()) fuzzing.pieces = pieces_of(dict);
    else if (!argument.starts_with("-"))
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument))
        if (entry.is_regular_file()) fuzzing.seeds.push_back(bytes_of(entry.path()));
  }
  std::sort(fuzzing.seeds.begin(), fuzzing.seeds.end());  // not the order of a folder
  EXPECT(!fuzzing.seeds.empty(), "no folder with seeds");
  std::size_t most = 4096;
  for (const std::string& seed : fuzzing.seeds) {
    most = std::max(most, 2 * seed.size());
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(seed.data()), seed.size());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::vector<std::uint8_t> bytes(most);
  std::uint64_t run = 0;
  for (; run < runs && (seconds == 0 || run % 16 != 0 || std::chrono::steady_clock::now() < end); ++run) {
    const std::string& seed = fuzzing.seeds[fuzzing.random.remainder(fuzzing.seeds.size())];
    std::size_t size = seed.size();
    std::memcpy(bytes.data(), seed.data(), size);
    for (std::uint64_t change = 1 + fuzzing.random.remainder(8); change > 0; --change)
      size = LLVMFuzzerCustomMutator
                 ? LLVMFuzzerCustomMutator(bytes.data(), size, most, static_cast<unsigned>(fuzzing.random.next()))
                 : LLVMFuzzerMutate(bytes.data(), size, most);
    LLVMFuzzerTestOneInput(bytes.data(), size);
  }
  std::printf("%llu inputs from %zu seeds, no crash\n", static_cast<unsigned long long>(run), fuzzing.seeds.size());
}
