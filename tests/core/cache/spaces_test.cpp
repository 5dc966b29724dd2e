/// Names of namespaces: no two have the same text, whatever clients choose for their parts.
#include <cache/pages/spaces.h>
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace canopy;

TEST_CASE("spaces: texts that were never ambiguous are as they always were") {
  Spaces spaces;
  const auto text = [&](const Space& space) { return std::string(spaces.salt_of(spaces.intern(space))); };
  CHECK(text({}).empty());
  CHECK(text({"acme", {}, {}}) == "tenant:acme");
  CHECK(text({"50%", {}, {}}) == "tenant:50%");
  CHECK(text({{}, "lora", {}}) == "adapter:lora");
  CHECK(text({"acme", "lora", {}}) == "tenant:acme/adapter:lora");
  CHECK(text({"acme", "lora", "tenant:x"}) == "tenant:acme/adapter:lora/tenant:x");
  CHECK(text({"acme", {}, "s/t"}) == "tenant:acme/s/t");
  CHECK(text({{}, {}, "s/t"}) == "s/t");
  CHECK(text({{}, {}, "salt:x"}) == "salt:x");
}

TEST_CASE("spaces: different tuples have different texts and names") {
  // Each part is made of what separates and marks parts.
  const std::vector<std::string> parts = {
      "",           "a",       "b",  "a/b",           "a/adapter:b", "tenant:a",   "adapter:b",          "salt:a",
      "a%2Fb",      "a%252Fb", "a%", "salt:tenant:a", "/",           "tenant:a/b", "(shared)",           "shared",
      "'(shared)'", "/*3",     "*",  "adapter:b/a",   "a/*1",        "a (2)",      "salt:salt:adapter:b"};
  Spaces spaces;
  std::map<std::string, std::tuple<std::string, std::string, std::string>> texts;
  std::set<std::string> names;
  for (const std::string& tenant : parts)
    for (const std::string& adapter : parts)
      for (const std::string& salt : parts) {
        const NamespaceId space = spaces.intern({tenant, adapter, salt});
        const auto [at, fresh] = texts.emplace(spaces.salt_of(space), std::tuple(tenant, adapter, salt));
        CHECK_MESSAGE(fresh, "one text '", at->first, "' for two tuples");
        CHECK_MESSAGE(names.insert(spaces.name_of(space)).second, spaces.name_of(space));
        CHECK(spaces.name_of(space).empty() == (space == NamespaceId::shared));
      }
  CHECK(texts.size() == spaces.size());
}

TEST_CASE("a namespace that is forgotten leaves its number to another, and no name to anybody") {
  Spaces spaces;
  CHECK(spaces.find({}) == NamespaceId::shared);
  CHECK_FALSE(spaces.find({"a", {}, {}}));
  CHECK(spaces.count() == 1);
  const NamespaceId a = spaces.intern({"a", {}, "secret"}), b = spaces.intern({"b", {}, {}});
  const NamespaceId c = spaces.intern({{}, "c", "secret"});
  CHECK(spaces.find({"a", {}, "secret"}) == a);
  std::vector<bool> used(spaces.size());
  used[static_cast<std::size_t>(b)] = true;
  spaces.forget_others(used);
  CHECK_FALSE(spaces.find({"a", {}, "secret"}));
  CHECK(spaces.find({"b", {}, {}}) == b);
  CHECK(spaces.find({}) == NamespaceId::shared);
  CHECK(spaces.count() == 2);
  const NamespaceId d = spaces.intern({"d", {}, "x"}), e = spaces.intern({"e", {}, {}});
  CHECK(std::set{d, e} == std::set{a, c});
  CHECK(spaces.tuple_of(d).tenant == "d");
  CHECK(spaces.tuple_of(d).salt == "x");
  CHECK(spaces.salt_of(d) == "tenant:d/x");
  CHECK(spaces.salt_of(e) == "tenant:e");
  CHECK(spaces.name_of(d) == "d/*" + std::to_string(static_cast<std::uint32_t>(d)));
  CHECK(spaces.intern({"f", {}, {}}) == NamespaceId{4});
  CHECK(spaces.intern({"a", {}, "secret"}) == NamespaceId{5});  // it comes again, as another
}

TEST_CASE("any number of unused namespaces cost a bounded number") {
  Spaces spaces;
  for (int number = 0; number < 10'000; ++number) {
    spaces.intern({{}, {}, "salt " + std::to_string(number)});
    if (spaces.count() > 100) spaces.forget_others(std::vector<bool>(spaces.size()));
  }
  CHECK(spaces.size() <= 102);
}
