#include "shrink.h"

#include <conformance/model/shrinking.h>

#include <set>
#include <utility>

namespace canopy::check {
namespace {

using Shrinking = test::Shrinking<Program>;

/// Leaves out all operations of a request together, so that only a few requests remain.
bool leave_out_requests(Shrinking& shrinking) {
  std::set<std::uint64_t> names;
  for (const Operation& operation : shrinking.best().operations)
    if (operation.verb == Verb::begin) names.insert(operation.request);
  bool any = false;
  for (const std::uint64_t name : names) {
    Program without = shrinking.best();
    std::erase_if(without.operations, [&](const Operation& one) { return one.request == name; });
    any |= shrinking.take(std::move(without));
  }
  return any;
}

/// Shortens prompts, and makes numbers smaller.
bool make_smaller(Shrinking& shrinking) {
  bool any = shrinking.shorten(&Operation::tokens, 1);
  for (std::size_t i = 0; i < shrinking.best().operations.size() && shrinking.in_time(); ++i) {
    const auto change = [&](auto&& how) {
      const Program& best = shrinking.best();
      Operation other = best.operations[i];
      how(other);
      if (text_of(other, best.groups) != text_of(best.operations[i], best.groups)) any |= shrinking.change(i, how);
    };
    for (const auto field : {&Operation::space, &Operation::leave, &Operation::output, &Operation::chunk})
      change([&](Operation& one) { one.*field = 0; });
    change([](Operation& one) { one.priority = 0; });
    change([](Operation& one) { one.soon = 0; });
    change([](Operation& one) { one.commits = false; });
    if (shrinking.best().operations[i].count != kUnlimited) change([](Operation& one) { one.count /= 2; });
  }
  return any;
}

}  // namespace

Program shrunk(Program program, const Fails& fails, double seconds) {
  Shrinking shrinking(
      std::move(program),
      [&](const Program& one) { return fails(one) ? std::optional(one.operations.size()) : std::nullopt; }, seconds);
  for (bool fewer = true; fewer && shrinking.in_time();) {
    fewer = leave_out_requests(shrinking);
    fewer |= shrinking.leave_out_parts();
    fewer |= make_smaller(shrinking);
  }
  return shrinking.best();
}

}  // namespace canopy::check
