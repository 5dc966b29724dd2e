/// Another process of the same user writes into a feed whatever it likes, or cuts it short.
#include <canopy/feed/events.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sources/recording.h>
#include <support/sanitizers.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "two_processes.h"

using namespace canopy;
using namespace canopy::test;
using inspector::Attachment;
using inspector::Mirror;
using inspector::Recording;

namespace {

/// The shared memory of a feed as a stranger maps it: all of it, to write.
class Intruder {
 public:
  explicit Intruder(const std::string& name)
      : descriptor_(::shm_open((kFeedPrefix + name).c_str(), O_RDWR | O_CLOEXEC, 0)) {
    REQUIRE(descriptor_);
    bytes_ = static_cast<std::size_t>(::lseek(descriptor_.get(), 0, SEEK_END));
    at_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
    REQUIRE(at_ != MAP_FAILED);
  }
  ~Intruder() { ::munmap(at_, bytes_); }
  Intruder(const Intruder&) = delete;

  FeedHeader& header() { return *static_cast<FeedHeader*>(at_); }
  void write(std::size_t at, std::uint64_t word) {
    std::memcpy(static_cast<std::byte*>(at_) + at, &word, sizeof(word));
  }
  std::uint64_t read(std::size_t at) const {
    std::uint64_t word = 0;
    std::memcpy(&word, static_cast<std::byte*>(at_) + at, sizeof(word));
    return word;
  }
  std::size_t bytes() const { return bytes_; }
  void cut_to(std::size_t bytes) { REQUIRE(::ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) == 0); }

 private:
  UniqueFd descriptor_;
  std::size_t bytes_ = 0;
  void* at_ = nullptr;
};

/// Every word that header, desk and commands have.
std::vector<std::size_t> all_words() {
  std::vector<std::size_t> all;
  const std::size_t parts[] = {sizeof(FeedHeader), sizeof(FeedDesk), sizeof(FeedCommands)};
  for (std::size_t part = 0; part < std::size(parts); ++part)
    for (std::size_t at = 0; at + 8 <= (parts[part] + 7) / 8 * 8; at += 8) all.push_back(part * kFeedPart + at);
  return all;
}

/// Another process cannot be trusted with more than this one's own mapping.
bool writes(const std::string& feed, std::size_t from) {
  // Said by the kernel: "7f..-7f.. rw-s 00020000 ... /dev/shm/canopy-NAME".
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  REQUIRE(maps);
  bool may = false;
  char line[512];
  while (std::fgets(line, sizeof(line), maps)) {
    unsigned long begin = 0, end = 0, offset = 0;
    char rights[8];
    if (std::sscanf(line, "%lx-%lx %7s %lx", &begin, &end, rights, &offset) != 4) continue;
    if (std::string(line).find("/canopy-" + feed + "\n") == std::string::npos) continue;
    may |= rights[1] == 'w' && from >= offset && from < offset + (end - begin);
  }
  std::fclose(maps);
  return may;
}

std::string shm(const std::string& name, const char* more = "") {
  return yaml(fmt::format("{{ shm: {{ name: {}, events: 4096{} }} }}", name, more));
}

}  // namespace

TEST_CASE("trust: numbers in every word of a feed change nothing of what the engine does") {
  const std::string name = own_name("words");
  const auto plain = engine_of(yaml("{ off: {} }")), published = engine_of(shm(name));
  RandomRequests apart(*plain, plugins(), 31, 2), requests(*published, plugins(), 31, 2);
  Intruder intruder(name);
  Random random(7);
  const auto reader = Attachment::attach(name);
  REQUIRE(reader);
  for (const std::size_t at : all_words())
    for (const std::uint64_t word :
         {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}, random.next(), random.next()}) {
      intruder.write(at, word);
      apart.run(2);
      requests.run(2);
      CHECK(published->poll());
      CHECK((*reader)->send({Command::Kind::flush}) == false);
    }
  CHECK(published->digest() == plain->digest());
  CHECK(published->ledger().violations() == 0);
  CHECK_FALSE(published->feed()->writer().shape().tokens);
  // Whatever was asked for, no token left the process.
  for (std::size_t at = feed_bytes(0); at < intruder.bytes(); at += sizeof(Event))
    CHECK_FALSE((intruder.read(at) & 0xFF) == event::NodeWords::kKind);
}

