#include "group_index.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>

#include "slots.h"
#include "waiting_order.h"

namespace canopy::python {
namespace {

using Self = nb::handle_t<GroupIndex>;

GroupIndex& get(Self self) { return made_by<GroupIndex>(self); }
nb::handle_t<Index> as_index(Self self) { return nb::handle_t<Index>(self.ptr()); }

std::size_t group_of(const Index& index, std::size_t group) {
  if (group >= index.groups()) throw nb::index_error("there is no such group");
  return group;
}

nb::tuple find(Self self, nb::handle ids, nb::handle space, std::optional<std::size_t> limit) {
  GroupIndex& index = get(self);
  const Tokens tokens(ids, limit);
  const std::optional<Index::SpaceUse> in = index.find(space);
  Found found;
  {
    const Index::Step step(index, Operation::begin);
    if (in) found = index.tree().find({*in, tokens.get()});
  }
  index.raise_failure();
  return nb::make_tuple(found.length, static_cast<std::uint64_t>(found.node), found.full_length);
}

/// Holds what a match that ends at the node would hold. Returns None if no match can end there any longer.
nb::object hold_node(Self self, std::uint64_t node) {
  GroupIndex& index = get(self);
  nb::object hold = made<Hold>(Owner(as_index(self)), Index::SpaceUse(index, NamespaceId::shared));
  Lock lock;
  {
    const Index::Step step(index, Operation::begin);
    lock = index.tree().hold(NodeId{node});
    nb::inst_ptr<Hold>(hold)->set(lock);
  }
  if (lock.node == NodeId::none) hold = nb::none();
  index.raise_failure(hold);
  return hold;
}

/// The changes of an insert. Positions count pages from the start of the key.
struct Grown {
  Units length = 0, had = 0;
  nb::object hold;
  std::vector<std::vector<Page>> at, taken;  ///< per group: positions and numbers of the pages that the index took
  std::vector<std::vector<Page>> evicted;    ///< per group: numbers that left, because a path had too many
};

/// Returns the caller's pages that the index has taken, and recycles the numbers of the others.
void sort_out(GroupIndex& index, std::size_t group, std::span<const Page> brought, std::span<const Page> spare,
              std::size_t pages, Grown& grown) {
  std::size_t next = 0;
  for (std::size_t at = 0; at < brought.size(); ++at) {
    const Page number = brought[at];
    const bool is_spare = next < spare.size() && spare[next] == number;
    next += is_spare;
    if (number == 0) continue;
    if (is_spare || at >= pages) {
      index.numbers(group).give_back(number);
    } else {
      grown.at[group].push_back(static_cast<Page>(at));
      grown.taken[group].push_back(number);
    }
  }
}

/// Pages of a key for an insert, with numbers for those from `first` on. Gives the numbers back unless the index gets
/// them.
class Brought {
 public:
  explicit Brought(GroupIndex& index) : index_(index) {}
  ~Brought() {
    for (std::size_t g = 0; g < index_.groups(); ++g)
      for (const Page number : values_[g].values)
        if (number != 0) index_.numbers(g).give_back(number);
  }
  Brought(const Brought&) = delete;
  std::span<const Page> take(std::size_t group, std::size_t first, std::size_t whole) {
    auto& values = values_[group].values;
    values.assign(whole, 0);
    for (std::size_t i = std::min(first, whole); i < whole; ++i) values[i] = index_.numbers(group).take();
    return values;
  }
  /// The index has the pages now.
  void gone() {
    for (auto& scratch : values_) scratch.values.clear();
  }

