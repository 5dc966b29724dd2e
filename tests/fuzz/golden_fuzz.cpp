/// Hostile recordings for canopy-dev verify: they agree, they differ, or they are refused with a sentence.
#include <verify/verify_recording.h>

#include <filesystem>

#include "fuzz.h"

namespace {

using namespace canopy;

/// A name that says how to read the file, in a folder of this process.
struct Named {
  fuzz::File file;
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("canopy-fuzz-" + std::to_string(::getpid()));
  std::string path = (folder / "lru_page2_plain_seed1.jsonl").string();
  Named() {
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink(file.path(), path);
  }
  ~Named() { std::filesystem::remove_all(folder); }
};

const Registry& registry() {
  static const Registry loaded = [] {
    Registry all;
    all.scan(own_plugin_folder(), Trust::as_ourselves);
    return all;
  }();
  return loaded;
}

void check(std::string_view text) {
  static Named named;
  named.file.hold(text);
  const auto verdict = verify::verify_recording(named.path, registry());
  if (!verdict) fuzz::expect_sentence(verdict.error().text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check(fuzz::text_of(data, size));
  return 0;
}
