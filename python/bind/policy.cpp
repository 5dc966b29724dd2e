#include "policy.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include "columns.h"
#include "gil.h"
#include "spaces.h"

namespace canopy::python {
namespace {

constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;

/// A path, during a call of `ended`.
struct PathView {
  Path* path = nullptr;
  NodeFacts facts;
  NodeLender lender;
  std::unique_ptr<NodeLender::Loan> loan;
};

nb::object prints_of(std::span<const std::uint64_t> prints) {
  auto copy = std::make_unique<std::uint64_t[]>(prints.size());
  std::copy(prints.begin(), prints.end(), copy.get());
  std::uint64_t* const data = copy.get();
  const nb::capsule owner(copy.release(), [](void* memory) noexcept { delete[] static_cast<std::uint64_t*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>(data, {prints.size()}, owner));
}

/// A request for policies: a copy, so that a policy may keep it.
struct RequestView {
  RequestFacts facts;
  nb::object prints;
  explicit RequestView(const RequestFacts& request) : facts(request), prints(prints_of(request.prefix_prints)) {
    facts.prefix_prints = {};
  }
};

struct EvictionView {
  Cause cause{};
  nb::object prints;
};

/// Returns the facts of nodes as columns: an object with a NumPy array for each property of Node.
nb::object node_columns(std::span<const NodeFacts> nodes) {
  const nb::object columns = nb::module_::import_("types").attr("SimpleNamespace")();
  const auto fact = [&](const char* name, auto member) {
    columns.attr(name) = column(nodes, [member](const NodeFacts& node) { return node.*member; });
  };
  columns.attr("id") = column(nodes, [](const NodeFacts& node) { return static_cast<std::uint64_t>(node.id); });
  columns.attr("space") = column(nodes, [](const NodeFacts& node) { return static_cast<std::uint32_t>(node.space); });
  fact("begin", &NodeFacts::begin);
  fact("length", &NodeFacts::length);
  fact("hits", &NodeFacts::hits);
  fact("inserts", &NodeFacts::inserts);
  fact("children", &NodeFacts::children);
  fact("priority", &NodeFacts::priority);
  fact("created", &NodeFacts::created);
  fact("last_access", &NodeFacts::last_access);
  fact("spared", &NodeFacts::spared);
  columns.attr("tag") = column(nodes, [](const NodeFacts& node) { return node.tag ? *node.tag : 0; });
  const PolicyClock clock = nodes.empty() ? PolicyClock{} : nodes.front().clock;
  columns.attr("now") = clock.now;
  columns.attr("allocated") = clock.allocated;
  columns.attr("used") = clock.used;
  columns.attr("capacity") = clock.capacity;
  return columns;
}

/// Calls a method of a policy.
template <class... Args>
nb::object ask(const nb::object& method, Args&&... args) {
  return unless_python_ends([&] { return method(std::forward<Args>(args)...); });
}

/// Throws an exception of Python, to which raise_failure() can add a result.
[[noreturn]] void refuse_answer(PyObject* kind, const std::string& why) {
  PyErr_SetString(kind, why.c_str());
  throw nb::python_error();
}

/// Returns a number as a word, so that words compare as their numbers do: the bits of a double, all of them inverted if
/// it is negative, otherwise only the top one. It is the format `number` of PolicyText.
std::uint64_t word_of(double value) {
  if (std::isnan(value)) refuse_answer(PyExc_ValueError, "rank returned nan, which cannot be ordered");
  value += 0.0;  // -0.0 and 0.0 are equal
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits & kTopBit ? ~bits : bits | kTopBit;
}

std::uint64_t word_of(PyObject* number) {
  constexpr long long kExact = 1LL << 53;  // a double is exact for every integer up to here
  if (PyFloat_Check(number)) return word_of(PyFloat_AS_DOUBLE(number));
  if (PyLong_Check(number) || PyIndex_Check(number)) {
    const nb::object index = PyLong_Check(number) ? nb::borrow(number) : nb::steal(PyNumber_Index(number));
    if (!index.is_valid()) nb::raise_python_error();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0 || value > kExact || value < -kExact)
      refuse_answer(PyExc_OverflowError,
                    "a rank's integers must be from -2**53 to 2**53; return a float for larger ones");
    return word_of(static_cast<double>(value));
  }
  const double value = PyFloat_AsDouble(number);
  if (value == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    refuse_answer(PyExc_TypeError, std::string("rank must return a number or two numbers, not ") +
                                       nb::type_name(nb::handle(number).type()).c_str());
  }
  return word_of(value);
}

Rank rank_of(PyObject* answer) {
  if (!PyTuple_Check(answer)) return {word_of(answer), word_of(0.0)};
  if (PyTuple_GET_SIZE(answer) != 2)
    refuse_answer(PyExc_TypeError, "rank must return a number or two numbers, not a tuple of " +
                                       std::to_string(PyTuple_GET_SIZE(answer)));
  const std::uint64_t major = word_of(PyTuple_GET_ITEM(answer, 0));
  return {major, word_of(PyTuple_GET_ITEM(answer, 1))};
}

/// Returns a method of a policy, or nothing.
nb::object method_of(const nb::object& policy, const char* name) {
  if (!nb::hasattr(policy, name)) return {};
  nb::object method = policy.attr(name);
  if (!PyCallable_Check(method.ptr()))
    throw nb::type_error((std::string("the policy's `") + name + "` cannot be called").c_str());
  return method;
}

bool flag_of(const nb::object& policy, const char* name) {
  return nb::hasattr(policy, name) && nb::cast<bool>(nb::bool_(policy.attr(name)));
}

/// Returns the policy's `reads_prints`: False, "requests" or "all".
Prints prints_of(const nb::object& policy) {
  if (!nb::hasattr(policy, "reads_prints")) return Prints::none;
  const nb::object wanted = policy.attr("reads_prints");
  if (wanted.is(nb::bool_(false)) || wanted.is_none()) return Prints::none;
  const std::string name = nb::str(wanted).c_str();
  if (name == "requests") return Prints::requests;
  if (name == "all" || name == "True") return Prints::all;
  throw nb::value_error("a policy's `reads_prints` must be False, 'requests' or 'all'");
}

std::string first_line(const nb::object& doc) {
  const std::string text = doc.is_none() ? "" : nb::str(doc).c_str();
  return text.substr(0, text.find('\n'));
}

}  // namespace

PythonPolicy::PythonPolicy(nb::object policy) : policy_(std::move(policy)) {
  rank_ = method_of(policy_, "rank");
  if (!rank_.is_valid())
    throw nb::type_error(("a policy must be a name or an object with a method `rank(self, node)`; " +
                          std::string(nb::type_name(policy_.type()).c_str()) + " has none")
                             .c_str());
  rank_many_ = method_of(policy_, "rank_many");
  spare_ = method_of(policy_, "spare");
  evicted_ = method_of(policy_, "evicted");
  cleared_ = method_of(policy_, "cleared");
  arrived_ = method_of(policy_, "arrived");
  ended_ = method_of(policy_, "ended");
  drifts_ = flag_of(policy_, "drifts");
  reads_prints_ = prints_of(policy_);
  name_ = nb::hasattr(policy_, "name") ? nb::str(policy_.attr("name")).c_str()
                                       : nb::str(policy_.type().attr("__name__")).c_str();
  rule_ = nb::hasattr(policy_, "rule") ? nb::str(policy_.attr("rule")).c_str()
                                       : first_line(policy_.type().attr("__dict__").attr("get")("__doc__"));
}

PythonPolicy::~PythonPolicy() = default;

void PythonPolicy::let_go() {
  for (nb::object* object : {&rank_, &rank_many_, &spare_, &evicted_, &cleared_, &arrived_, &ended_, &policy_})
    object->reset();
}

void PythonPolicy::raise_failure(const nb::object& result) {
  if (!failure_) return;
  try {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  } catch (nb::python_error& error) {
    if (result.is_valid()) nb::setattr(error.value(), "canopy_result", result);
    throw;
  }
}

std::string PythonPolicy::take_failure(const nb::object& result) {
  try {
    raise_failure(result);
  } catch (nb::python_error& error) {
    if (!PyErr_GivenExceptionMatches(error.type().ptr(), PyExc_Exception)) throw;
    std::string text = "an exception";
    try {
      text = nb::str(error.type().attr("__name__")).c_str();
      // Not nb::cast<std::string>: it makes the text in a function that throws nothing.
      const nb::object words = shown(Utf8(nb::str(error.value())).bytes);
      text.append(": ").append(Utf8(words).bytes);
    } catch (const std::exception&) {  // it has no text, or there is no memory for it
    }
    return text;
  } catch (const std::bad_alloc&) {
    return "MemoryError";
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// Calls a method of the policy. After the first exception, the policy no longer takes part in decisions.
template <class Call>
void PythonPolicy::call(const nb::object& method, Call&& call) {
  if (failure_ || !method.is_valid()) return;
  const WithPython gil;
  const nb::error_scope outer;  // an object may be destroyed, and call the policy, while an exception is on its way
  try {
    unless_python_ends(call);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

Rank PythonPolicy::rank(const NodeFacts& node) {
  Rank rank{0, node.last_access};
  call(rank_, [&] {
    const NodeLender::Loan loan(lender_, node);
    PyObject* arguments[] = {nullptr, loan.get()};
    const nb::object answer = nb::steal(unless_python_ends(
        [&] { return PyObject_Vectorcall(rank_.ptr(), arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr); }));
    if (!answer.is_valid()) nb::raise_python_error();
    rank = rank_of(answer.ptr());
  });
  return rank;
}

/// Reads one column, or two of which the second breaks ties, each with a value for every node.
void PythonPolicy::read_ranks(const nb::object& answer, std::span<Rank> ranks) {
  const bool two = nb::isinstance<nb::tuple>(answer) && nb::len(answer) == 2;
  for (Rank& rank : ranks) rank.minor = word_of(0.0);
  std::size_t at = 0;
  for (nb::handle column : two ? nb::cast<nb::tuple>(answer) : nb::make_tuple(answer)) {
    nb::object list = nb::hasattr(column, "tolist") ? nb::object(column.attr("tolist")()) : nb::list(column);
    if (!nb::isinstance<nb::list>(list) || nb::len(list) != ranks.size())
      refuse_answer(PyExc_ValueError, "rank_many must return a column, or a tuple of two, with a number for each node");
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::uint64_t word = word_of(PyList_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i)));
      (at == 0 ? ranks[i].major : ranks[i].minor) = word;
    }
    ++at;
  }
}

void PythonPolicy::rank_many(std::span<const NodeFacts> nodes, std::span<Rank> ranks) {
  for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = {0, nodes[i].last_access};
  if (!rank_many_.is_valid() || failure_) {
    for (std::size_t i = 0; i < nodes.size(); ++i) ranks[i] = rank(nodes[i]);
    return;
  }
  std::vector<Rank> answers(nodes.size());
  call(rank_many_, [&] {
    read_ranks(ask(rank_many_, node_columns(nodes)), answers);
    std::ranges::copy(answers, ranks.begin());
  });
}

bool PythonPolicy::spare(const NodeFacts& node) {
  bool spared = false;
  call(spare_, [&] {
    const NodeLender::Loan loan(lender_, node);
    spared = nb::cast<bool>(nb::bool_(ask(spare_, nb::handle(loan.get()))));
  });
  return spared;
}

void PythonPolicy::evicted(const NodeFacts& node, const Eviction& eviction) {
  call(evicted_, [&] {
    const NodeLender::Loan loan(lender_, node);
    ask(evicted_, nb::handle(loan.get()), EvictionView{eviction.cause, prints_of(eviction.prefix_prints)});
  });
}

void PythonPolicy::cleared() {
  call(cleared_, [&] { ask(cleared_); });
}

void PythonPolicy::arrived(const RequestFacts& request) {
  call(arrived_, [&] { ask(arrived_, RequestView(request)); });
}

void PythonPolicy::ended(const RequestFacts& request, Path& path) {
  call(ended_, [&] {
    auto* const view = new PathView;
    const nb::object object = nb::cast(view, nb::rv_policy::take_ownership);
    view->path = &path;
    struct End {
      PathView& view;
      ~End() {
        view.loan.reset();
        view.path = nullptr;
      }
    } const end{*view};
    ask(ended_, RequestView(request), object);
  });
}

void bind_policy(nb::module_& module) {
  nb::class_<PathView>(module, "Path", "The nodes of a request's path, deepest first. Valid during `ended`.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", [](PathView& view) {
        view.loan.reset();
        if (!view.path || !view.path->next(view.facts)) throw nb::stop_iteration();
        view.loan = std::make_unique<NodeLender::Loan>(view.lender, view.facts);
        return nb::borrow(view.loan->get());
      });
  const auto fact = [](auto member) { return [member](const RequestView& request) { return request.facts.*member; }; };
  nb::class_<RequestView>(module, "RequestFacts", "A request, for a policy. Lengths are in tokens.")
      .def_prop_ro("id", fact(&RequestFacts::id),
                   "the same in `arrived` and `ended`; 0: a pin, or an index without an engine")
      .def_prop_ro(
          "space", [](const RequestView& request) { return static_cast<std::uint32_t>(request.facts.space); },
          "number of its namespace; 0 is the shared one")
      .def_prop_ro("priority", fact(&RequestFacts::priority))
      .def_prop_ro("prompt", fact(&RequestFacts::prompt))
      .def_prop_ro("matched", fact(&RequestFacts::matched))
      .def_prop_ro("output", fact(&RequestFacts::output), "tokens of the output so far; all of them when it has ended")
      .def_prop_ro("hints", fact(&RequestFacts::hints), "bits from the client")
      .def_prop_ro("now", [](const RequestView& request) { return request.facts.clock.now; })
      .def_prop_ro(
          "ending", [](const RequestView& request) { return name_of(request.facts.ending); },
          "'none', 'finished', 'aborted' or 'retracted'")
      .def_prop_ro(
          "prefix_prints", [](const RequestView& request) { return request.prints; },
          "uint64 array with a print for each 512 tokens of the prompt; empty unless the policy has `reads_prints`");
  nb::class_<EvictionView>(module, "Eviction", "The eviction of a node.")
      .def_prop_ro(
          "cause", [](const EvictionView& view) { return name_of(view.cause); },
          "'room', 'other_group', 'limit', 'path_limit', 'flush', 'dead_leaf' or 'ceiling'")
      .def_prop_ro("prefix_prints", [](const EvictionView& view) { return view.prints; });
}

}  // namespace canopy::python
