#include <canopy/base/file.h>
#include <canopy/engine/engine_file.h>
#include <canopy/feed/presence.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sources/attachment.h>
#include <sources/checkpoints.h>
#include <sources/recording.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "two_processes.h"

using namespace canopy;
using namespace canopy::test;
using namespace std::chrono_literals;
using inspector::Attachment;
using inspector::Mirror;
using inspector::Recording;

TEST_CASE("feed: two threads over a ring that laps its reader see whole commits only") {
  for (const std::uint64_t events : {1024U, 65536U}) {
    const auto engine = engine_of(yaml(fmt::format("{{ heap: {{ events: {} }} }}", events)));
    FeedHeader& header = engine->feed()->writer().header();
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> seen = 0;
    std::thread reader_thread([&] {
      FeedReader reader(header);
      Mirror mirror(header);
      while (!done) seen = std::max(seen.load(), follow(reader, mirror, mirror.commits() + 10));
    });
    RandomRequests requests(*engine, plugins(), 3, 2);
    // On a busy machine the reader of a small ring is lapped again and again: it is given time, not for ever.
    for (int i = 0; i < 3'000 || (seen < 100 && i < 30'000); ++i) {
      requests.run(1);
      engine->poll();
      if (i % 50 == 0) std::this_thread::sleep_for(1ms);
    }
    done = true;
    for (int i = 0; i < 200; ++i) requests.run(1);  // so that the reader's last wait ends
    reader_thread.join();
    CHECK(seen.load() >= 100);
  }
}

TEST_CASE("feed: another process is attached to by name, steered, killed, and its successor takes the name") {
  const std::string name = own_name("shm");
  pid_t writer = writer_of(name, 65536);
  {
    const auto attachment = attach(name);
    REQUIRE(attachment);
    struct stat facts{};
    REQUIRE(::stat(("/dev/shm/canopy-" + name).c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);
    const auto names = Attachment::names();
    CHECK(std::find(names.begin(), names.end(), name) != names.end());

    Mirror mirror(attachment->header());
    CHECK(follow(attachment->reader(), mirror, 500) >= 500);
    CHECK(mirror.pool(1).name == "window");
    CHECK(mirror.spaces().size() == 2);

    // Pause: what had been written comes, and then nothing; a step is a few commits; then it goes on.
    CHECK(attachment->send({Command::Kind::pause}));
    std::uint64_t at = 0;
    for (int tries = 0; tries < 200 && at != mirror.commits(); ++tries) {
      at = mirror.commits();
      std::this_thread::sleep_for(20ms);
      follow(attachment->reader(), mirror, at);
      Event some[4096];
      std::size_t count = 0;
      while (attachment->reader().read(some, std::size(some), count) == FeedReader::Outcome::events)
        mirror.take({some, count});
    }
    CHECK(at == mirror.commits());
    Command policy{Command::Kind::policy, 1};
    std::string("mru").copy(policy.name, sizeof(policy.name));
    CHECK(attachment->send(policy));
    CHECK(follow(attachment->reader(), mirror, at + 1) == at + 1);
    CHECK(mirror.pool(1).policy == "mru");
    CHECK(attachment->send({Command::Kind::go_on}));
    CHECK(follow(attachment->reader(), mirror, at + 300) >= at + 300);
    CHECK(attachment->gone().empty());
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    CHECK(attachment->gone() == fmt::format("process {}, which wrote the feed, has gone", writer));
  }
  const auto names = Attachment::names();
  CHECK(std::find(names.begin(), names.end(), name) == names.end());
  writer = writer_of(name, 65536);
  for (int round = 0; round < 4; ++round) {
    // Readers that are killed at any moment do the engine no harm.
    const pid_t reader = ::fork();
    if (reader == 0) {
      const auto attachment = attach(name);
      if (!attachment) ::_exit(1);
      Mirror mirror(attachment->header());
      for (;;) follow(attachment->reader(), mirror, ~std::uint64_t{0});
    }
    std::this_thread::sleep_for(30ms);
    ::kill(reader, SIGKILL);
    ::waitpid(reader, nullptr, 0);
  }
  {
    const auto attachment = attach(name);
    REQUIRE(attachment);
    Mirror mirror(attachment->header());
    CHECK(follow(attachment->reader(), mirror, 500) >= 500);
  }
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  ::shm_unlink((kFeedPrefix + name).c_str());
}

TEST_CASE("feed: a name that a living process writes is refused with a sentence") {
  const std::string name = own_name("taken");
  const std::string text = yaml(fmt::format("{{ shm: {{ name: {} }} }}", name));
  {
    const auto engine = engine_of(text);
    const auto config = read_engine_config(*parse_yaml(text, "test"), plugins());
    REQUIRE(config);
    const auto second = Engine::create(*config, plugins());
    REQUIRE_FALSE(second);
    CHECK(second.error().text.find(fmt::format("the feed '{}' is already written by process {}", name, ::getpid())) !=
          std::string::npos);
  }
  const auto gone = Attachment::attach(name);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().text.starts_with("the feed '" + name + "': there is no feed with this name"));
}

