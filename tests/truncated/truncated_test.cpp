// Every example that Canopy ships, cut off after every byte: each cut is taken or refused with a sentence.
#include <canopy/engine/engine_file.h>
#include <check/faulty.h>
#include <check/program.h>
#include <conformance/model/plugins.h>
#include <demo/demo.h>
#include <doctest/doctest.h>
#include <mirror/mirror.h>
#include <sources/recording.h>
#include <sys/mman.h>
#include <unistd.h>
#include <verify/verify_recording.h>
#include <workload/generator.h>
#include <workload/trace_formats.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <support/scenario.h>
#include <support/source_folder.h>

using namespace canopy;
using namespace canopy::test;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = kSourceFolder;

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> files_of(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE_FALSE(files.empty());
  return files;
}

/// A file that is cut again and again, from its whole length down to nothing, under a name that says what it is.
class Cut {
 public:
  Cut(const std::string& name, const std::string& bytes)
      : folder_(fs::temp_directory_path() / ("canopy-truncated-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~Cut() { fs::remove_all(folder_); }
  void to(std::size_t length) const { REQUIRE(::truncate(path.c_str(), static_cast<off_t>(length)) == 0); }
  std::string path;

 private:
  fs::path folder_;
};

/// A reader of cut data. Returns its error message; empty if it accepts the data.
using Reads = std::function<std::string(std::string_view)>;

/// Every length, or every `step`th beyond `all`. The sentences name the place: the source, then a line.
void every_cut(const std::string& text, const Reads& reads, std::size_t all = ~std::size_t{0}, std::size_t step = 1) {
  for (std::size_t length = 0; length < text.size(); length += length < all ? 1 : step) {
    const std::string sentence = reads(std::string_view(text).substr(0, length));
    CAPTURE(length);
    for (const char c : sentence) REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= ' '));
    REQUIRE(sentence.size() < 10'000);
    REQUIRE((sentence.empty() || sentence.find(':') != std::string::npos));
  }
  CHECK(reads(text).empty());
}

}  // namespace

TEST_CASE("truncated: engine files") {
  for (const fs::path& file : files_of(kSource / "configs/engines", ".yaml")) {
    CAPTURE(file.string());
    every_cut(bytes_of(file), [](std::string_view text) {
      const auto document = parse_yaml(text, "engine.yaml");
      if (!document) return document.error().text;
      const auto config = read_engine_config(*document, plugins());
      return config ? std::string() : config.error().text;
    });
  }
}

TEST_CASE("truncated: workload files") {
  for (const fs::path& file : files_of(kSource / "configs/workloads", ".yaml")) {
    CAPTURE(file.string());
    every_cut(bytes_of(file), [](std::string_view text) {
      const auto document = parse_yaml(text, "workload.yaml");
      if (!document) return document.error().text;
      const auto source = workload::make_generator(*document);
      return source ? std::string() : source.error().text;
    });
  }
}

TEST_CASE("truncated: scenarios") {
  // Run, not only read; so at every byte of the first 100, where worlds and values stand, and every 151st after them.
  for (const fs::path& file : files_of(kSource / "tests/scenarios", ".scenario")) {
    CAPTURE(file.string());
    every_cut(
        bytes_of(file),
        [](std::string_view text) {
          const auto mistakes = run_scenario(std::string(text), "cut.scenario");
          return mistakes.empty() ? std::string() : mistakes.front();
        },
        100, 151);
  }
}

TEST_CASE("truncated: a program of canopy-dev check") {
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  check::add_faulty(registry);
  every_cut(bytes_of(kSource / "tests/fuzz/corpus/check/program.txt"), [&](std::string_view text) {
    const auto program = check::program_of(text, "program.txt", registry);
    return program ? std::string() : program.error().text;
  });
}

TEST_CASE("truncated: a trace") {
  std::string lines;
  for (int i = 0; i < 6; ++i)
    lines += "{\"timestamp\": " + std::to_string(i * 3000) +
             ", \"input_length\": 1500, \"output_length\": 12, \"hash_ids\": [0, 1, " + std::to_string(i + 2) + "]}\n";
  const Cut cut("cut.jsonl", lines);
  std::string whole;
  for (std::size_t length = lines.size();; --length) {
    cut.to(length);
    CAPTURE(length);
    std::string sentence;
    std::size_t requests = 0;
    auto source = workload::open_trace(cut.path);
    if (!source) sentence = source.error().text;
    for (workload::ClientRequest request; sentence.empty();) {
      const auto more = (*source)->next(request);
      if (!more) sentence = more.error().text;
      else if (*more) ++requests;
      else break;
    }
    REQUIRE(requests == static_cast<std::size_t>(
                            std::count(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(length), '}')));
    if (length == 0) break;
    // A line that breaks off is an error with its number, and never a request.
    const bool whole_lines = lines[length - 1] == '\n' || lines[length - 1] == '}';
    REQUIRE(sentence.empty() == whole_lines);
    if (!whole_lines) REQUIRE(sentence.find(":" + std::to_string(requests + 1) + ":") != std::string::npos);
  }
}

TEST_CASE("truncated: a golden file, plain and gzipped") {
  const std::string text = bytes_of(kSource / "tests/fuzz/corpus/golden/lru_page2_plain_seed1.jsonl");
  std::vector<Bytef> packed(compressBound(text.size()) + 64);
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  const std::string gzipped(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(stream.total_out));
  deflateEnd(&stream);
  for (const auto& [name, bytes] :
       {std::pair{"lru_page2_plain_seed1.jsonl", text}, std::pair{"lru_page2_plain_seed1.jsonl.gz", gzipped}}) {
    const Cut cut(name, bytes);
    CHECK(verify::verify_recording(cut.path, plugins()));
    for (std::size_t length = bytes.size() - 1; length-- > 0;) {  // without the last line break it is whole
      cut.to(length);
      CAPTURE(length);
      const auto verdict = verify::verify_recording(cut.path, plugins());
      REQUIRE_FALSE(verdict);
      REQUIRE(verdict.error().text.starts_with(cut.path + ":"));
    }
  }
}

TEST_CASE("truncated: a recording") {
  // At every byte of the header and the first events, and every 97th after them.
  const fs::path path = fs::temp_directory_path() / ("canopy-truncated-" + std::to_string(::getpid()) + ".feed");
  {
    const std::string settings[] = {"store=none", "page_size=64", "groups.full.capacity=6400",
                                    "feed={ file: { path: '" + path.string() + "', tokens: true } }"};
    auto engine = demo::make_engine(plugins(), settings);
    REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
    const auto source = demo::requests(3);
    replay::Options options = demo::options();
    options.limit = 12;
    options.content = false;
    REQUIRE(bool{replay::run(**engine, *source, options, {})});
  }
  const std::string bytes = bytes_of(path);
  fs::remove(path);
  const Cut cut("cut.feed", bytes);
  std::size_t opened = 0, refused = 0;
  for (std::size_t length = bytes.size();; length -= length > 6000 ? 97 : 1) {
    cut.to(length);
    CAPTURE(length);
    const auto recording = inspector::Recording::open(cut.path);
    if (recording) {
      inspector::Mirror mirror((*recording)->header());
      mirror.take((*recording)->events(0, ~std::uint64_t{0}));
      REQUIRE(mirror.commits() == (*recording)->commits());
      ++opened;
    } else {
      REQUIRE(recording.error().text.starts_with(cut.path + ": "));
      ++refused;
    }
    if (length == 0) break;
  }
  CHECK(opened > 100);
  CHECK(refused >= 4096);
}
