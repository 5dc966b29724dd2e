#include "verify_recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

namespace canopy::verify {
namespace {

using Json = nlohmann::json;

struct Setup {
  std::string policy;
  Units page = 1, overlap = 0;
};

/// POLICY_pageP_MODE_..., read from the right, since a policy's name may have `_` in it.
Result<Setup> setup_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  const Error unknown{path +
                      ": the name does not say what was recorded; expected POLICY_pageP_plain_seedS.jsonl.gz or "
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

/// The lines of a file that may be gzipped.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(gzopen(path.c_str(), "rb")) {}
  ~Lines() {
    if (file_) gzclose(file_);
  }
  Lines(const Lines&) = delete;
  bool opened() const { return file_ != nullptr; }
  bool next(std::string& line) {
    line.clear();
    char part[1 << 16];
    while (gzgets(file_, part, sizeof(part))) {
      line += part;
      if (line.back() == '\n' || line.size() > kLongest) break;
    }
    return !line.empty();
  }
  /// What is wrong with the compression, if anything is.
  std::string broken() const {
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    return code == Z_OK || code == Z_STREAM_END ? std::string() : std::string(text);
  }

 private:
  static constexpr std::size_t kLongest = std::size_t{64} << 20;
  gzFile file_;
};

/// One node as recordings write it.
struct Row {
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> tokens;
  std::vector<std::uint64_t> slots;  ///< the first of each page
  std::uint64_t locks = 0, hits = 0, last_access = 0, created = 0;
  std::int64_t priority = 0;
  std::string text() const {
    return fmt::format("depth {} tokens {} slots {} locks {} hits {} priority {} last access {} created {}", depth,
                       tokens, slots, locks, hits, priority, last_access, created);
  }
  bool operator==(const Row&) const = default;
};

/// Depth first, siblings by their first slot.
std::vector<Row> in_order(const std::vector<Row>& rows, const std::vector<std::size_t>& parents) {
  std::vector<std::vector<std::size_t>> children(rows.size() + 1);
  for (std::size_t i = 0; i < rows.size(); ++i) children[parents[i]].push_back(i);
  for (auto& siblings : children)
    std::sort(siblings.begin(), siblings.end(),
              [&](std::size_t a, std::size_t b) { return rows[a].slots > rows[b].slots; });
  std::vector<Row> ordered;
  std::vector<std::size_t> open = children[rows.size()];
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    ordered.push_back(rows[at]);
    open.insert(open.end(), children[at].begin(), children[at].end());
  }
  return ordered;
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

  /// The first difference between what the line says and what the index does; empty if there is none.
  std::string step(const Json& line) {
    const std::string op = line.at("op");
    const std::uint64_t evictable = index_->sizes(0).evictable;
    if (op == "insert") {
      insert(line);
    } else if (op == "match" || op == "lock") {
      const auto words = line.at("toks").get<std::vector<std::uint32_t>>();
      const Lock lock = index_->match({space_of(line.at("ns")), words}, {});
      std::vector<std::uint64_t> slots = first_of_pages(line.at("ret"));
      expect("length", line.at("ret").size(), lock.length);
      const auto pages = index_->pages(lock)[0];
      expect("slots", slots, std::vector<std::uint64_t>(pages.begin(), pages.end()));
      if (op == "lock") locks_.push_back(lock);
      else index_->release(lock);
    } else if (op == "unlock") {
      const std::size_t k = line.at("k");
      if (k >= locks_.size()) return fmt::format("unlocks number {} of {} that are held", k, locks_.size());
      index_->release(locks_[k]);
      locks_.erase(locks_.begin() + static_cast<std::ptrdiff_t>(k));
    } else if (op == "evict") {
      const std::uint64_t units = line.at("n");
      const auto pages = index_->evict(0, (units + setup_.page - 1) / setup_.page)[0];
      expect("ret", line.at("ret").get<std::uint64_t>(), pages.size() * setup_.page);
      std::vector<std::uint64_t> freed;
      for (const Json& node : line.at("freed"))
        for (const std::uint64_t slot : first_of_pages(node)) freed.push_back(slot);
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
  std::vector<std::uint64_t> first_of_pages(const Json& slots) const {
    std::vector<std::uint64_t> firsts;
    for (std::size_t i = 0; i < slots.size(); i += setup_.page) firsts.push_back(slots[i]);
    return firsts;
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
    std::vector<Row> theirs;
    std::vector<std::size_t> parents, path;
    for (const Json& row : tree) {
      const std::uint32_t depth = row.at(0);
      path.resize(std::min<std::size_t>(path.size(), depth));
      parents.push_back(path.empty() ? tree.size() : path.back());
      path.push_back(theirs.size());
      theirs.push_back(
          {depth, row.at(1), first_of_pages(row.at(2)), row.at(3), row.at(4), row.at(6), row.at(7), row.at(5)});
    }
    const std::vector<Row> recorded = in_order(theirs, parents);

    struct Collect final : NodeVisitor {
      std::vector<Row> rows;
      std::vector<std::size_t> parents;
      std::unordered_map<NodeId, std::size_t> places;
      void node(const NodeView& node) override {
        const auto parent = places.find(node.parent);
        parents.push_back(parent == places.end() ? ~std::size_t{0} : parent->second);
        places.emplace(node.facts.id, rows.size());
        rows.push_back({parent == places.end() ? 0 : rows[parents.back()].depth + 1,
                        {node.words.begin(), node.words.end()},
                        {node.pages[0].begin(), node.pages[0].end()},
                        node.locks[0],
                        node.facts.hits,
                        node.facts.last_access,
                        node.facts.created,
                        node.facts.priority});
      }
    } collect;
    index_->visit(collect);
    for (std::size_t& parent : collect.parents)
      if (parent == ~std::size_t{0}) parent = collect.rows.size();
    const std::vector<Row> ours = in_order(collect.rows, collect.parents);
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

  Lines lines(path);
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
  if (const std::string broken = lines.broken(); !broken.empty()) return Error{path + ": it is damaged: " + broken};
  if (!ended && verdict.difference.empty()) return Error{path + ": it breaks off before its last line"};
  return verdict;
}

}  // namespace canopy::verify
