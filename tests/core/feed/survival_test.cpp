/// Either side of a feed in shared memory dies, at any moment and as often as it likes.
#include <canopy/base/file.h>
#include <canopy/feed/shared_mapping.h>
#include <demo/demo.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <workload/generator.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "two_processes.h"

using namespace canopy;
using namespace canopy::test;
using namespace std::chrono_literals;
using inspector::Attachment;
using inspector::Mirror;

namespace {

/// Memory that two processes share.
template <class Content>
class Shared {
 public:
  Shared()
      : at_(new(::mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                Content()) {}
  ~Shared() { ::munmap(at_, sizeof(Content)); }
  Shared(const Shared&) = delete;
  Content* operator->() { return at_; }

 private:
  Content* at_;
};

std::uint64_t digest_of_demo(const std::string& feed) {
  const std::string settings[] = {"store=none", "feed=" + feed};
  auto engine = demo::make_engine(plugins(), settings);
  REQUIRE_MESSAGE(engine, (engine ? "" : engine.error().text));
  const auto source = demo::requests(7);
  replay::Options options = demo::options();
  options.limit = 300;
  options.content = false;
  const auto report = replay::run(**engine, *source, options, {});
  REQUIRE(report);
  CHECK(report->violations == 0);
  return report->digest;
}

void kill_and_wait(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("feed: readers killed at random, one after the other, change nothing of what the engine does") {
  struct Content {
    std::atomic<std::uint64_t> killed, mirrored, drifted;
    std::atomic<bool> done;
  };
  Shared<Content> shared;
  const std::string name = own_name("killed");
  const std::uint64_t plain = digest_of_demo("{ off: {} }");
  const pid_t killer = ::fork();
  if (killer == 0) {
    for (Random random(5); !shared->done;) {
      const pid_t reader = ::fork();
      if (reader == 0) {
        const auto attachment = attach(name);
        if (!attachment) ::_exit(1);
        Mirror mirror(attachment->header());
        for (;;) {
          const std::uint64_t before = mirror.commits(), now = follow(attachment->reader(), mirror, before + 1);
          if (mirror.drift() != 0) ++shared->drifted;
          else shared->mirrored += now - before;
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500 + random.below(30'000)));
      kill_and_wait(reader);
      ++shared->killed;
    }
    ::_exit(0);
  }
  // Each engine takes the name again, whatever readers the one before it had.
  for (int round = 0; round < 200 && (round < 3 || shared->killed < 20 || shared->mirrored < 100); ++round)
    CHECK(digest_of_demo(fmt::format("{{ shm: {{ name: {}, events: 64k }} }}", name)) == plain);
  shared->done = true;
  ::waitpid(killer, nullptr, 0);
  CHECK(shared->killed.load() >= 20);
  CHECK(shared->mirrored.load() >= 100);
  CHECK(shared->drifted.load() == 0);
}

TEST_CASE("feed: nothing is written for readers that are dead, and everything for one that lives beside them") {
  const std::string name = own_name("dead");
  Shared<std::atomic<std::uint64_t>> commits;
  // The reader is forked before the engine is made, so that it has nothing of the engine's.
  const pid_t forked = ::fork();
  if (forked == 0) {
    const auto attachment = attach(name);
    if (!attachment) ::_exit(1);
    commits->store(1);
    for (;;) ::pause();
  }
  const auto engine = engine_of(yaml(fmt::format("{{ shm: {{ name: {} }} }}", name)));
  const FeedWriter& writer = engine->feed()->writer();
  const FeedDesk& desk = desk_behind(engine->feed()->writer().header());
  RandomRequests requests(*engine, plugins(), 21, 2);
  while (commits->load() == 0) std::this_thread::sleep_for(1ms);
  requests.run(50);
  CHECK(writer.on());
  kill_and_wait(forked);
  CHECK(desk.readers.load() == 1);
  auto living = Attachment::attach(name);
  REQUIRE(living);
  requests.run(6'000);
  CHECK(desk.readers.load() == 2);
  Mirror mirror((*living)->header());
  for (int i = 0; i < 100 && !mirror.in_step(); ++i) {
    requests.run(1);
    Event events[512];
    for (std::size_t count = 0;;) {
      const auto outcome = (*living)->reader().read(events, std::size(events), count);
      if (outcome == FeedReader::Outcome::nothing) break;
      if (outcome == FeedReader::Outcome::lapped) mirror.lost();
      else mirror.take({events, count});
    }
  }
  CHECK(mirror.in_step());
  CHECK(mirror.drift() == 0);
  living->reset();
  CHECK(desk.readers.load() == 1);  // the dead one; nothing is written for it
  requests.run(6'000);
  CHECK_FALSE(writer.on());
  const std::uint64_t at = writer.at();
  requests.run(100);
  CHECK(writer.at() == at);
}

TEST_CASE("feed: a killed writer is noticed before its parent waits for it, and its last operation is whole") {
  const std::string name = own_name("zombie");
  const pid_t writer = writer_of(name, 65536);
  const auto attachment = attach(name);
  REQUIRE(attachment);
  Mirror mirror(attachment->header());
  CHECK(follow(attachment->reader(), mirror, 300) >= 300);
  ::kill(writer, SIGKILL);
  const std::string gone = fmt::format("process {}, which wrote the feed, has gone", writer);
  for (int tries = 0; tries < 5'000 && attachment->gone().empty(); ++tries) std::this_thread::sleep_for(1ms);
  CHECK(attachment->gone() == gone);  // and it is still a zombie
  const std::uint64_t before = mirror.commits();
  Event events[512];
  for (std::size_t count = 0;;) {
    const auto outcome = attachment->reader().read(events, std::size(events), count);
    if (outcome != FeedReader::Outcome::events) break;
    mirror.take({events, count});
  }
  CHECK(mirror.in_step());
  CHECK(mirror.commits() >= before);
  CHECK(mirror.drift() == 0);
  CHECK(Attachment::attach(name).error().text.starts_with(fmt::format(
      "the feed '{}': process {}, which wrote it, has gone; an engine may use the name again", name, writer)));
  const auto names = Attachment::names();
  CHECK(std::find(names.begin(), names.end(), name) == names.end());

  // Its successor takes the name and leaves the old memory to its readers.
  const auto successor = engine_of(yaml(fmt::format("{{ shm: {{ name: {} }} }}", name)));
  CHECK(attachment->gone() == gone);
  CHECK(mirror.drift() == 0);
  const auto fresh = Attachment::attach(name);
  REQUIRE(fresh);
  CHECK((*fresh)->gone().empty());
  CHECK((*fresh)->header().pid == static_cast<std::uint64_t>(::getpid()));
  ::waitpid(writer, nullptr, 0);
}

TEST_CASE("feed: of several processes that want one name at once, one gets it and the others get an error") {
  constexpr int kWriters = 6;
  struct Content {
    std::atomic<int> ready, won, lost, silent;
    std::atomic<bool> go, end;
  };
  const std::string name = own_name("race");
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    Shared<Content> shared;
    pid_t writers[kWriters];
    const auto config =
        read_engine_config(*parse_yaml(yaml(fmt::format("{{ shm: {{ name: {} }} }}", name)), "test"), plugins());
    REQUIRE(config);
    for (pid_t& writer : writers) {
      writer = ::fork();
      if (writer != 0) continue;
      for (++shared->ready; !shared->go;) continue;
      const auto engine = Engine::create(*config, plugins());
      if (engine) ++shared->won;
      else if (engine.error().text.find("is already written by") != std::string::npos) ++shared->lost;
      else ++shared->silent;
      while (!shared->end) std::this_thread::sleep_for(1ms);
      ::_exit(0);  // without a word: the next round finds what is left
    }
    while (shared->ready < kWriters) std::this_thread::sleep_for(1ms);
    shared->go = true;
    while (shared->won + shared->lost + shared->silent < kWriters) std::this_thread::sleep_for(1ms);
    CHECK(shared->won.load() == 1);
    CHECK(shared->lost.load() == kWriters - 1);
    shared->end = true;
    for (const pid_t writer : writers) ::waitpid(writer, nullptr, 0);
  }
  ::shm_unlink((kFeedPrefix + name).c_str());
}

TEST_CASE("feed: a ring that shared memory has no room for is a sentence, and nothing is left of it") {
  FeedConfig config;
  config.kind = FeedConfig::Kind::shm;
  config.name = own_name("large");
  config.events = std::uint64_t{1} << 45;
  FeedShape shape;
  shape.page_size = 16, shape.groups = 1;
  const auto sink = FeedSink::open(config, shape);
  REQUIRE_FALSE(sink);
  CHECK_MESSAGE(sink.error().text.starts_with("the feed '" + config.name + "': 1073741824 MiB of shared memory: "),
                sink.error().text);
  CHECK(sink.error().text.ends_with("; `events: 17592186044416` needs half of that"));
  CHECK(::shm_open((kFeedPrefix + config.name).c_str(), O_RDONLY, 0) < 0);
}

TEST_CASE("feed: a ring that this process has no addresses for is a sentence") {
  FeedConfig config;
  config.kind = FeedConfig::Kind::heap;
  config.events = std::uint64_t{1} << 55;
  FeedShape shape;
  shape.page_size = 16, shape.groups = 1;
  const auto sink = FeedSink::open(config, shape);
  REQUIRE_FALSE(sink);
  CHECK(sink.error().text == "the feed: Cannot allocate memory");
}

TEST_CASE("feed: a thousand mappings may be made one after the other, and 256 at a time") {
  const UniqueFd object(::memfd_create("mappings", MFD_CLOEXEC));
  REQUIRE(object);
  REQUIRE(::ftruncate(object.get(), 4096) == 0);
  const auto one = [&](SharedMapping& mapping) { return mapping.map(object.get(), 4096, SharedMapping::Access::read); };
  for (int i = 0; i < 1'000; ++i) {
    SharedMapping mapping;
    REQUIRE(one(mapping));
  }
  std::vector<SharedMapping> all(257);
  int made = 0;
  while (made < 257 && one(all[static_cast<std::size_t>(made)])) ++made;
  CHECK(made == 256);
  CHECK(errno == EMFILE);
  all.erase(all.begin());
  CHECK(one(all.back()));
}

TEST_CASE("feed: a mapping that the system refuses is none, and takes the place of no other") {
  for (int i = 0; i < 300; ++i) {
    SharedMapping mapping;
    REQUIRE_FALSE(mapping.map(-1, 4096, SharedMapping::Access::read));
    REQUIRE(errno == EBADF);
    REQUIRE_FALSE(static_cast<bool>(mapping));
    REQUIRE_FALSE(mapping.cut());
  }
  const UniqueFd object(::memfd_create("mappings", MFD_CLOEXEC));
  REQUIRE(::ftruncate(object.get(), 4096) == 0);
  SharedMapping mapping;
  REQUIRE(mapping.map(object.get(), 4096, SharedMapping::Access::read));
  CHECK_FALSE(mapping.let_write(1, 4096, false));  // not whole machine pages
  CHECK(mapping.let_write(0, 4096, false));
}

TEST_CASE("recording: it replaces a recording, an empty file or nothing, and what else has its name stays as it was") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("name")).string();
  FeedConfig config;
  config.kind = FeedConfig::Kind::file;
  config.name = path;
  FeedShape shape;
  shape.page_size = 16, shape.groups = 1;
  const auto record = [&] {
    const auto sink = FeedSink::open(config, shape);
    if (!sink) return sink.error().text;
    (*sink)->writer().push(event::Commit{.operations = 1});
    (*sink)->writer().publish();
    (*sink)->finish();
    return (*sink)->failure();
  };
  for (const char* suffix : {"", ".part"}) {  // its name, and that of an unfinished one
    const std::string there = path + suffix;
    CHECK(record().empty());  // nothing has the name
    if (*suffix != '\0') std::filesystem::rename(path, there);
    CHECK(record().empty());  // a recording
    std::ofstream(there, std::ios::trunc).close();
    CHECK(record().empty());  // an empty file
    for (const std::string& other : {std::string("x"), std::string(8192, 'x')}) {
      std::ofstream(there, std::ios::trunc) << other;
      CHECK(record().find("this is not a recording") != std::string::npos);
      std::ifstream file(there);
      CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == other);
      std::filesystem::remove(there);
    }
    std::filesystem::remove(path);
  }
}

TEST_CASE("recording: a disk without room is a sentence, and what was written stays beside the name") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("full")).string();
  FeedConfig config;
  config.kind = FeedConfig::Kind::file;
  config.name = path;
  FeedShape shape;
  shape.page_size = 16, shape.groups = 1;
  const auto sink = FeedSink::open(config, shape);
  REQUIRE_MESSAGE(sink, (sink ? "" : sink.error().text));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto on_excess = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{FeedHeader::kBytes + 100, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  FeedWriter& writer = (*sink)->writer();
  for (int i = 0; i < 100; ++i) writer.push(event::Cleared{});
  writer.publish();
  (*sink)->keep_pace(1);
  const std::string why = (*sink)->failure();
  (*sink)->finish();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, on_excess);
  CHECK(why == path + ".part: the recording ends here: File too large");
  CHECK((*sink)->failure() == why);
  CHECK_FALSE(writer.on());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(std::filesystem::file_size(path + ".part") == FeedHeader::kBytes + 100);
  std::filesystem::remove(path + ".part");
}
