#include <canopy/base/interface_version.h>
#include <canopy/base/registry.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <map>

#include "plugin_fixtures.h"

using namespace canopy::test;

namespace {

/// A policy of the test program's own.
class MostHits final : public canopy::EvictionStrategy {
 public:
  struct Config {
    std::uint32_t weight = 1;
    void visit(canopy::Options& o) { o.number("weight", weight, 1, 9, "rank of one hit"); }
  };
  explicit MostHits(const Config& config) : weight_(config.weight) {}
  canopy::Rank rank(const canopy::NodeFacts& node) override { return {node.hits * weight_, node.last_access}; }

 private:
  std::uint32_t weight_;
};

}  // namespace

CANOPY_PLUGIN("0.1.0", canopy::provide<canopy::EvictionStrategy, MostHits>("most_hits", "few hits leave first"));

namespace {

using canopy::EvictionStrategy;
using canopy::Registry;
using canopy::Trust;

/// Answers options by name and writes down what it was asked for.
class Answers final : public canopy::Options {
 public:
  explicit Answers(std::map<std::string, std::uint64_t> numbers = {}) : numbers_(std::move(numbers)) {}
  virtual ~Answers() = default;
  bool ok() const override { return ok_; }
  std::string calls;

 private:
  void on_number(const char* name, std::uint64_t& value, const canopy::NumberRange& range, const char* help) override {
    calls += std::string(name) + "=" + std::to_string(value) + " " + std::to_string(range.min) + ".." +
             std::to_string(range.max) + " " + help;
    if (const auto found = numbers_.find(name); found != numbers_.end()) value = found->second;
    ok_ = ok_ && value >= range.min && value <= range.max;
  }
  void on_real(const char*, double&, double, double, const char*) override {}
  void on_flag(const char*, bool&, const char*) override {}
  void on_choice(const char*, std::uint32_t&, std::span<const char* const>, const char*) override {}
  void on_entries(const char*, canopy::Entries&, const char*) override {}
  void on_text(const char*, const char*, std::size_t, const char*, TextTarget) override {}
  void on_variant(const char*, std::uint32_t&, std::span<const char* const>, bool, const char*,
                  const canopy::Part&) override {}
  void on_section(const char*, bool, const char*, const canopy::Part&) override {}
  void on_component(const char*, canopy::Component&, const char*, const char*) override {}