TEST_CASE("feed: a recording that was cut, damaged or left by a killed writer is distinguished from a whole one") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("marked")).string();
  const std::string part = FeedSink::part_of(path), left = path + ".left";
  {
    const auto engine = engine_of(yaml(fmt::format("{{ file: {{ path: {} }} }}", path)));
    RandomRequests requests(*engine, plugins(), 5, 2);
    requests.run(100);
    engine->feed()->keep_pace(~std::uint64_t{0});
    std::filesystem::copy_file(part, left);  // the file that SIGKILL would leave
    requests.run(100);
    engine->intern({.tenant = "of no request"});  // events that no operation ends
  }
  const auto kind_of = [](const std::string& file) -> std::string {
    const auto recording = Recording::open(file);
    REQUIRE(recording);
    const Doubts doubts = (*recording)->doubts();
    return doubts.empty() ? "none" : std::string(name_of(doubts[0].kind));
  };
  CHECK(kind_of(path) == "none");
  CHECK(kind_of(left) == "cut");
  const auto size = std::filesystem::file_size(path);
  const auto variant = [&](auto&& change) {
    const std::string copy = path + ".copy";
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    change(copy);
    const std::string kind = kind_of(copy);
    std::filesystem::remove(copy);
    return kind;
  };
  // Behind a commit, within an event, and one event more.
  CHECK(variant([&](const std::string& copy) { std::filesystem::resize_file(copy, size - 3200); }) == "cut");
  CHECK(variant([&](const std::string& copy) { std::filesystem::resize_file(copy, size - 20); }) == "cut");
  CHECK(variant([&](const std::string& copy) { std::filesystem::resize_file(copy, size + 32); }) == "damaged");
  // Each bit counts, of the facts in the header and of the events.
  for (const std::uint64_t at : {std::uint64_t{16}, std::uint64_t{4096 + 7}, size / 2, size - 1})
    for (const int bit : {0, 7}) {
      CAPTURE(at);
      CHECK(variant([&](const std::string& copy) {
              std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
              file.seekg(static_cast<std::streamoff>(at));
              const int byte = file.get();
              file.seekp(static_cast<std::streamoff>(at));
              file.put(static_cast<char>(byte ^ 1 << bit));
            }) == "damaged");
    }
  std::filesystem::remove(path);
  std::filesystem::remove(left);
}

TEST_CASE("feed: a recording is the feed, and any moment of it can be gone back to") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("recording")).string();
  std::uint64_t nodes = 0;
  {
    const auto engine = engine_of(yaml(fmt::format("{{ file: {{ path: {} }} }}", path)));
    RandomRequests requests(*engine, plugins(), 5, 2);
    requests.run(3'000);
    nodes = engine->index().use().nodes;
  }
  auto recording = Recording::open(path);
  REQUIRE_MESSAGE(recording, (recording ? "" : recording.error().text));
  CHECK((*recording)->commits() > 3'000);
  CHECK((*recording)->doubts().empty());
  Mirror whole((*recording)->header());
  whole.take((*recording)->events(0, ~std::uint64_t{0}));
  CHECK(whole.commits() == (*recording)->commits());
  CHECK(whole.drift() == 0);
  CHECK(whole.node_count() == nodes);
  // In two steps, from the start again, is the same as at once.
  const std::uint64_t middle = (*recording)->commits() / 2;
  Mirror again((*recording)->header());
  again.take((*recording)->events(0, middle));
  const auto then = again.moment();
  CHECK(again.commits() == middle);
  again.take((*recording)->events(middle, ~std::uint64_t{0}));
  CHECK(again.moment() == whole.moment());
  again.reset();
  again.take((*recording)->events(0, middle));
  CHECK(again.moment() == then);
  const auto difference = Mirror::difference(then, whole.moment());
  CHECK(then.size() + difference.added.size() - difference.evicted.size() == whole.node_count());
  for (const auto& [id, node] : whole.moment()) {
    const auto before = then.find(id);
    const bool changed = before != then.end() && before->second != node;
    CHECK(std::binary_search(difference.changed.begin(), difference.changed.end(), id) == changed);
  }

  // Cut anywhere, it is whole up to the last commit that is there.
  const auto bytes = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, bytes - 20);
  auto cut = Recording::open(path);
  REQUIRE(cut);
  const Doubts cut_doubts = (*cut)->doubts();
  REQUIRE(cut_doubts.size() == 1);
  CHECK(cut_doubts[0].kind == Doubt::Kind::cut);
  Mirror rest((*cut)->header());
  rest.take((*cut)->events(0, ~std::uint64_t{0}));
  CHECK(rest.commits() == (*cut)->commits());
  CHECK(rest.drift() == 0);
  std::filesystem::resize_file(path, 100);
  CHECK(Recording::open(path).error().text ==
        path + ": this is not a recording of a feed: it is too short for a header");
  std::ofstream(path) << std::string(8192, 'x');
  CHECK(Recording::open(path).error().text.find("this is not a recording of a feed") != std::string::npos);
  std::filesystem::remove(path);
  CHECK(Recording::open(path).error().text == path + ": No such file or directory");
  CHECK(Recording::open("/dev/null").error().text.find("a regular file") != std::string::npos);
}

