#include <canopy/loading/registry.h>
#include <doctest/doctest.h>

#include <iterator>
#include <map>

#include "plugin_fixtures.h"

using namespace canopy::test;

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
        "component 'of_yesterday' implements canopy.EvictionStrategy/0, this host has canopy.EvictionStrategy/2");
  CHECK(other.refusals()[1].why ==
        "component 'of_others' implements somebody.Elses/7, this host has canopy.EvictionStrategy/2, "
        "canopy.KeyCodec/1, canopy.KVStore/3, canopy.PrefixIndex/5, canopy.SlotAllocator/1");
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