 private:
  GroupIndex& index_;
  std::array<Scratch<Page>, kMaxGroups> values_;
};

nb::object insert(Self self, nb::handle ids, nb::handle firsts, nb::handle space, std::int32_t priority, Units inserted,
                  std::optional<std::size_t> limit) {
  GroupIndex& index = get(self);
  const std::size_t groups = index.groups();
  // Not a std::vector: nanobind makes one in a function that throws nothing, which ends the process without memory.
  const Tokens first(firsts);
  if (first.size() != groups) throw nb::value_error("insert: `first` needs one number for each group");
  const Tokens tokens(ids, limit);
  const Index::SpaceUse in = index.intern(space);
  const Key key{in, tokens.get()};
  const std::size_t whole = index.whole_pages(tokens.size());
  if (first.get()[0] > 0 &&
      index.tree().peek(key).full_length < std::min<std::size_t>(first.get()[0], whole * index.page()))
    throw nb::value_error("insert: the index no longer has the tokens before first[0]");
  // Everything is allocated before the index gets pages: an exception behind that would lose them.
  nb::object result = made<Grown>();
  Grown& grown = *nb::inst_ptr<Grown>(result);
  grown.hold = made<Hold>(Owner(as_index(self)), in);
  grown.at.resize(groups), grown.taken.resize(groups), grown.evicted.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    grown.at[g].reserve(whole), grown.taken[g].reserve(whole);
    grown.evicted[g].reserve(g > 0 ? whole : 0);  // at most those of the path
  }
  index.make_room(whole);
  Brought brought(index);
  GroupPages pages{};
  for (std::size_t g = 0; g < groups; ++g) pages[g] = brought.take(g, first.get()[g] / index.page(), whole);
  {
    const Index::Step step(index, Operation::insert);
    const Inserted done = index.tree().insert({}, key, pages, {.priority = priority, .inserted = inserted});
    nb::inst_ptr<Hold>(grown.hold)->set(done.lock);
    grown.length = done.lock.length;
    grown.had = done.had;
    for (std::size_t g = 0; g < groups; ++g) {
      sort_out(index, g, pages[g], done.spare[g], grown.length / index.page(), grown);
      if (done.evicted[g].size() > grown.evicted[g].capacity()) {
        index.left()[g].keep(done.evicted[g]);  // for the next evict()
        continue;
      }
      grown.evicted[g].assign(done.evicted[g].begin(), done.evicted[g].end());
      index.numbers(g).give_back(done.evicted[g]);
    }
    brought.gone();
  }
  index.raise_failure(result);
  return result;
}

/// Evicts one node, or returns the numbers that have left since the last call.
nb::list evict(GroupIndex& index, std::size_t group) {
  const std::size_t groups = index.groups();
  group_of(index, group);
  bool any = false;
  for (std::size_t g = 0; g < groups; ++g) any |= index.left()[g].left() > 0;
  {
    const Index::Step step(index, Operation::evict);
    if (!any) index.keep(index.tree().evict(group, 1));
  }
  nb::list lists;  // SlotBuffers
  for (std::size_t g = 0; g < groups; ++g) lists.append(buffer_of(index.left()[g].pages(), 1));
  for (std::size_t g = 0; g < groups; ++g) {
    index.numbers(g).give_back(index.left()[g].pages());
    index.left()[g].clear();
  }
  index.raise_failure(lists);
  return lists;
}

void clear(GroupIndex& index) {
  {
    const Index::Step step(index, Operation::flush);
    index.tree().clear();
  }
  for (std::size_t g = 0; g < index.groups(); ++g) index.numbers(g).clear(), index.left()[g].clear();
  index.raise_failure();
}

SlotBuffer path(GroupIndex& index, std::uint64_t node, std::size_t group, Units start) {
  const Index::Step step(index, Operation::none);
  return buffer_of(index.tree().pages(NodeId{node}, start)[group_of(index, group)], 1);
}

SlotBuffer all(GroupIndex& index, std::size_t group) {
  struct All final : NodeVisitor {
    std::size_t group = 0;
    std::vector<Page> pages;
    void node(const NodeView& node) override {
      for (const Page page : node.pages[group])
        if (page) pages.push_back(page);
    }
  } all;
  all.group = group_of(index, group);
  index.tree().visit(all);
  return buffer_of(all.pages, 1);
}

/// Returns the evictable units of a group, those that releases have freed among them, and the protected ones.
std::tuple<std::uint64_t, std::uint64_t> sizes(GroupIndex& index, std::size_t group) {
  const Sizes sizes = index.tree().sizes(group_of(index, group));
  return {sizes.evictable + index.left()[group].left() * index.page(), sizes.protected_};
}

}  // namespace

