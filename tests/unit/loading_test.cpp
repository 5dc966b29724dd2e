#include <canopy/nearest_name.h>
#include <canopy/registry.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <type_traits>

#include "plugin_file.h"

namespace fs = std::filesystem;

namespace {

using canopy::EvictionStrategy;
using canopy::Registry;
using canopy::Trust;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // plugins are then linked to stay mapped, for the sake of traces
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

/// A new folder that goes with its object.
class Scratch {
 public:
  explicit Scratch(const fs::path& in = fs::temp_directory_path()) {
    std::string name = (in / "canopy_loading_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = fs::canonical(name);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  fs::path operator/(const char* name) const { return folder_ / name; }
  const fs::path& folder() const { return folder_; }
  fs::path copy_of(const fs::path& file, const char* name) const {
    fs::copy_file(file, folder_ / name);
    fs::permissions(folder_ / name, fs::perms{0755});
    return folder_ / name;
  }
  fs::path text(const char* name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }

 private:
  fs::path folder_;
};

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }
fs::path fixture(const std::string& name) {
  return fs::canonical(own_folder().parent_path() / "bad_plugins" / (name + ".so"));
}

/// What is said of one file: its only refusal, or "" if there is none.
std::string said_of(const fs::path& file, Trust trust = Trust::as_ourselves) {
  Registry registry;
  registry.add(file, trust);
  if (registry.refusals().empty()) return {};
  CHECK(registry.refusals().size() == 1);
  CHECK(registry.offers().empty());
  CHECK(registry.refusals()[0].file == file);
  return registry.refusals()[0].why;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Answers options by name and writes down what it was asked for.
class Answers final : public canopy::Options {
 public:
  explicit Answers(std::map<std::string, std::uint64_t> numbers = {}) : numbers_(std::move(numbers)) {}
  virtual ~Answers() = default;
  bool ok() const override { return ok_; }
  std::string asked;

 private:
  void on_number(const char* name, std::uint64_t& value, std::uint64_t min, std::uint64_t max,
                 const char* help) override {
    asked += std::string(name) + "=" + std::to_string(value) + " " + std::to_string(min) + ".." + std::to_string(max) +
             " " + help;
    if (const auto found = numbers_.find(name); found != numbers_.end()) value = found->second;
    ok_ = ok_ && value >= min && value <= max;
  }
  void on_real(const char*, double&, double, double, const char*) override {}
  void on_flag(const char*, bool&, const char*) override {}
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override {}
  void on_entries(const char*, canopy::Entries&, const char*) override {}

  std::map<std::string, std::uint64_t> numbers_;
  bool ok_ = true;
};

canopy::Result<std::shared_ptr<EvictionStrategy>> make(const Registry& registry, const char* name,
                                                       Answers answers = Answers{}) {
  return registry.create<EvictionStrategy>(name, answers, {});
}

bool is_mapped(const fs::path& file) {
  std::ifstream maps("/proc/self/maps");
  return contains({std::istreambuf_iterator<char>(maps), {}}, file.string());
}

bool others_can_write_above(fs::path folder) {
  for (;; folder = folder.parent_path()) {
    struct stat facts;
    if (::stat(folder.c_str(), &facts) != 0 || (facts.st_mode & 022U) != 0) return true;
    if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) return true;
    if (folder == folder.parent_path()) return false;
  }
}

}  // namespace

TEST_CASE("loading: a good plugin is listed, describes its options, is made, and ranks") {
  Registry registry;
  registry.add(fixture("good"), Trust::as_ourselves);
  CHECK(registry.refusals().empty());
  REQUIRE(registry.offers().size() == 1);
  const canopy::Offer& offer = registry.offers()[0];
  CHECK(offer.interface == "EvictionStrategy");
  CHECK(offer.name == "slru");
  CHECK(offer.summary == "one-hit prefixes leave first");
  CHECK(offer.version == "1.0.0");
  CHECK(offer.file == fixture("good"));
  CHECK(registry.find(EvictionStrategy::kInterface, "slru") == &offer);
  CHECK(registry.find(canopy::KeyCodec::kInterface, "slru") == nullptr);
  CHECK(registry.names(EvictionStrategy::kInterface) == std::vector<std::string>{"slru"});

  Answers help;
  offer.component->options(help);
  CHECK(help.asked == "protect_after=2 1..64 hits that protect a prefix");

  const auto strategy = make(registry, "slru", Answers{{{"protect_after", 3}}});
  REQUIRE(strategy);
  canopy::NodeFacts node;
  node.last_access = 41;
  node.hits = 2;
  CHECK((*strategy)->rank(node) == canopy::Rank{0, 41});
  node.hits = 3;
  CHECK((*strategy)->rank(node) == canopy::Rank{1, 41});
}

TEST_CASE("loading: what is no file to load is refused with what it is") {
  const Scratch scratch;
  CHECK(said_of(scratch / "missing.so") == "there is no such file");
  CHECK(said_of(scratch.text("empty.so", "")) == "it is empty, a plugin is an ELF shared library");
  CHECK(said_of(scratch.text("junk.so", "#!/bin/sh\n")) == "it is not an ELF file, a plugin is an ELF shared library");
  CHECK(said_of(scratch.folder()) == "it is a folder, a plugin is a regular file");
  CHECK(said_of("/dev/zero") == "it is a device, a plugin is a regular file");

  // A reader of a FIFO waits for its writer, and there is none.
  REQUIRE(::mkfifo((scratch / "fifo.so").c_str(), 0600) == 0);
  CHECK(said_of(scratch / "fifo.so") == "it is a FIFO, a plugin is a regular file");

  fs::create_symlink("nowhere.so", scratch / "dangling.so");
  CHECK(said_of(scratch / "dangling.so") == "it is a symbolic link to nowhere.so, which does not exist");
  fs::create_symlink("circle.so", scratch / "circle.so");
  CHECK(contains(said_of(scratch / "circle.so"), "it cannot be reached: "));

  fs::resize_file(scratch.text("huge.so", "x"), (std::uintmax_t{256} << 20) + 1);  // a hole: takes no disk
  CHECK(said_of(scratch / "huge.so") == "it has 268435457 bytes, expected at most 268435456");
}

TEST_CASE("loading: a plugin that was cut short is refused wherever it ends") {
  const Scratch scratch;
  const fs::path file = scratch.copy_of(fixture("good"), "cut.so");
  for (std::uintmax_t size = (fs::file_size(file) - 1) / 512 * 512;; size -= 512) {
    CAPTURE(size);
    fs::resize_file(file, size);
    CHECK_FALSE(said_of(file).empty());
    if (size == 0) break;
  }
}

TEST_CASE("loading: a library the loader cannot complete is refused in the loader's words") {
  const Scratch scratch;
  std::ifstream in(fixture("good"), std::ios::binary);
  std::string library{std::istreambuf_iterator<char>(in), {}};
  const std::size_t needed = library.find(std::string(".so.6", 6));
  REQUIRE(needed != std::string::npos);
  library[needed + 4] = '9';
  const std::string why = said_of(scratch.text("incomplete.so", library));
  CHECK(contains(why, "the loader refuses it: "));
  CHECK(contains(why, ".so.9"));
}

TEST_CASE("loading: a library without a descriptor is refused and none of its code runs") {
  const Scratch scratch;
  const fs::path canary = scratch / "canary";
  REQUIRE(::setenv("CANOPY_CANARY", canary.c_str(), 1) == 0);
  CHECK(said_of(fixture("no_symbol")) ==
        "it does not export canopy_plugin_, so it is no Canopy plugin and was not loaded");
  CHECK_FALSE(fs::exists(canary));
  // The canary does sing where a library is loaded.
  void* const loaded = ::dlopen(fixture("no_symbol").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loaded != nullptr);
  CHECK(fs::exists(canary));
  ::dlclose(loaded);
  ::unsetenv("CANOPY_CANARY");
}

TEST_CASE("loading: a descriptor that is not of this host's kind is refused with both sides") {
  CHECK(said_of(fixture("wrong_magic")) == "its magic is 0x21544f4e, this host expects 0x31504e43");
  CHECK(said_of(fixture("small_struct")) == "its CanopyPlugin has 8 bytes, this host expects 40");
  CHECK(said_of(fixture("other_toolchain")) ==
        "it was built for itanium/another_libc++/64, this host is " CANOPY_TOOLCHAIN);
  if (!kSanitized) CHECK_FALSE(is_mapped(fixture("wrong_magic")));

  const CanopyComponent component{};
  const CanopyPlugin good{
      canopy::kPluginMagic, sizeof(CanopyPlugin), CANOPY_TOOLCHAIN, "1", &component, sizeof component, 1};
  CHECK(canopy::why_unreadable(good).empty());
  const auto with = [&]<class Field>(Field CanopyPlugin::* field, std::type_identity_t<Field> value) {
    CanopyPlugin bad = good;
    bad.*field = value;
    return canopy::why_unreadable(bad);
  };
  CHECK(with(&CanopyPlugin::component_size, 40) == "its CanopyComponent has 40 bytes, this host expects 48");
  CHECK(with(&CanopyPlugin::component_size, 49) == "its CanopyComponent has 49 bytes, this host expects 48");
  CHECK(with(&CanopyPlugin::component_size, 1 << 20) == "its CanopyComponent has 1048576 bytes, this host expects 48");
  CHECK(with(&CanopyPlugin::component_size, 56).empty());  // a newer one, with a field more
  CHECK(with(&CanopyPlugin::size, 56).empty());
  CHECK(with(&CanopyPlugin::toolchain, nullptr) ==
        "it does not say what it was built for, this host is " CANOPY_TOOLCHAIN);
  CHECK(with(&CanopyPlugin::version, nullptr) == "it does not say which version it is");
  CHECK(with(&CanopyPlugin::components, nullptr) == "it says that it has 1 components, but its list of them is null");
  CHECK(with(&CanopyPlugin::count, 0) == "it says that it has 0 components, expected 1 to 4096");
  CHECK(with(&CanopyPlugin::count, 4097) == "it says that it has 4097 components, expected 1 to 4096");
}

TEST_CASE("loading: a component that cannot be used is refused alone") {
  Registry registry;
  registry.add(fixture("null_fields"), Trust::as_ourselves);
  const char* const expected[] = {
      "component 'no_interface' does not say which interface it implements",
      "component 2 has no name",
      "component 3 has no name",
      "component 'no_summary' has no summary",
      "component 'no_create' has no function create",
      "component 'no_destroy' has no function destroy",
      "component 'no_options' has no function options",
  };
  REQUIRE(registry.refusals().size() == std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) CHECK(registry.refusals()[i].why == expected[i]);
  CHECK(registry.names(EvictionStrategy::kInterface) == std::vector<std::string>{"whole"});

  Registry other;
  other.add(fixture("old_interface"), Trust::as_ourselves);
  REQUIRE(other.refusals().size() == 2);
  CHECK(other.refusals()[0].why ==
        "component 'of_yesterday' implements canopy.EvictionStrategy/0, this host has canopy.EvictionStrategy/1");
  CHECK(other.refusals()[1].why ==
        "component 'of_others' implements somebody.Elses/7, this host has canopy.EvictionStrategy/1, "
        "canopy.KeyCodec/1, canopy.KVStore/1, canopy.PrefixIndex/1, canopy.SlotAllocator/1");
  CHECK(make(other, "of_today"));
}

TEST_CASE("loading: a name is offered once, and the refusal names both files") {
  Registry registry;
  registry.scan(canopy::own_plugin_folder(), Trust::as_ourselves);
  CHECK(registry.refusals().empty());
  const canopy::Offer* first = registry.find(EvictionStrategy::kInterface, "lru");
  REQUIRE(first != nullptr);
  const std::string first_file = first->file.string();
  registry.add(fixture("name_taken"), Trust::as_ourselves);
  REQUIRE(registry.refusals().size() == 1);
  CHECK(registry.refusals()[0].file == fixture("name_taken"));
  CHECK(registry.refusals()[0].why ==
        "its eviction strategy 'lru' is not used, " + first_file + " already offers that name");

  // The same file once more, under whatever name, is no second one.
  const Scratch scratch;
  fs::create_symlink(first_file, scratch / "link.so");
  const std::size_t offers = registry.offers().size();
  registry.add(scratch / "link.so", Trust::as_ourselves);
  registry.scan(canopy::own_plugin_folder(), Trust::as_ourselves);
  CHECK(registry.refusals().size() == 1);
  CHECK(registry.offers().size() == offers);
}

TEST_CASE("loading: a folder is scanned in order, past what is refused") {
  const Scratch scratch;
  scratch.copy_of(fixture("name_taken"), "b.so");
  scratch.text("a.so", "junk");
  scratch.copy_of(fixture("good"), "c.so");
  scratch.text("notes.txt", "no plugin and no concern of ours");
  Registry registry;
  registry.scan(scratch.folder(), Trust::as_ourselves);
  REQUIRE(registry.refusals().size() == 1);
  CHECK(registry.refusals()[0].file == scratch / "a.so");
  REQUIRE(registry.offers().size() == 2);
  CHECK(registry.offers()[0].name == "lru");
  CHECK(registry.offers()[1].name == "slru");

  registry.scan(scratch / "nowhere", Trust::as_ourselves);
  REQUIRE(registry.refusals().size() == 2);
  CHECK(registry.refusals()[1].why == "the folder cannot be read: No such file or directory");
}

TEST_CASE("loading: an instance that cannot be had is an error that helps") {
  Registry registry;
  registry.add(fixture("good"), Trust::as_ourselves);
  registry.add(fixture("throws_in_create"), Trust::as_ourselves);
  CHECK(make(registry, "slur").error().text ==
        "no eviction strategy is called 'slur'. Did you mean 'slru'?\n"
        "  known here: silent slru throws_error throws_int");
  registry.add(fixture("wrong_magic"), Trust::as_ourselves);
  CHECK(make(registry, "clock").error().text ==
        "no eviction strategy is called 'clock'\n"
        "  known here: silent slru throws_error throws_int   (1 plugin was refused, see `canopy plugins`)");
  registry.add(fixture("small_struct"), Trust::as_ourselves);
  Answers none;
  CHECK(registry.create<canopy::KeyCodec>("token", none, {}).error().text ==
        "no key codec is called 'token'\n  known here: none   (2 plugins were refused, see `canopy plugins`)");

  CHECK(make(registry, "throws_error").error().text ==
        "eviction strategy 'throws_error' cannot be made: its ghost list does not fit (throws_in_create.so)");
  CHECK(make(registry, "throws_int").error().text ==
        "eviction strategy 'throws_int' cannot be made: it threw something that is not a std::exception "
        "(throws_in_create.so)");
  CHECK(make(registry, "silent").error().text ==
        "eviction strategy 'silent' cannot be made: it gives no reason (throws_in_create.so)");
  // Whoever walked the options has already said what is wrong with them.
  const auto outside = make(registry, "slru", Answers{{{"protect_after", 65}}});
  REQUIRE_FALSE(outside);
  CHECK(outside.error().text.empty());
}

TEST_CASE("loading: an instance keeps its library mapped when the registry is gone") {
  const Scratch scratch;
  const fs::path file = scratch.copy_of(fixture("good"), "kept.so");
  std::shared_ptr<EvictionStrategy> strategy;
  {
    Registry registry;
    registry.add(file, Trust::as_ourselves);
    Registry moved = std::move(registry);
    auto made = make(moved, "slru");
    REQUIRE(made);
    strategy = *std::move(made);
  }
  REQUIRE(is_mapped(file));
  canopy::NodeFacts node;
  node.hits = 9;
  CHECK(strategy->rank(node) == canopy::Rank{1, 0});
  strategy.reset();
  if (!kSanitized) CHECK_FALSE(is_mapped(file));
}

TEST_CASE("loading: in a folder somebody named, only root and ourselves may be able to change a plugin") {
  const Scratch scratch;
  const fs::path file = scratch.copy_of(fixture("good"), "good.so");
  const auto with_mode = [&](mode_t mode) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    return said_of(file, Trust::strict);
  };
  CHECK(with_mode(0775) == "others than its owner can write it (its mode is 0775, expected no more than 0755)");
  CHECK(with_mode(0757) == "others than its owner can write it (its mode is 0757, expected no more than 0755)");
  CHECK(with_mode(04755) ==
        "it is set-user-ID or set-group-ID, a plugin is a plain file (its mode is 4755, expected no more than 0755)");
  REQUIRE(::chmod(file.c_str(), 0755) == 0);

