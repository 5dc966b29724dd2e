#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace canopy::python {

/// Calls `call`, which calls Python. When Python ends, it ends every other thread that asks for its lock, by
/// pthread_exit() before 3.14: the unwinding would end the process at the next function that throws nothing, and
/// destroy Python objects without the lock on its way. So the thread waits here for the end of the process, as 3.14
/// lets it.
template <class Call>
decltype(auto) unless_python_ends(Call&& call) {
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

/// Gives Python's lock to other threads during its lifetime.
class WithoutPython {
 public:
  WithoutPython() : state_(PyEval_SaveThread()) {}
  ~WithoutPython() {
    unless_python_ends([this] { PyEval_RestoreThread(state_); });
  }
  WithoutPython(const WithoutPython&) = delete;

 private:
  PyThreadState* state_;
};

/// Has Python's lock during its lifetime, in any thread.
class WithPython {
 public:
  WithPython() : state_(unless_python_ends([] { return PyGILState_Ensure(); })) {}
  ~WithPython() { PyGILState_Release(state_); }
  WithPython(const WithPython&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace canopy::python
