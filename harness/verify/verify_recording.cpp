#include "verify_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "recorded_tree.h"
#include "recording_file.h"

namespace canopy::verify {
namespace {

using Json = nlohmann::json;

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

  /// The first difference between what the line says and what the index does; empty if there is none.
  std::string step(const Json& line) {
    const std::string op = line.at("op");
    const std::uint64_t evictable = index_->sizes(0).evictable;
    if (op == "insert") {
      insert(line);
    } else if (op == "match" || op == "lock") {
      const auto words = line.at("toks").get<std::vector<std::uint32_t>>();
      const Lock lock = index_->match({space_of(line.at("ns")), words}, {});
      std::vector<std::uint64_t> slots = first_of_pages(line.at("ret"), setup_.page);
      expect("length", line.at("ret").size(), lock.length);
      const auto pages = index_->pages(lock)[0];
      expect("slots", slots, std::vector<std::uint64_t>(pages.begin(), pages.end()));
      if (op == "lock") locks_.push_back(lock);
      else index_->release(lock);
    } else if (op == "unlock") {
      const std::size_t k = line.at("k");
      if (k >= locks_.size()) return fmt::format("unlocks number {} of {} that are locked", k, locks_.size());
      index_->release(locks_[k]);
      locks_.erase(locks_.begin() + static_cast<std::ptrdiff_t>(k));
    } else if (op == "evict") {
      const std::uint64_t units = line.at("n");
      const auto pages = index_->evict(0, (units + setup_.page - 1) / setup_.page)[0];
      expect("ret", line.at("ret").get<std::uint64_t>(), pages.size() * setup_.page);
      std::vector<std::uint64_t> freed;
      for (const Json& node : line.at("freed"))
        for (const std::uint64_t slot : first_of_pages(node, setup_.page)) freed.push_back(slot);
      expect("freed", freed, std::vector<std::uint64_t>(pages.begin(), pages.end()));
    } else {
      return fmt::format("'{}' is no operation of a recording", op);
    }
    if (op == "lock" || op == "unlock")
      expect("delta", line.at("delta").get<std::int64_t>(),
             static_cast<std::int64_t>(index_->sizes(0).evictable) - static_cast<std::int64_t>(evictable));
    const Sizes sizes = index_->sizes(0);
    expect("evictable", line.at("ev").get<std::uint64_t>(), sizes.evictable);
    expect("protected", line.at("pr_").get<std::uint64_t>(), sizes.protected_);
    expect("total", line.at("total").get<std::uint64_t>(), sizes.evictable + sizes.protected_);
    expect("evictable leaves", line.at("leaves").get<std::uint64_t>(), leaves());
    expect("clock", line.at("clk").get<std::uint64_t>(), index_->now());
    if (line.contains("tree")) compare_trees(line.at("tree"));
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
    return static_cast<NamespaceId>(spaces_.emplace(name.get<std::string>(), spaces_.size() + 1).first->second);
  }
  void insert(const Json& line) {
    const auto words = line.at("toks").get<std::vector<std::uint32_t>>();
    const Json& slots = line.at("v");
    const std::size_t units = words.size() > setup_.overlap ? words.size() - setup_.overlap : 0;
    std::vector<Page> pages;
    for (std::size_t i = 0; i + setup_.page <= units; i += setup_.page) pages.push_back(slots.at(i));
    GroupPages brought{};
    brought[0] = pages;
    const Inserted inserted = index_->insert({}, {space_of(line.at("ns")), words}, brought,
                                             {line.at("pr").get<std::int32_t>(), line.at("chunked").get<bool>()});
    expect("ret", line.at("ret").get<std::uint64_t>(), inserted.had);
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
};

}  // namespace

Result<Verdict> verify_recording(const std::string& path, const Registry& registry) {
  auto setup = setup_of(path);
  if (!setup) return setup.error();
  if (!std::filesystem::is_regular_file(path)) return Error{path + ": there is no such file"};
  auto policy = registry.make<EvictionStrategy>(setup->policy, {});
  if (!policy) return Error{path + ": " + policy.error().text};
  Replay replay(*setup, *policy);
  if (auto opened = replay.open(registry); !opened) return opened.error();

  RecordingLines lines(path);
  if (!lines.opened()) return Error{path + ": it cannot be opened"};
  Verdict verdict;
  std::string text;
  bool ended = false;
  for (std::uint64_t number = 1; verdict.difference.empty() && lines.next(text); ++number) {
    try {
      const Json line = Json::parse(text);
      if (line.contains("end")) {
        ended = true;
        break;
      }
      const std::string difference = replay.step(line);
      ++verdict.operations;
      verdict.trees += line.contains("tree");
      if (!difference.empty())
        verdict.difference = fmt::format("{}:{}: operation {} ({}): {}", path, number, line.at("i").dump(),
                                         line.at("op").dump(), difference);
    } catch (const Json::exception& error) {
      return Error{fmt::format("{}:{}: not a line of a recording: {}", path, number, error.what())};
    }
  }
  if (const std::string damage = lines.damage(); !damage.empty()) return Error{path + ": it is damaged: " + damage};
  if (!ended && verdict.difference.empty()) return Error{path + ": it breaks off before its last line"};
  return verdict;
}

}  // namespace canopy::verify