  fs::create_hard_link(file, scratch / "second.so");
  CHECK(said_of(file, Trust::strict) == "it has 2 hard links, expected 1: it could be changed under another name");
  CHECK(said_of(file).empty());
  fs::remove(scratch / "second.so");

  const Scratch elsewhere;
  fs::create_symlink(file, elsewhere / "link.so");
  CHECK(said_of(elsewhere / "link.so", Trust::strict) ==
        "it is a symbolic link that leaves its folder, to " + file.string());
  CHECK(said_of(elsewhere / "link.so").empty());

  REQUIRE(::chmod(scratch.folder().c_str(), 0775) == 0);
  CHECK(said_of(file, Trust::strict) == "others than its owner can write the folder " + scratch.folder().string() +
                                            " (its mode is 0775, expected no more than 0755)");
  CHECK(said_of(file, Trust::as_ourselves).empty());
  REQUIRE(::chmod(scratch.folder().c_str(), 0700) == 0);
  if (others_can_write_above(scratch.folder()))  // the sticky /tmp, as a rule
    CHECK(contains(said_of(file, Trust::strict), "others than its owner can write the folder "));

  if (::geteuid() == 0) {
    REQUIRE(::chown(file.c_str(), 4711, ::getegid()) == 0);
    CHECK(said_of(file, Trust::strict) == "it belongs to user 4711, expected root or user 0");
    REQUIRE(::chown(file.c_str(), 0, ::getegid()) == 0);
    REQUIRE(::chown(scratch.folder().c_str(), 4711, ::getegid()) == 0);
    CHECK(said_of(file, Trust::strict) ==
          "the folder " + scratch.folder().string() + " belongs to user 4711, expected root or user 0");
    REQUIRE(::chown(scratch.folder().c_str(), 0, ::getegid()) == 0);
  }
}

