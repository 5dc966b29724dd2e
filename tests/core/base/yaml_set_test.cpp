/// --set: a document with one value changed.
#include "yaml_texts.h"

using namespace canopy;
using namespace canopy::test;

TEST_CASE("set: as if it had been written there") {
  struct Case {
    std::string_view document, assignment, result;
  };
  const Case kCases[] = {
      {"{a: 1, b: 2}", "a=3", "{a:3,b:2}"},
      {"{a: 1}", "b=[x, {y: 2}]", "{a:1,b:[x,{y:2}]}"},
      {"{a: {b: 1}}", "a.b='x'", "{a:{b:'x'}}"},
      {"{a: {b: 1}}", "a.c.d=2", "{a:{b:1,c:{d:2}}}"},
      {"", "a.b=1", "{a:{b:1}}"},
      {"{eviction: slru}", "eviction.slru.protect_after=3", "{eviction:{slru:{protect_after:3}}}"},
      {"{eviction: lru}", "eviction.slru.protect_after=3", "{eviction:{slru:{protect_after:3}}}"},
      {"{eviction: {slru: {}}}", "eviction.slru.protect_after=3", "{eviction:{slru:{protect_after:3}}}"},
      {"{eviction: {slru: }}", "eviction.slru.protect_after=3", "{eviction:{slru:{protect_after:3}}}"},
      {"{index: 'null'}", "index.radix.accounting=sglang", "{index:{radix:{accounting:sglang}}}"},
      {"{mix: [{a: 1}, {b: 2}]}", "mix.1.b=3", "{mix:[{a:1},{b:3}]}"},
      {"{a: [1, 2]}", "a.0=x", "{a:[x,2]}"},
      {"{a: 1}", "a=~", "{a:null}"},
      {"{a: 1}", "a=b=c", "{a:b=c}"},
      {"{a: 1}", "a=''", "{a:''}"},
  };
  for (const Case& one : kCases) {
    CAPTURE(one.assignment);
    YamlNode document = good(one.document);
    const auto set = set_value(document, one.assignment);
    REQUIRE_MESSAGE(set, (set ? std::string() : set.error().text));
    CHECK(flat(document) == one.result);
  }
  YamlNode document = good("a: { b: 1 }");
  REQUIRE(set_value(document, "a.c.d={e: [1]}"));
  const YamlNode& made = *document.find("a")->find("c");
  CHECK(made.mark.text() == "--set a.c.d");
  CHECK(made.find("d")->find("e")->items[0].mark.text() == "--set a.c.d");
  CHECK(document.find("a")->find("b")->mark.text() == "t:1:9");
}

TEST_CASE("set: what cannot be set, and then nothing is") {
  struct Case {
    std::string_view assignment, error;
  };
  const std::string deep = repeated("x.", 32) + "x=1";
  const Case kCases[] = {
      {"", "--set : expected path=value"},
      {"a", "--set a: expected path=value"},
      {"=1", "--set : a step of the path is empty"},
      {"a..b=1", "--set a..b: a step of the path is empty"},
      {".a=1", "--set .a: a step of the path is empty"},
      {"a.=1", "--set a.: a step of the path is empty"},
      {"new=", "--set new: expected a value after the '='"},
      {"new=[1", "--set new:1:1: a list or a map cannot be a key; expected a name, or a bracket is not closed"},
      {"new='x", "--set new:1:3: this is not YAML: illegal EOF in scalar"},
      {"new=*a", "--set new:1:1: this is not YAML: the referenced anchor"},
      {"new=&a 1", "--set new:1:1: anchors"},
      {"number.x=1", "--set number.x: there is no 'x' in '8', the value at t:1:9; set the whole value"},
      {"list.2=1", "--set list.2: '2' is not a place in the list of 2 at t:2:7; the first is 0"},
      {"list.-1=1", "is not a place in the list of 2"},
      {"list.0x=1", "is not a place in the list of 2"},
      {"list.99999999999999999999=1", "is not a place in the list of 2"},
      {"a\nb=1", "--set 'a\\x0ab': a name has a control character or a byte that is not UTF-8"},
      {"a\xFF=1", "--set 'a\\xff': a name has a control character or a byte that is not UTF-8"},
      {deep, "more than 32 levels"},
  };
  const std::string_view text = "number: 8\nlist: [1, 2]\n";
  for (const Case& one : kCases) {
    CAPTURE(one.assignment);
    YamlNode document = good(text);
    const auto set = set_value(document, one.assignment);
    REQUIRE(!set);
    CAPTURE(set.error().text);
    CHECK(set.error().text.find(one.error) != std::string::npos);
    CHECK(flat(document) == "{number:8,list:[1,2]}");
  }
}
