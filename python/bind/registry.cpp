#include "registry.h"

#include <canopy/base/printable.h>
#include <canopy/base/yaml_document.h>
#include <dlfcn.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>

namespace canopy::python {
namespace {

namespace fs = std::filesystem;

/// Returns the folder `plugins` next to this module.
fs::path own_folder() {
  static const int here = 0;
  Dl_info found{};
  if (!::dladdr(&here, &found) || !found.dli_fname) return "plugins";
  return fs::path(found.dli_fname).parent_path() / "plugins";
}

std::vector<nb::dict> offers() {
  std::vector<nb::dict> all;
  for (const Offer& offer : registry().offers()) {
    nb::dict row;
    std::string what;
    row["interface"] = offer.interface;
    row["name"] = offer.name;
    row["summary"] = offer.summary;
    row["version"] = offer.version;
    row["file"] = offer.file.string();
    row["available"] = offer.available(what);
    row["note"] = what;
    all.push_back(std::move(row));
  }
  return all;
}

void load(const fs::path& path) {
  const std::size_t before = registry().refusals().size();
  if (fs::is_directory(path)) registry().scan(path, Trust::strict);
  else registry().add(path, Trust::strict);
  std::string all;
  for (std::size_t i = before; i < registry().refusals().size(); ++i) {
    const Refusal& refusal = registry().refusals()[i];
    all += (all.empty() ? "" : "\n") + refusal.file.string() + ": " + refusal.why;
  }
  if (!all.empty()) refuse(Error{all});
}

}  // namespace

Registry& registry() {
  // Never destroyed: objects that Python frees at the very end were made by its plugins.
  static Registry& all = *[] {
    auto* const made = new Registry;
    made->scan(own_folder(), Trust::as_ourselves);
    return made;
  }();
  return all;
}

void refuse(const Error& error) { throw nb::value_error(printable_lines(error.text).c_str()); }

std::string for_system(std::string text) {
  if (text.find('\0') != std::string::npos) throw nb::value_error("embedded null character");
  return text;
}

std::string yaml_of(nb::handle value) {
  if (value.is_none()) return "null";
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True ? "true" : "false";
  if (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) return nb::str(value).c_str();
  if (PyIndex_Check(value.ptr())) {  // NumPy's integers
    const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
    if (!number.is_valid()) nb::raise_python_error();
    return nb::str(number).c_str();
  }
  if (PyUnicode_Check(value.ptr())) return to_yaml(nb::cast<std::string>(value));
  std::string text;
  if (nb::isinstance<nb::dict>(value)) {
    for (const auto [key, item] : nb::cast<nb::dict>(value))
      text += (text.empty() ? "" : ", ") + yaml_of(key) + ": " + yaml_of(item);
    return "{" + text + "}";
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    for (const nb::handle item : value) text += (text.empty() ? "" : ", ") + yaml_of(item);
    return "[" + text + "]";
  }
  if (nb::hasattr(value, "__fspath__")) return yaml_of(value.attr("__fspath__")());
  throw nb::type_error((std::string("a configuration consists of numbers, text, lists and dictionaries, not ") +
                        nb::type_name(value.type()).c_str())
                           .c_str());
}

bool is_named(nb::handle policy) { return nb::isinstance<nb::str>(policy) || nb::isinstance<nb::dict>(policy); }

Policy make_policy(nb::handle policy) {
  Policy made;
  if (!is_named(policy)) {
    made.in_python = std::make_shared<PythonPolicy>(nb::borrow(policy));
    made.strategy = made.in_python;
    made.name = made.in_python->name();
    return made;
  }
  std::string options;
  if (nb::isinstance<nb::str>(policy)) {
    made.name = nb::cast<std::string>(policy);
  } else {
    const auto named = nb::cast<nb::dict>(policy);
    if (nb::len(named) != 1)
      throw nb::value_error("a policy with options must be a dictionary with one name: {'slru': {'protect_after': 3}}");
    for (const auto [name, given] : named) {
      made.name = nb::cast<std::string>(nb::str(name));
      options = yaml_of(given);
    }
  }
  made.strategy = take(registry().make<EvictionStrategy>(made.name, {}, options));
  return made;
}

void bind_registry(nb::module_& module) {
  module.def("plugins", &offers,
             "Returns the loaded components: a dictionary for each, with interface, name, summary, version, file, "
             "available and note (what the component found on this machine).");
  module.def("load_plugins", &load, nb::arg("path"),
             "Loads a plugin (a .so file), or all plugins in a folder. Checks owner and mode of the files and of every "
             "folder above them. Raises ValueError with the reason if a file is refused.");
}

}  // namespace canopy::python