/// Forks a child that runs requests with its copy of the engine, and ends that copy. Returns false if the child died.
bool fork_that_runs(std::unique_ptr<Engine>& engine, std::optional<RandomRequests>& requests) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool runs = engine->poll();  // an inspector's commands are for the parent
    requests->run(3'000);
    requests.reset();
    engine.reset();
    ::_exit(runs ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_CASE("feed: a forked child leaves the feed to its parent") {
  const std::string name = own_name("fork");
  auto engine = engine_of(yaml(fmt::format("{{ shm: {{ name: {}, events: 65536, controls: true }} }}", name)));
  const auto before = attach(name);
  REQUIRE(before);
  Mirror mirror(before->header());
  std::optional<RandomRequests> requests;
  requests.emplace(*engine, plugins(), 3, 2);
  const auto read_all = [&] {
    Event some[4096];
    std::size_t count = 0;
    while (before->reader().read(some, std::size(some), count) == FeedReader::Outcome::events)
      mirror.take({some, count});
    return mirror.commits();
  };
  requests->run(300);
  const std::uint64_t commits = read_all();
  REQUIRE(commits >= 100);
  REQUIRE(before->send({Command::Kind::pause}));
  CHECK(fork_that_runs(engine, requests));
  CHECK(before->gone().empty());
  CHECK(read_all() == commits);
  CHECK_FALSE(engine->poll());
  REQUIRE(before->send({Command::Kind::go_on}));
  CHECK(engine->poll());
  requests->run(300);
  CHECK(read_all() >= commits + 100);
  CHECK(mirror.drift() == 0);
  CHECK(mirror.node_count() == engine->index().use().nodes);
  CHECK(attach(name));  // the name still leads to it

  // Nor does a child that lives on keep the name.
  const pid_t sleeper = ::fork();
  if (sleeper == 0)
    for (;;) ::pause();
  const UniqueFd object(::open(("/dev/shm/canopy-" + name).c_str(), O_RDONLY));
  CHECK(presence::taken(object.get(), presence::Place::writer));
  requests.reset();
  engine.reset();
  const auto is_taken = [&] { return presence::taken(object.get(), presence::Place::writer); };
  for (int tries = 0; tries < 500 && is_taken(); ++tries) std::this_thread::sleep_for(10ms);  // the child may be slow
  CHECK_FALSE(is_taken());
  ::kill(sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
}

TEST_CASE("feed: a forked child leaves the recording to its parent") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("fork-recording")).string();
  std::uint64_t nodes = 0;
  {
    auto engine = engine_of(yaml(fmt::format("{{ file: {{ path: {} }} }}", path)));
    std::optional<RandomRequests> requests;
    requests.emplace(*engine, plugins(), 5, 2);
    requests->run(100);
    CHECK(fork_that_runs(engine, requests));
    CHECK_FALSE(std::filesystem::exists(path));
    requests->run(100);
    nodes = engine->index().use().nodes;
  }
  const auto recording = Recording::open(path);
  REQUIRE_MESSAGE(recording, (recording ? "" : recording.error().text));
  CHECK((*recording)->doubts().empty());
  Mirror mirror((*recording)->header());
  mirror.take((*recording)->events(0, ~std::uint64_t{0}));
  CHECK(mirror.drift() == 0);
  CHECK(mirror.node_count() == nodes);
  std::filesystem::remove(path);
}

TEST_CASE("feed: a device is not recorded to") {
  auto document = parse_yaml(yaml("{ file: { path: /dev/null } }"), "test");
  auto config = read_engine_config(*document, plugins());
  REQUIRE(config);
  const auto engine = Engine::create(*config, plugins());
  REQUIRE_FALSE(engine);
  CHECK(engine.error().text.find("/dev/null: this is a device; expected a regular file") != std::string::npos);
}

TEST_CASE("recording: going back begins at a moment that was kept, and ends where reading from the start would") {
  const std::string path = (std::filesystem::temp_directory_path() / own_name("checkpoints")).string();
  {
    const auto engine = engine_of(yaml(fmt::format("{{ file: {{ path: {} }} }}", path)));
    RandomRequests requests(*engine, plugins(), 5, 2);
    requests.run(9'000);
  }
  const auto recording = Recording::open(path);
  REQUIRE(recording);
  const std::uint64_t end = (*recording)->commits();
  inspector::Checkpoints checkpoints(std::size_t{8} << 20, 100);
  Mirror mirror((*recording)->header());
  mirror.learn();
  std::uint64_t at = 0, read = 0;
  const auto go_to = [&](std::uint64_t wanted) {
    if (wanted < at) at = checkpoints.go_back(wanted, mirror);
    REQUIRE(at <= wanted);
    read = wanted - at;
    while (at < wanted) {
      const std::uint64_t next = std::min(wanted, checkpoints.next(at));
      mirror.take((*recording)->events(at, next));
      checkpoints.pass(at = next, mirror);
    }
  };
  go_to(end);
  const auto learned = mirror.requests();
  CHECK(checkpoints.bytes() <= std::size_t{8} << 20);
  CHECK(checkpoints.size() > 1);
  CHECK(checkpoints.distance() > 100);  // so many had no room
  for (const std::uint64_t wanted :
       {end - 1, end - 2, end / 2, end / 2 - 1, end / 2 - 2, end / 3, end, std::uint64_t{7}}) {
    go_to(wanted);
    Mirror fresh((*recording)->header());
    fresh.take((*recording)->events(0, wanted));
    CHECK(mirror.commits() == wanted);
    CHECK(mirror.drift() == 0);
    CHECK(mirror.moment() == fresh.moment());
    CHECK(mirror.requests().size() == fresh.requests().size());
    CHECK(mirror.samples().size() == fresh.samples().size());
    for (std::size_t g = 0; g < mirror.groups(); ++g) {
      std::size_t differ = 0;
      for (std::size_t page = 0; page < std::max(mirror.pool(g).owner.size(), fresh.pool(g).owner.size()); ++page)
        differ += mirror.pool(g).owner[page] != fresh.pool(g).owner[page];
      CHECK(differ == 0);
      CHECK(mirror.next_to_evict(g, 50) == fresh.next_to_evict(g, 50));
    }
  }
  {
    // Too little for one copy: only the one shortly before the target, which a step back uses.
    inspector::Checkpoints few(1, 100);
    Mirror reader((*recording)->header());
    few.expect(0, end);
    for (std::uint64_t commit = 0; commit < end;) {
      const std::uint64_t next = std::min(end, few.next(commit));
      reader.take((*recording)->events(commit, next));
      few.pass(commit = next, reader);
    }
    CHECK(few.size() == 0);
    CHECK(few.bytes() == 0);
    CHECK(few.go_back(end - 1, reader) == end - inspector::Checkpoints::kNear);
    CHECK(reader.commits() == end - inspector::Checkpoints::kNear);
    CHECK(few.go_back(7, reader) == 0);
    CHECK(few.go_back(end - 1, reader) == 0);  // the copy was dropped
  }
  go_to(end);
  go_to(end / 2);
  for (std::uint64_t back = 1; back <= inspector::Checkpoints::kNear; ++back) {
    go_to(end / 2 - back);
    CHECK(read <= inspector::Checkpoints::kNear);
  }
  // The events of a request later in the recording are known where it begins.
  std::size_t known = 0;
  for (const auto& request : learned) {
    if (request.miss != inspector::Miss::evicted) continue;
    const std::uint64_t begun = (*recording)->begun(request.id);
    REQUIRE(begun == request.begun_at);
    go_to(begun);
    REQUIRE(mirror.request(request.id));
    CHECK(mirror.request(request.id)->miss == inspector::Miss::evicted);
    if (++known == 5) break;
  }
  CHECK(known == 5);
  CHECK((*recording)->begun(1'000'000) == 0);
  std::filesystem::remove(path);
}
