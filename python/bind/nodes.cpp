#include "nodes.h"

#include <canopy/base/printable.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "columns.h"
#include "spaces.h"

namespace canopy::python {
namespace {

/// Copies the facts during the walk, because views are valid only then.
class Collector final : public NodeVisitor {
 public:
  struct Row {
    NodeFacts facts;
    NodeId parent{};
    std::uint32_t locks = 0;
  };
  void node(const NodeView& node) override { rows.push_back({node.facts, node.parent, node.locks[0]}); }
  std::vector<Row> rows;
};

}  // namespace

nb::dict columns_of(const std::function<void(NodeVisitor&)>& visit, const std::function<std::string(NamespaceId)>& name_of) {
  using Row = Collector::Row;
  Collector all;
  visit(all);
  const auto fact = [&](auto member) {
    return column(all.rows, [member](const Row& row) { return row.facts.*member; });
  };
  nb::dict columns;
  columns["node"] = column(all.rows, [](const Row& row) { return static_cast<std::uint64_t>(row.facts.id); });
  columns["parent"] = column(all.rows, [](const Row& row) { return static_cast<std::uint64_t>(row.parent); });
  nb::list names;
  for (const Row& row : all.rows) names.append(shown(shown_name(name_of(row.facts.space))));
  columns["space"] = names;
  columns["begin"] = fact(&NodeFacts::begin);
  columns["length"] = fact(&NodeFacts::length);
  columns["hits"] = fact(&NodeFacts::hits);
  columns["inserts"] = fact(&NodeFacts::inserts);
  columns["locks"] = column(all.rows, [](const Row& row) { return row.locks; });
  columns["priority"] = fact(&NodeFacts::priority);
  columns["created"] = fact(&NodeFacts::created);
  columns["last_access"] = fact(&NodeFacts::last_access);
  return columns;
}

nb::object tree_of(nb::object self, const std::string& form, std::size_t lines) {
  return nb::module_::import_("canopy.feed").attr("tree")(self.attr("columns")(), form, lines);
}

}  // namespace canopy::python
