#include "key_matcher.h"

#include <optional>

#include "hold.h"

namespace canopy::python {
namespace {

nb::object attribute(nb::handle object, PyObject* name) {
  nb::object value = nb::steal(PyObject_GetAttr(object.ptr(), name));
  if (!value.is_valid()) nb::raise_python_error();
  return value;
}

class KeyMatcher {
 public:
  KeyMatcher(nb::handle_t<Index> index, nb::type_object result, nb::tuple rest, nb::object unfit)
      : index_(nb::borrow<nb::object>(index)),
        result_(std::move(result)),
        rest_(std::move(rest)),
        unfit_(std::move(unfit)) {
    made_by<Index>(index);
    if (!PyType_IsSubtype(type(), &PyTuple_Type))
      throw nb::type_error("KeyMatcher: `result` must be a subclass of tuple");
  }

  /// Returns the result for `params`: the length, three times the hit, and the rest.
  nb::object match(nb::handle params) const {
    static PyObject* const key_name = PyUnicode_InternFromString("key");
    return result_of(of_key(attribute(params, key_name)));
  }
  void touch(nb::handle key) const { of_key(key); }

 private:
  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(result_.ptr()); }

  Matched of_key(nb::handle key) const {
    static PyObject* const ids_name = PyUnicode_InternFromString("token_ids");
    static PyObject* const adapter_name = PyUnicode_InternFromString("extra_key");
    static PyObject* const salt_name = PyUnicode_InternFromString("cache_salt");
    static PyObject* const limit_name = PyUnicode_InternFromString("limit");
    const nb::object adapter = attribute(key, adapter_name), salt = attribute(key, salt_name);
    const nb::object limit = attribute(key, limit_name), ids = attribute(key, ids_name);
    std::optional<std::size_t> most;
    if (!limit.is_none()) {
      most = PyLong_AsSize_t(limit.ptr());
      if (PyErr_Occurred()) nb::raise_python_error();
    }
    nb::object space = nb::none();
    if (!adapter.is_none() || !salt.is_none()) space = nb::make_tuple(adapter, nb::none(), salt);
    const nb::handle_t<Index> index(index_);
    try {
      return python::match(index, Tokens(ids, most), space);
    } catch (const UnfitKey& why) {
      if (unfit_.is_none()) throw;
      unfit_(nb::str("UnfitKey: ") + nb::str(why.what()));
      return {no_hit(index), 0};
    }
  }

  nb::object result_of(const Matched& found) const {
    constexpr std::size_t kFirst = 4;
    nb::object result = nb::steal(type()->tp_alloc(type(), static_cast<Py_ssize_t>(kFirst + rest_.size())));
    nb::object length = nb::steal(PyLong_FromUnsignedLong(found.length));
    if (!result.is_valid() || !length.is_valid()) nb::raise_python_error();
    PyTuple_SET_ITEM(result.ptr(), 0, length.release().ptr());
    for (Py_ssize_t i = 1; i < static_cast<Py_ssize_t>(kFirst); ++i)
      PyTuple_SET_ITEM(result.ptr(), i, nb::object(found.hit).release().ptr());
    for (std::size_t i = 0; i < rest_.size(); ++i)
      PyTuple_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(kFirst + i), nb::object(rest_[i]).release().ptr());
    return result;
  }

  nb::object index_;
  nb::type_object result_;
  nb::tuple rest_;
  nb::object unfit_;
};

}  // namespace

void bind_key_matcher(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<KeyMatcher>(
      module, "KeyMatcher",
      "Index.match for keys that are objects with token_ids, limit, extra_key and cache_salt. The last two make the "
      "namespace (extra_key, None, cache_salt).")
      .def(nb::init<nb::handle_t<Index>, nb::type_object, nb::tuple, nb::object>(), "index"_a, "result"_a, "rest"_a,
           "unfit"_a = nb::none(),
           "result: a subclass of tuple, such as a NamedTuple.\nrest: its elements after the length and, three times, "
           "the hit.\nunfit: a callable of one text. If it is given, it is called with the reason why a prompt cannot "
           "be a "
           "key, and the result is a hit of nothing; otherwise UnfitKey is raised.")
      .def("match", &KeyMatcher::match, "params"_a, "Returns the result for params.key.")
      .def("touch", &KeyMatcher::touch, "key"_a, "Counts as a use of the longest resident prefix.");
}

}  // namespace canopy::python