TEST_CASE("loading: a folder that only root and ourselves can write is accepted when somebody names it") {
  const char* home = std::getenv("HOME");
  for (const fs::path& base : {own_folder(), fs::path(home != nullptr ? home : "/")}) {
    if (::access(base.c_str(), W_OK) != 0 || others_can_write_above(fs::canonical(base))) continue;
    const Scratch scratch(base);
    const fs::path file = scratch.copy_of(fixture("good"), "real.so");
    fs::create_symlink("real.so", scratch / "alias.so");  // stays in its folder
    CHECK(said_of(file, Trust::strict).empty());
    CHECK(said_of(scratch / "alias.so", Trust::strict).empty());
    return;
  }
  MESSAGE("no folder here has only safe folders above it: not tested");
}

TEST_CASE("names: one slip in three letters is near") {
  const std::vector<std::string> known = {"clock", "fifo", "lfu", "lru", "priority", "slru"};
  CHECK(canopy::nearest_name("slur", known) == "slru");  // neighbours swapped
  CHECK(canopy::nearest_name("lruu", known) == "lru");   // one too many
  CHECK(canopy::nearest_name("fio", known) == "fifo");   // one missing
  CHECK(canopy::nearest_name("priorty", known) == "priority");
  CHECK(canopy::nearest_name("LRU", known) == "lru");
  CHECK(canopy::nearest_name("lrx", known) == "lru");
  CHECK(canopy::nearest_name("hazard", known).empty());
  CHECK(canopy::nearest_name("", known).empty());
  CHECK(canopy::nearest_name("a", std::vector<std::string>{"b"}).empty());
  CHECK(canopy::nearest_name(std::string(1 << 20, 'x'), known).empty());
  CHECK(canopy::did_you_mean("x", {}) == "\n  known here: none");
}