TEST_CASE("trust: random commands are obeyed or passed over, and the ledger holds") {
  const std::string name = own_name("orders");
  const auto published = engine_of(shm(name, ", controls: true"));
  RandomRequests requests(*published, plugins(), 33, 2);
  requests.run(200);
  Intruder intruder(name);
  Random random(8);
  FeedCommands& commands = commands_behind(intruder.header());
  std::uint64_t taken = 0;
  const std::uint64_t extremes[] = {0, 1, 2, 400, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0xFFFF'FFFF};
  for (int i = 0; i < 3'000; ++i) {
    FeedCommands::Slot& slot = commands.slots[taken % FeedCommands::kSlots];
    Command& command = slot.command;
    command.kind = static_cast<Command::Kind>(random.below(4) == 0 ? random.next() : random.below(11));
    command.group = static_cast<std::uint32_t>(random.below(4) == 0 ? random.next() : random.below(3));
    command.amount = random.below(2) == 0 ? extremes[random.below(std::size(extremes))] : random.next();
    command.until = static_cast<Condition>(random.below(7));
    std::memset(command.name, random.below(2) ? 'x' : 0, sizeof(command.name));
    slot.ready.store(++taken);
    published->poll();
    CHECK(intruder.header().taken.load() == taken);
    if (command.kind == Command::Kind::pause || i % 3 == 0) {
      command = Command{Command::Kind::go_on};
      commands.slots[taken % FeedCommands::kSlots].command = command;
      commands.slots[taken % FeedCommands::kSlots].ready.store(taken + 1), ++taken;
      published->poll();
    }
    if (i % 10 == 0) published->audit();
    REQUIRE(published->ledger().violations() == 0);
  }
  // Room again, and requests go on.
  published->resize(0, 100), published->resize(1, 100);
}

TEST_CASE("trust: an eviction of 2^64 - 1 pages evicts all") {
  const std::string name = own_name("all");
  const auto published = engine_of(shm(name, ", controls: true"));
  {
    Request request = published->begin(arrival(tokens(5, 40)));
    REQUIRE(request.reserve(40));
    request.finish(40);
  }
  CHECK(published->index().sizes(0).evictable == 40);
  const auto reader = Attachment::attach(name);
  REQUIRE(reader);
  CHECK((*reader)->send({Command::Kind::evict, 0, ~std::uint64_t{0}}));
  published->poll();
  CHECK(published->index().sizes(0).evictable == 0);
}

TEST_CASE("trust: tickets that were never given out do not lock other readers out") {
  const std::string name = own_name("tickets");
  const auto published = engine_of(shm(name, ", controls: true"));
  const auto reader = Attachment::attach(name);
  REQUIRE(reader);
  Intruder intruder(name);
  commands_behind(intruder.header()).posted.store(1'000'000);
  CHECK_FALSE((*reader)->send({Command::Kind::pause}));
  CHECK(published->poll());
  CHECK((*reader)->send({Command::Kind::pause}));
  CHECK_FALSE(published->poll());
}

TEST_CASE("trust: a reader is served whatever number of readers another one writes") {
  const std::string name = own_name("number");
  const auto published = engine_of(shm(name));
  RandomRequests requests(*published, plugins(), 35, 2);
  Intruder intruder(name);
  FeedDesk& desk = desk_behind(intruder.header());
  for (const std::uint32_t number : {~std::uint32_t{0}, std::uint32_t{0}, std::uint32_t{1} << 31}) {
    desk.readers.store(number);
    requests.run(5);
    const auto reader = Attachment::attach(name);
    REQUIRE(reader);
    Mirror mirror((*reader)->header());
    Event events[512];
    for (int i = 0; i < 80; ++i) {
      if (i % 10 == 5) desk.readers.store(number);
      requests.run(1);
      for (std::size_t count = 0;
           (*reader)->reader().read(events, std::size(events), count) == FeedReader::Outcome::events;)
        mirror.take({events, count});
    }
    CHECK(mirror.in_step());
    CHECK(mirror.commits() >= 40);
    CHECK(mirror.drift() == 0);
  }
  // No reader lives: a number alone does not turn writing on.
  desk.readers.store(7);
  requests.run(5);
  CHECK_FALSE(published->feed()->writer().on());
}

TEST_CASE("trust: a reader that asks for keyframes all the time does not stop the engine") {
  const auto engine = engine_of(
      "page_size: 1\ngroups:\n  full: { reach: path, capacity: 200000, allocator: free_list, eviction: lru }\n"
      "feed: { heap: {} }\n");
  for (Token first = 0; first < 20'000; ++first) {
    Request request = engine->begin(arrival({first, first, first}));
    REQUIRE(request.reserve(3));
    request.finish(3);
  }
  FeedHeader& header = engine->feed()->writer().header();
  FeedReader reader(header);
  engine->poll();
  CHECK(engine->feed()->writer().on());
  constexpr std::uint64_t kNodes = 20'000, kTimes = 400;
  const std::uint64_t before = engine->feed()->writer().at();
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    desk_behind(header).keyframes_wanted.fetch_add(1);
    engine->poll();
  }
  // At least three events of each node make a keyframe.
  CHECK(engine->feed()->writer().at() - before < kTimes * kNodes * 3 / 2);
}

