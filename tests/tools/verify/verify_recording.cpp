#include "verify_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <workload/line_reader.h>
#include "recorded_json.h"
#include "recorded_tree.h"

namespace canopy::verify {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 40;  // more than any index holds; plus a page does not wrap

/// The parts of a recording's name: POLICY_pageP_MODE_seedS.jsonl[.gz].
struct Setup {
  std::string policy;
  Units page = 1, overlap = 0;
};

Result<Setup> setup_of(const std::string& path) {
  // Read from the right, because a policy's name may contain `_`.
  std::string name = std::filesystem::path(path).filename().string();
  const Error unknown{path +
                      ": the name does not describe the recording; expected POLICY_pageP_plain_seedS.jsonl.gz or "
                      "POLICY_pageP_eagle_seedS.jsonl.gz"};
  const auto cut_last = [&name] {
    const std::size_t at = name.rfind('_');
    std::string part = at == std::string::npos ? std::string() : name.substr(at + 1);
    name.resize(at == std::string::npos ? 0 : at);
    return part;
  };
  cut_last();  // the seed and the suffixes
  const std::string mode = cut_last(), page = cut_last();
  Setup setup{name, 0, mode == "eagle" ? 1U : 0U};
  const std::string_view digits = std::string_view(page).substr(std::min<std::size_t>(4, page.size()));
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), setup.page);
  if (name.empty() || (mode != "plain" && mode != "eagle") || !page.starts_with("page") || error != std::errc() ||
      end != digits.end() || setup.page == 0 || setup.page > 65536)
    return unknown;
  return setup;
}

class Replay {
 public:
  Replay(const Setup& setup, std::shared_ptr<EvictionStrategy> policy) : setup_(setup), policy_(std::move(policy)) {
    group_.name = "full";
    group_.eviction = policy_.get();
  }
  Result<std::monostate> open(const Registry& registry) {
    auto index = registry.make<PrefixIndex>("radix", {setup_.page, setup_.overlap, {&group_, 1}}, "accounting: sglang");
    if (!index) return index.error();
    index_ = *index;
    return std::monostate{};
  }

  /// Returns the first difference between the line and the index; empty if there is none.
  std::string step(const Json& line) {
    const std::string op = line.at("op");
    const std::uint64_t number = whole_at(line, "i");
    if (number < next_number_) throw BadValue(fmt::format("'i' is {}; expected {} or more", number, next_number_));
    next_number_ = number + 1;
    const std::uint64_t evictable = index_->sizes(0).evictable;
    if (op == "insert") {
      insert(line);
    } else if (op == "match" || op == "lock") {
      const auto words = numbers(line.at("toks"), "toks");
      const Lock lock = index_->match({space_of(line.at("ns")), words}, {});
      const std::vector<std::uint64_t> slots = first_of_pages(numbers(line.at("ret"), "ret"), "ret", setup_.page);
      expect("length", line.at("ret").size(), lock.length);
      const auto pages = index_->pages(lock)[0];
      expect("slots", slots, std::vector<std::uint64_t>(pages.begin(), pages.end()));
      if (op == "lock") locks_.push_back(lock);
      else index_->release(lock);
    } else if (op == "unlock") {
      const std::size_t k = whole_at(line, "k");
      if (k >= locks_.size()) return fmt::format("unlocks number {} of {} that are locked", k, locks_.size());
      index_->release(locks_[k]);
      locks_.erase(locks_.begin() + static_cast<std::ptrdiff_t>(k));
    } else if (op == "evict") {
      const std::uint64_t units = whole_at(line, "n", kMostUnits);
      const auto pages = index_->evict(0, (units + setup_.page - 1) / setup_.page)[0];
      expect("ret", whole_at(line, "ret"), pages.size() * setup_.page);
      std::vector<std::uint64_t> freed;
      if (!line.at("freed").is_array()) throw BadValue("'freed' is not a list");
      for (const Json& node : line.at("freed"))
        for (const std::uint64_t slot : first_of_pages(numbers(node, "freed"), "freed", setup_.page))
          freed.push_back(slot);
      expect("freed", freed, std::vector<std::uint64_t>(pages.begin(), pages.end()));
    } else {
      return fmt::format("'{}' is not an operation of a recording", op);
    }
    if (op == "lock" || op == "unlock")
      expect("delta", signed_whole(line.at("delta"), "delta"),
             static_cast<std::int64_t>(index_->sizes(0).evictable) - static_cast<std::int64_t>(evictable));
    const Sizes sizes = index_->sizes(0);
    expect("evictable", whole_at(line, "ev"), sizes.evictable);
    expect("protected", whole_at(line, "pr_"), sizes.protected_);
    expect("total", whole_at(line, "total"), sizes.evictable + sizes.protected_);
    expect("evictable leaves", whole_at(line, "leaves"), leaves());
    expect("clock", whole_at(line, "clk"), index_->now());
    // Every 50th operation has the tree. Some operations are missing, because the recorder skips impossible ones.
    constexpr std::uint64_t kTreeEvery = 50;
    if (number % kTreeEvery == kTreeEvery - 1) compare_trees(line.at("tree"));
    return std::exchange(difference_, {});
  }

