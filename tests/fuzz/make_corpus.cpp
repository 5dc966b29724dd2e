/// make_corpus FOLDER PLUGIN: seeds that follow from the build: a recording, the same as a ring, a shared library.
#include <canopy/engine/engine.h>
#include <demo/demo.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace canopy;
namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Some requests through a pool that is too small, tokens and all.
bool record(const fs::path& path) {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  fs::create_directories(path.parent_path());
  const std::string settings[] = {"store=none", "page_size=64", "groups.full.capacity=6400",
                                  "tenants={ search: { floor: 640 } }",
                                  "feed={ file: { path: '" + path.string() + "', tokens: true } }"};
  auto engine = demo::make_engine(registry, settings);
  if (!engine) return std::fprintf(stderr, "make_corpus: %s\n", engine.error().text.c_str()), false;
  const auto source = demo::requests(3);
  replay::Options options = demo::options();
  options.limit = 12;
  options.content = false;
  return bool{replay::run(**engine, *source, options, {})};
}

/// A recording's events as those of a ring that is full of them.
std::string ring_of(std::string bytes) {
  constexpr std::uint64_t kEvents = 1024;
  bytes.resize(FeedHeader::kBytes + kEvents * sizeof(Event));
  alignas(FeedHeader) std::array<char, sizeof(FeedHeader)> front{};
  std::memcpy(front.data(), bytes.data(), front.size());
  FeedHeader& header = *reinterpret_cast<FeedHeader*>(front.data());
  header.ring_events = header.claimed = header.committed = kEvents;
  std::memcpy(bytes.data(), front.data(), front.size());
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("make_corpus FOLDER PLUGIN\n", stderr), 2;
  const fs::path folder = arguments[1], recording = folder / "recording/demo.feed";
  if (!record(recording)) return 1;
  write(folder / "header/demo.ring", ring_of(bytes_of(recording)));
  write(folder / "plugin/library.so", bytes_of(arguments[2]));
  return 0;
}