void bind_group_index(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<IndexSession::Reach>(module, "Reach",
                                  "A group with a reach beside the whole-path group; its policy is lru.")
      .def(
          "__init__",
          [](IndexSession::Reach* place, std::string name, Units reach, std::optional<std::uint64_t> capacity,
             std::uint32_t max_per_path) {
            if (reach == 0) throw nb::value_error("reach must be at least 1 token");
            new (place) IndexSession::Reach{std::move(name), reach, capacity.value_or(kUnlimited), max_per_path};
          },
          "name"_a, "reach"_a, "capacity"_a = nb::none(), "max_per_path"_a = 0,
          "reach: tokens at the end of a prefix that must be resident; 1: a recurrent state.\n"
          "max_per_path: most pages of one path; 0: any number.");
  nb::class_<Grown>(module, "Grown", "The result of GroupIndex.insert. Positions count pages of the key.")
      .def_ro("length", &Grown::length, "tokens of the key that are now in the index")
      .def_ro("had", &Grown::had, "those of them that were there before, in the whole-path group")
      .def_ro("hold", &Grown::hold, "a Hold of the key")
      .def(
          "at", [](const Grown& grown, std::size_t group) { return buffer_of(grown.at.at(group), 1); }, "group"_a,
          "Returns the positions of the pages that the index took.")
      .def(
          "taken", [](const Grown& grown, std::size_t group) { return buffer_of(grown.taken.at(group), 1); }, "group"_a,
          "Returns the numbers of these pages.")
      .def(
          "evicted", [](const Grown& grown, std::size_t group) { return buffer_of(grown.evicted.at(group), 1); },
          "group"_a, "Returns the numbers that left the index because of Reach.max_per_path.");
  nb::class_<GroupIndex, Index>(
      module, "GroupIndex",
      "An Index with groups beside the whole-path group (group 0): windows and recurrent states. Pages are numbers of "
      "its own, per group; the caller has a table from these to its slots.")
      .def(
          "__init__",
          [](GroupIndex* place, Units page_size, nb::object policy, const std::vector<IndexSession::Reach>& reaches,
             std::optional<std::uint64_t> capacity, const std::string& accounting, Units overlap, bool changes,
             nb::object feed, nb::object on_policy_failure) {
            if (reaches.size() + 1 > kMaxGroups) throw nb::value_error("there are too many groups");
            new (place) GroupIndex(
                {page_size, capacity, accounting, overlap, 1, changes, policy, feed, on_policy_failure, reaches});
          },
          "page_size"_a, "policy"_a, "reaches"_a, "capacity"_a = nb::none(), nb::kw_only(), "accounting"_a = "default",
          "overlap"_a = 0, "changes"_a = false, "feed"_a = nb::none(), "on_policy_failure"_a = nb::none(),
          "As Index, with groups 1 to 3 in `reaches`.")
      .def("find", &find, "tokens"_a, nb::kw_only(), "space"_a = nb::none(), "limit"_a = nb::none(),
           "Returns (length, node, full length): the longest prefix that every group can serve, the node in which it "
           "ends (0: nothing was found), and how far the whole-path group goes.")
      .def("hold_node", &hold_node, "node"_a,
           "Holds the prefix that ends at a node. Returns None if no match can end there any longer.")
      .def("insert", &insert, "tokens"_a, "first"_a, nb::kw_only(), "space"_a = nb::none(), "priority"_a = 0,
           "inserted"_a = 0, "limit"_a = nb::none(),
           nb::sig("def insert(self, tokens: object, first: object, *, space: object | None = None, priority: int = 0, "
                   "inserted: int = 0, limit: int | None = None) -> Grown"),
           "Adds the whole pages of `tokens` from the root and holds them.\n"
           "first: per group, the first token of which the caller brings pages. REQUIRES: the tokens before first[0] "
           "are resident in group 0.")
      .def("evict", &evict, "group"_a,
           "Evicts one node of a group in the policy's order. Returns the numbers that left, per group.")
      .def("clear", &clear, "Removes everything, held or not. All numbers are free then.")
      .def("path", &path, "node"_a, "group"_a = 0, "start"_a = 0,
           "Returns the numbers of the path to a node from `start` on; 0 where nothing is held. Empty if the node has "
           "left.")
      .def("all", &all, "group"_a = 0, "Returns all numbers of a group. O(tree).")
      .def("sizes", &sizes, "group"_a = 0, "Returns the evictable and the protected tokens of a group.")
      .def(
          "relax",
          [](GroupIndex& index, Hold& hold, std::size_t group) {
            const Index::Step step(index, Operation::advance);
            index.tree().relax(hold.held(), group_of(index, group), hold.held().length);
          },
          "hold"_a, "group"_a, "Releases the part of a hold in a group with a reach.")
      .def(
          "held_from",
          [](GroupIndex& index, Hold& hold, std::size_t group) { return hold.held().from[group_of(index, group)]; },
          "hold"_a, "group"_a, "Returns the first token that a hold covers in a group.")
      .def(
          "weight_order",
          [](GroupIndex& index, nb::list nodes) {
            std::vector<NodeId> ids;
            for (const nb::handle node : nodes) ids.push_back(NodeId{nb::cast<std::uint64_t>(node)});
            return dfs_weight_order(index.tree(), ids);
          },
          "nodes"_a, "Index.dfs_weight_order for nodes of find().");
}

}  // namespace canopy::python