 private:
  template <class T>
  void expect(const char* what, const T& recorded, const std::type_identity_t<T>& ours) {
    if (difference_.empty() && recorded != ours)
      difference_ = fmt::format("{}\n  recorded  {}\n  ours      {}", what, recorded, ours);
  }

  NamespaceId space_of(const Json& name) {
    if (name.is_null()) return NamespaceId::shared;
    if (!name.is_string()) throw BadValue("'ns' is neither a name nor null");
    return static_cast<NamespaceId>(spaces_.emplace(name.get<std::string>(), spaces_.size() + 1).first->second);
  }
  void insert(const Json& line) {
    const auto words = numbers(line.at("toks"), "toks");
    const std::vector<std::uint32_t> slots = numbers(line.at("v"), "v");
    if (slots.size() != words.size())
      throw BadValue(fmt::format("'v' has {} slots for {} tokens; expected one each", slots.size(), words.size()));
    const std::size_t units = words.size() > setup_.overlap ? words.size() - setup_.overlap : 0;
    const std::size_t whole_pages = units / setup_.page * setup_.page;
    const std::vector<std::uint64_t> firsts = first_of_pages(std::span(slots).first(whole_pages), "v", setup_.page);
    const std::vector<Page> pages(firsts.begin(), firsts.end());
    GroupPages brought{};
    brought[0] = pages;
    if (!line.at("chunked").is_boolean()) throw BadValue("'chunked' is neither true nor false");
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto priority = static_cast<std::int32_t>(signed_whole(line.at("pr"), "pr", -kMost - 1, kMost));
    const Inserted inserted =
        index_->insert({}, {space_of(line.at("ns")), words}, brought, {priority, line.at("chunked").get<bool>()});
    expect("ret", whole_at(line, "ret"), inserted.had);
    index_->release(inserted.lock);
  }

  std::uint64_t leaves() const {
    struct Count final : QueueVisitor {
      std::uint64_t nodes = 0;
      void waiting(const NodeFacts&, Rank) override { ++nodes; }
    } count;
    index_->waiting(0, count);
    return count.nodes;
  }

  void compare_trees(const Json& tree) {
    const std::vector<RecordedNode> recorded = recorded_tree(tree, setup_.page), ours = tree_of(*index_);
    expect("nodes in the tree", recorded.size(), ours.size());
    for (std::size_t i = 0; i < std::min(recorded.size(), ours.size()); ++i)
      expect("a node of the tree", recorded[i].text(), ours[i].text());
  }

  Setup setup_;
  std::shared_ptr<EvictionStrategy> policy_;
  Group group_;
  std::shared_ptr<PrefixIndex> index_;
  std::vector<Lock> locks_;
  std::unordered_map<std::string, std::size_t> spaces_;
  std::string difference_;
  std::uint64_t next_number_ = 0;
};

/// Returns true for a valid last line: one that records that no victim was chosen among equals, whose order is random.
bool is_end(const Json& line) {
  return line.size() == 2 && whole_at(line, "end") == 1 && whole_at(line, "priority_ties_seen") == 0;
}

}  // namespace

Result<Verdict> verify_recording(const std::string& path, const Registry& registry) {
  auto setup = setup_of(path);
  if (!setup) return setup.error();
  auto lines = workload::LineReader::open(path);
  if (!lines) return lines.error();
  auto policy = registry.make<EvictionStrategy>(setup->policy, {});
  if (!policy) return Error{path + ": " + policy.error().text};
  Replay replay(*setup, *policy);
  if (auto opened = replay.open(registry); !opened) return opened.error();

  Verdict verdict;
  std::string_view text;
  bool ended = false;
  for (std::uint64_t number = 1; verdict.difference.empty(); ++number) {
    const auto more = (*lines)->next(text);
    if (!more) return more.error();
    if (!*more) break;
    const auto refused = [&](const std::string& why) { return Error{fmt::format("{}:{}: {}", path, number, why)}; };
    if (ended) return refused("there are bytes after the line that ends the recording");
    try {
      const Json line = Json::parse(text);
      if (!line.is_object()) return refused("not a line of a recording: it is not an object");
      if (line.contains("end")) {
        ended = is_end(line);
        if (!ended) return refused("not the end of a recording; expected {\"end\": 1, \"priority_ties_seen\": 0}");
        continue;
      }
      const std::string difference = replay.step(line);
      ++verdict.operations;
      verdict.trees += line.contains("tree");
      if (!difference.empty())
        verdict.difference = fmt::format("{}:{}: operation {} ({}): {}", path, number, line.at("i").dump(),
                                         line.at("op").dump(), difference);
    } catch (const BadValue& bad) {
      return refused(std::string("not a line of a recording: ") + bad.what());
    } catch (const Json::exception& error) {
      return refused(std::string("not a line of a recording: ") + error.what());
    }
  }
  if (!verdict.difference.empty()) return verdict;
  if (!ended) return Error{path + ": it ends before its last line"};
  if (verdict.operations == 0) return Error{path + ": it has no operation, so nothing was compared"};
  return verdict;
}

}  // namespace canopy::verify