TEST_CASE("trust: a reader goes by the header that it attached to, and says when figures cannot be") {
  const std::string name = own_name("reader");
  const auto published = engine_of(shm(name));
  RandomRequests requests(*published, plugins(), 37, 2);
  requests.run(50);
  Intruder intruder(name);
  const auto reader = Attachment::attach(name);
  REQUIRE(reader);
  Mirror mirror((*reader)->header());
  const auto look = [&] {
    requests.run(2);
    std::vector<Event> events(300);
    for (std::size_t count = 0;;) {
      const auto outcome = (*reader)->reader().read(events.data(), events.size(), count);
      if (outcome == FeedReader::Outcome::nothing) return;
      if (outcome == FeedReader::Outcome::lapped) mirror.lost();
      else mirror.take({events.data(), count});
    }
  };
  look();
  CHECK(mirror.in_step());
  Random random(9);
  for (std::size_t at = 0; at < sizeof(FeedHeader); at += 8)
    for (const std::uint64_t word : {~std::uint64_t{0}, random.next(), std::uint64_t{0}}) {
      intruder.write(at, word);
      look();
      CHECK((*reader)->header().page_size == 4);
    }
  for (int i = 0; i < 20; ++i) look();  // the engine writes its own words again, and a keyframe comes
  CHECK(mirror.in_step());
  CHECK(mirror.drift() == 0);
  CHECK(mirror.damaged() == 0);

  // Events themselves: whatever is read, impossible figures are reported as such and are not shown.
  const Tick tick = mirror.tick();
  for (int i = 0; i < 400; ++i) {
    requests.run(1);
    for (std::size_t at = feed_bytes(0); at + 8 <= intruder.bytes(); at += 8 * (1 + random.below(5)))
      intruder.write(at, random.next());
    look();
  }
  CHECK(mirror.damaged() > 0);
  CHECK(mirror.tick() < tick + (Tick{1} << 33));
  CHECK(published->ledger().violations() == 0);
}

TEST_CASE("trust: a reader can write the desk alone, and the commands once it sends one") {
  const std::string name = own_name("rights");
  // The writer is another process, so that this one maps the feed as a reader only.
  const pid_t writer = writer_of(name, 4096);
  {
    const auto reader = attach(name);
    REQUIRE(reader);
    CHECK_FALSE(writes(name, 0));
    CHECK(writes(name, kFeedPart));
    CHECK_FALSE(writes(name, 2 * kFeedPart));
    CHECK_FALSE(writes(name, 3 * kFeedPart));
    CHECK(reader->send({Command::Kind::pause}));
    CHECK(writes(name, 2 * kFeedPart));
    CHECK_FALSE(writes(name, 0));
    CHECK_FALSE(writes(name, 3 * kFeedPart));
  }
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  ::shm_unlink((kFeedPrefix + name).c_str());
}