  std::map<std::string, std::uint64_t> numbers_;
  bool ok_ = true;
};

canopy::Result<std::shared_ptr<EvictionStrategy>> make(const Registry& registry, const char* name,
                                                       Answers answers = Answers{}) {
  return registry.create<EvictionStrategy>(name, answers, {});
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
  CHECK(help.calls == "protect_after=2 1..64 hits that protect a prefix");

  const auto strategy = make(registry, "slru", Answers{{{"protect_after", 3}}});
  REQUIRE(strategy);
  canopy::NodeFacts node;
  node.last_access = 41;
  node.hits = 2;
  CHECK((*strategy)->rank(node) == canopy::Rank{0, 41});
  node.hits = 3;
  CHECK((*strategy)->rank(node) == canopy::Rank{1, 41});
}

TEST_CASE("loading: a component that cannot be used is refused alone") {
  Registry registry;
  registry.add(fixture("null_fields"), Trust::as_ourselves);
  const char* const expected[] = {
      "component 'no_interface' does not name the interface that it implements",
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
  REQUIRE(other.refusals().size() == 4);
  CHECK(other.refusals()[0].why ==
        "component 'of_yesterday' implements canopy.EvictionStrategy/3.0; this host has canopy.EvictionStrategy/4.0");
  CHECK(other.refusals()[1].why ==
        "component 'of_tomorrow' implements canopy.EvictionStrategy/4.7; this host has canopy.EvictionStrategy/4.0");
  CHECK(other.refusals()[2].why ==
        "component 'without_minor' implements canopy.EvictionStrategy/4; this host has canopy.EvictionStrategy/4.0");
  CHECK(other.refusals()[3].why ==
        "component 'of_others' implements another.Projects/7.0; this host has canopy.EvictionStrategy/4.0, "
        "canopy.KeyCodec/2.0, canopy.KVStore/4.0, canopy.PageStorage/3.0, canopy.PrefixIndex/13.0, "
        "canopy.SlotAllocator/1.0");
  CHECK(make(other, "of_today"));
}

TEST_CASE("loading: a host takes components of its major version and of no newer minor version") {
  using canopy::accepts;
  CHECK(accepts("canopy.X/9.1", "canopy.X/9.1"));
  CHECK(accepts("canopy.X/9.1", "canopy.X/9.0"));
  CHECK_FALSE(accepts("canopy.X/9.1", "canopy.X/9.2"));
  CHECK_FALSE(accepts("canopy.X/9.1", "canopy.X/8.1"));
  CHECK_FALSE(accepts("canopy.X/9.1", "canopy.X/10.0"));
  CHECK_FALSE(accepts("canopy.X/9.1", "canopy.Y/9.1"));
  for (const char* malformed : {"canopy.X", "canopy.X/", "canopy.X/9", "canopy.X/9.", "canopy.X/.1", "canopy.X/9.1a"}) {
    CAPTURE(malformed);
    CHECK_FALSE(canopy::minor_version(malformed));
    CHECK_FALSE(accepts("canopy.X/9.1", malformed));
  }
  CHECK(canopy::minor_version("canopy.X/12.34") == 34);
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
        "its eviction strategy 'lru' is not used: " + first_file + " already offers that name");

  // The same file by another path is not a second one.
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

TEST_CASE("loading: a descriptor that counts more components than its list has is refused, never a signal") {
  if (kSanitized) {
    MESSAGE("SKIPPED: a sanitizer sees that what lies behind the list is read, within the file");
    return;
  }
  std::ifstream in(fixture("good"), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  const std::uint32_t mark[] = {canopy::kPluginMagic, sizeof(CanopyPlugin)};
  const std::size_t at = good.find(std::string(reinterpret_cast<const char*>(mark), sizeof(mark)));
  REQUIRE(at != std::string::npos);
  const Scratch scratch;
  bool listed = true;
  for (std::uint32_t count = 2; count <= 4096; count = count < 64 ? count + 1 : count * 2) {
    CAPTURE(count);
    std::string bytes = good;
    bytes.replace(at + offsetof(CanopyPlugin, count), sizeof(count), reinterpret_cast<const char*>(&count),
                  sizeof(count));
    const std::string name = std::to_string(count) + ".so";
    const fs::path file = scratch.text(name.c_str(), bytes);
    Registry registry;
    registry.add(file, Trust::as_ourselves);
    CHECK(registry.offers().size() <= 1);
    CHECK_FALSE(registry.refusals().empty());
    listed &= registry.refusals()[0].why.find("not within its data") == std::string::npos;
  }
  CHECK_FALSE(listed);
}

TEST_CASE("loading: an instance that cannot be made is an error that helps") {
  Registry registry;
  registry.add(fixture("good"), Trust::as_ourselves);
  registry.add(fixture("throws_in_create"), Trust::as_ourselves);
  CHECK(make(registry, "slur").error().text ==
        "no eviction strategy is called 'slur'. Did you mean 'slru'?\n"
        "  known here: silent slru throws_error throws_int");
  registry.add(fixture("wrong_magic"), Trust::as_ourselves);
  REQUIRE(registry.refusals().size() == 1);
  registry.add(fixture("wrong_magic"), Trust::as_ourselves);
  CHECK(registry.refusals().size() == 2);  // each time it is asked for, but it counts once, by whatever path
  registry.add(fixture("wrong_magic").parent_path() / "." / fixture("wrong_magic").filename(), Trust::as_ourselves);
  CHECK(make(registry, "clock").error().text ==
        "no eviction strategy is called 'clock'\n"
        "  known here: silent slru throws_error throws_int   (1 plugin was refused, see `canopy plugins`)");
  registry.add(fixture("small_struct"), Trust::as_ourselves);
  Answers none;
  CHECK(registry.create<canopy::KeyCodec>("token", none, {}).error().text ==
        "no key codec is called 'token'\n  known here: none   (2 plugins were refused, see `canopy plugins`)");

  CHECK(make(registry, "throws_error").error().text ==
        "eviction strategy 'throws_error' cannot be created: its ghost list does not fit (throws_in_create.so)");
  CHECK(make(registry, "throws_int").error().text ==
        "eviction strategy 'throws_int' cannot be created: it threw something that is not a std::exception "
        "(throws_in_create.so)");
  CHECK(make(registry, "silent").error().text ==
        "eviction strategy 'silent' cannot be created: no reason was given (throws_in_create.so)");
  // The walker has already said what is wrong with the options.
  const auto outside = make(registry, "slru", Answers{{{"protect_after", 65}}});
  REQUIRE_FALSE(outside);
  CHECK(outside.error().text.empty());
}

TEST_CASE("loading: a component of the program itself is checked, offered and made like a file's") {
  Registry registry;
  registry.add(canopy_plugin_, "this test");
  registry.add(canopy_plugin_, "this test");  // once more: nothing new
  CHECK(registry.refusals().empty());
  REQUIRE(registry.offers().size() == 1);
  const canopy::Offer& offer = registry.offers()[0];
  CHECK(offer.name == "most_hits");
  CHECK(offer.version == "0.1.0");
  CHECK(offer.file == "this test");
  const auto made = registry.make<EvictionStrategy>("most_hits", {}, "{ weight: 3 }");
  REQUIRE(made);
  canopy::NodeFacts node;
  node.hits = 5;
  CHECK((*made)->rank(node) == canopy::Rank{15, 0});

  // A file that offers the name later is refused, and the sentence names the program's plugin.
  Registry both;
  both.add(fixture("good"), Trust::as_ourselves);
  CanopyComponent taken = canopy_plugin_.components[0];
  taken.name = "slru";
  CanopyPlugin second = canopy_plugin_;
  second.components = &taken;
  both.add(second, "the second");
  REQUIRE(both.refusals().size() == 1);
  CHECK(both.refusals()[0].file == "the second");
  CHECK(both.refusals()[0].why ==
        "its eviction strategy 'slru' is not used: " + fixture("good").string() + " already offers that name");

  CanopyPlugin foreign = canopy_plugin_;
  foreign.toolchain = "itanium/other/32";
  Registry other;
  other.add(foreign, "built elsewhere");
  REQUIRE(other.refusals().size() == 1);
  CHECK(other.refusals()[0].why == std::string("it was built for itanium/other/32; this host is ") + CANOPY_TOOLCHAIN);
  taken.implements = "canopy.EvictionStrategy/3.9";
  Registry old;
  old.add(second, "of yesterday");
  REQUIRE(old.refusals().size() == 1);
  CHECK(old.refusals()[0].why == "component 'slru' implements canopy.EvictionStrategy/3.9; this host has " +
                                     std::string(EvictionStrategy::kInterface));
  CHECK(old.offers().empty());
}

TEST_CASE("loading: a component that the program makes itself has no options, and a name of its own") {
  Registry registry;
  int made = 0;
  bool refuses = false;
  const std::function<std::shared_ptr<EvictionStrategy>()> make = [&]() -> std::shared_ptr<EvictionStrategy> {
    if (refuses) return nullptr;
    ++made;
    return std::make_shared<MostHits>(MostHits::Config{});
  };
  REQUIRE(registry.add<EvictionStrategy>("ours", "few hits leave first", make));
  const canopy::Offer* const offer = registry.find(EvictionStrategy::kInterface, "ours");
  REQUIRE(offer);
  std::string what = "nothing";
  CHECK(offer->available(what));
  CHECK(registry.component(EvictionStrategy::kInterface, "ours") == "eviction strategy 'ours' (this program)");
  canopy::NodeFacts node;
  node.hits = 5;
  const auto instance = registry.make<EvictionStrategy>("ours", {});
  REQUIRE(instance);
  CHECK((*instance)->rank(node) == canopy::Rank{5, 0});
  CHECK(made == 1);
  const auto with_options = registry.make<EvictionStrategy>("ours", {}, "{ weight: 3 }");
  REQUIRE_FALSE(with_options);
  CHECK(with_options.error().text.find("weight") != std::string::npos);
  refuses = true;
  const auto refused = registry.make<EvictionStrategy>("ours", {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text == "eviction strategy 'ours' cannot be created (this program)");

  const auto taken = registry.add<EvictionStrategy>("ours", "", make);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().text == "an eviction strategy is called 'ours' already (this program)");
  CHECK_FALSE(registry.add<EvictionStrategy>("", "", make));
  // A file that offers the name later is refused.
  REQUIRE(registry.add<EvictionStrategy>("slru", "", make));
  registry.add(fixture("good"), Trust::as_ourselves);
  REQUIRE(registry.refusals().size() == 1);
  CHECK(registry.refusals()[0].why ==
        "its eviction strategy 'slru' is not used: this program already offers that name");
}

TEST_CASE("loading: options as text are refused with their place, and a component without them takes none") {
  Registry registry;
  registry.add(fixture("good"), Trust::as_ourselves);
  const auto slru = [&](const char* options) { return registry.make<EvictionStrategy>("slru", {}, options); };
  const auto why = [&](const char* options) { return slru(options).error().text; };
  canopy::NodeFacts node;
  node.hits = 2;
  CHECK((*slru(""))->rank(node) == canopy::Rank{1, 0});
  CHECK((*slru("{}"))->rank(node) == canopy::Rank{1, 0});
  CHECK((*slru("{ protect_after: 3 }"))->rank(node) == canopy::Rank{0, 0});
  CHECK((*slru("3"))->rank(node) == canopy::Rank{0, 0});  // the first option
  CHECK(why("{ protect_after: 0 }") ==
        "slru:1:18: slru.protect_after = 0 is outside 1..64 (hits that protect a prefix)");
  CHECK(why("{ protect_aftr: 1 }")
            .starts_with("slru:1:3: slru has no option 'protect_aftr'. Did you mean 'protect_after'?"));
  CHECK(why("{ protect_after: 1").starts_with("slru:1:1: "));
  CHECK(registry.make<EvictionStrategy>("slur", {}, "{ protect_aftr: 1 }").error().text ==
        "no eviction strategy is called 'slur'. Did you mean 'slru'?\n  known here: slru");
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
  if (!kSanitized) CHECK_FALSE(is_mapped(file));  // linked to stay there, for the sake of traces
}
