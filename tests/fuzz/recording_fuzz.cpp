/// Damaged recordings of a feed. With -fsanitize=fuzzer it is a libFuzzer target; with CANOPY_FUZZ_MAIN defined it is
/// a program that records a run and damages it: `recording_fuzz [RUNS [SEED]]`.
#include <mirror/mirror.h>
#include <sources/recording.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace {

using namespace canopy;
using inspector::Mirror;
using inspector::MirrorNode;
using inspector::Recording;

void expect(bool fact, const char* what) {
  if (fact) return;
  std::fprintf(stderr, "recording_fuzz: not so: %s\n", what);
  std::abort();
}

#define EXPECT(fact) expect(fact, #fact)

/// A file without a name, and the path that leads to it.
class File {
 public:
  void hold(std::string_view bytes) {
    EXPECT(::ftruncate(descriptor_, 0) == 0 &&
           ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_ = ::memfd_create("recording", 0);
};

/// Everything a view asks of a mirror.
void look_at(const Mirror& mirror) {
  std::size_t nodes = 0;
  std::uint64_t sum = mirror.drift();
  mirror.each_node([&](const MirrorNode& node) {
    ++nodes;
    EXPECT(mirror.find(node.id) == &node);
    EXPECT(node.parent == 0 || mirror.node(node.parent).id != 0);
    EXPECT(static_cast<std::size_t>(node.space) < mirror.spaces().size());
    // Up to a root in fewer steps than there are nodes, or it would go round for ever.
    std::size_t steps = 0;
    for (std::uint32_t at = node.parent; at != 0; at = mirror.node(at).parent) EXPECT(++steps <= mirror.node_count());
    if (nodes < 8) sum += mirror.locks(node, 0) + mirror.history(node.id).size();
  });
  EXPECT(nodes == mirror.node_count());
  for (std::size_t g = 0; g < mirror.groups(); ++g) sum += mirror.next_to_evict(g, 16).size();
  for (const inspector::MirrorRequest& request : mirror.requests()) sum += mirror.why_missed(request).size();
  EXPECT(sum + 1 != 0);
}

bool check(std::string_view bytes) {
  static File file;
  file.hold(bytes);
  const auto recording = Recording::open(file.path());
  if (!recording) {
    EXPECT(recording.error().text.starts_with(file.path() + ": "));
    return false;
  }
  Mirror mirror((*recording)->header());
  const std::uint64_t half = (*recording)->commits() / 2;
  mirror.take((*recording)->events(0, half));
  look_at(mirror);
  const auto then = mirror.moment();
  mirror.take((*recording)->events(half, ~std::uint64_t{0}));
  look_at(mirror);
  static_cast<void>(Mirror::difference(then, mirror.moment()));
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifdef CANOPY_FUZZ_MAIN
#include <canopy/loading/registry.h>
#include <demo/demo.h>
#include <workload/generator.h>
#include <workload/random.h>

#include <fstream>
#include <iterator>

namespace {

/// Some requests through a pool that is too small, tokens and all.
std::string recorded() {
  const File file;
  Registry registry;
  registry.scan(own_plugin_folder(), Trust::as_ourselves);
  const std::string copy = "/tmp/canopy-recording-fuzz-" + std::to_string(::getpid());
  {
    const std::string settings[] = {"store=none", "page_size=64", "groups.full.capacity=6400",
                                    "feed={ file: { path: " + copy + ", tokens: true } }"};
    auto engine = demo::make_engine(registry, settings);
    if (!engine) std::fprintf(stderr, "recording_fuzz: %s\n", engine.error().text.c_str());
    EXPECT(bool{engine});
    const auto source = demo::requests(3);
    replay::Options options = demo::options();
    options.limit = 12;
    options.content = false;
    EXPECT(bool{replay::run(**engine, *source, options, {})});
  }
  std::ifstream in(copy, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  ::unlink(copy.c_str());
  return bytes;
}

std::string damaged(const std::string& whole, Random& random) {
  std::string bytes = whole;
  const std::size_t events = (bytes.size() - FeedHeader::kBytes) / sizeof(Event);
  const auto event_at = [&](std::size_t i) { return FeedHeader::kBytes + i * sizeof(Event); };
  for (std::uint64_t change = 1 + random.remainder(8); change > 0; --change) {
    const std::size_t event = event_at(random.remainder(events));
    switch (random.remainder(7)) {
      case 0:  // a bit anywhere
        bytes[random.remainder(bytes.size())] ^= static_cast<char>(1U << random.remainder(8));
        break;
      case 1:  // a bit of an event
        bytes[event + random.remainder(sizeof(Event))] ^= static_cast<char>(1U << random.remainder(8));
        break;
      case 2:  // another kind of event
        bytes[event] = static_cast<char>(random.remainder(32));
        break;
      case 3:  // an event twice, or in another's place
        std::memcpy(bytes.data() + event, whole.data() + event_at(random.remainder(events)), sizeof(Event));
        break;
      case 4: {  // a number as large as it gets, or as small
        const std::uint64_t extreme[] = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 31, std::uint64_t{1} << 32};
        std::memcpy(bytes.data() + event + 8 * random.remainder(4), &extreme[random.remainder(5)], 8);
        break;
      }
      case 5:  // one field of another event
        std::memcpy(bytes.data() + event + 8,
                    whole.data() + event_at(random.remainder(events)) + 8 * (1 + random.remainder(3)), 8);
        break;
      default:  // a bit of what the header says of the engine
        bytes[random.remainder(256)] ^= static_cast<char>(1U << random.remainder(8));
    }
  }
  if (random.remainder(4) == 0) bytes.resize(random.remainder(bytes.size() + 1));
  return bytes;
}

}  // namespace

int main(int count, char** arguments) {
  const std::uint64_t runs = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 20'000;
  Random random(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1, 1);
  const std::string whole = recorded();
  EXPECT(check(whole));
  std::uint64_t opened = 0;
  for (std::uint64_t i = 0; i < runs; ++i) opened += check(damaged(whole, random));
  EXPECT(runs < 100 || (opened > runs / 4 && opened < runs));
  std::printf("recording_fuzz: %llu recordings of %zu bytes, %llu could be opened\n",
              static_cast<unsigned long long>(runs), whole.size(), static_cast<unsigned long long>(opened));
}
#endif