TEST_CASE("trust: a feed that is cut short ends with a sentence on both sides, and the engine goes on") {
  if (canopy::test::kThreadSanitizer) {
    MESSAGE("SKIPPED: under ThreadSanitizer the handler of SIGBUS does not get to run; it does under AddressSanitizer");
    return;
  }
  const auto plain = engine_of(yaml("{ off: {} }"));
  RandomRequests apart(*plain, plugins(), 39, 2);
  apart.run(300);
  for (const std::size_t left : {std::size_t{0}, sizeof(FeedHeader), kFeedPart + 1, 3 * kFeedPart + 4096}) {
    CAPTURE(left);
    const std::string name = own_name("short");
    const auto published = engine_of(shm(name, ", controls: true"));
    RandomRequests requests(*published, plugins(), 39, 2);
    const auto reader = Attachment::attach(name);
    REQUIRE(reader);
    Mirror mirror((*reader)->header());
    requests.run(100);
    CHECK(published->feed()->failure().empty());
    {
      Intruder(name).cut_to(left);
    }
    Event events[300];
    for (int i = 0; i < 200; ++i) {
      requests.run(1);
      published->poll();
      std::size_t count = 0;
      const auto outcome = (*reader)->reader().read(events, std::size(events), count);
      if (outcome == FeedReader::Outcome::lapped) mirror.lost();
      else if (outcome == FeedReader::Outcome::events) mirror.take({events, count});
      (*reader)->send({Command::Kind::go_on});
    }
    CHECK((*reader)->gone() == "another process cut its shared memory short");
    CHECK(published->feed()->failure() ==
          "the feed '" + name +
              "': another process cut its shared memory short; no reader has received events "
              "since");
    CHECK(published->digest() == plain->digest());
    CHECK(published->ledger().violations() == 0);
    const auto late = Attachment::attach(name);
    CHECK_FALSE(late);
  }
}

TEST_CASE("trust: a recording that is made shorter while it is open is a sentence and not a crash") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("shorter")).string();
  {
    const auto engine = engine_of(yaml(fmt::format("{{ file: {{ path: {} }} }}", path)));
    RandomRequests requests(*engine, plugins(), 5, 2);
    requests.run(2'000);
  }
  const auto recording = Recording::open(path);
  REQUIRE(recording);
  CHECK_FALSE((*recording)->shrank());
  REQUIRE(::truncate(path.c_str(), 5000) == 0);
  Mirror mirror((*recording)->header());
  mirror.take((*recording)->events(0, ~std::uint64_t{0}));
  CHECK((*recording)->shrank());
  mirror.take((*recording)->events((*recording)->commits() / 2, (*recording)->commits() - 1));
  std::filesystem::remove(path);
}

TEST_CASE("trust: a fault outside every feed ends the process as ever") {
  const auto engine = engine_of(shm(own_name("other")));
  const pid_t child = ::fork();
  if (child == 0) {
    const UniqueFd file(::open("/tmp", O_TMPFILE | O_RDWR, 0600));
    if (::ftruncate(file.get(), 4096) != 0) ::_exit(0);
    auto* const at = static_cast<volatile char*>(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.get(), 0));
    if (::ftruncate(file.get(), 0) != 0) ::_exit(0);
    ::_exit(at[0]);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  // By SIGBUS, or in the way of a sanitizer.
  CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("trust: a keyframe that is marked as the tier below's ends in one mirror below, not in a row without end") {
  FeedShape shape;
  shape.page_size = 4;
  shape.groups = 1;
  Mirror mirror(shape);
  Event keyframe = std::bit_cast<Event>(event::Keyframe{});
  keyframe.group |= kOfTierBelow;
  Event ended = std::bit_cast<Event>(event::Commit{});
  for (const std::uint8_t mark : {std::uint8_t{0}, kOfTierBelow}) {
    ended.group |= mark;
    const Event events[] = {keyframe, ended};
    mirror.take(events);
    REQUIRE(mirror.below());
    CHECK(!mirror.below()->below());
  }
}
