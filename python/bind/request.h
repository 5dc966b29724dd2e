#pragma once

#include <list>
#include <utility>

#include "engine.h"

namespace canopy::python {

/// A request, which keeps its engine alive.
class PyRequest {
 public:
  PyRequest(nb::handle_t<PyEngine> engine, Request request) : engine_(nb::borrow(engine)) {
    request_.push_back(std::move(request));
  }
  PyRequest(const PyRequest&) = delete;
  ~PyRequest() { engine().end(request_); }

  const Request& get() const { return request_.front(); }
  /// Returns the result of a call. Raises an exception if the call broke a rule or a policy threw.
  template <class Call>
  auto serve(Call&& call) {
    PyEngine& engine = *nb::inst_ptr<PyEngine>(engine_);
    if constexpr (std::is_void_v<decltype(call(request_.front()))>) {
      call(request_.front());
      engine.check();
    } else {
      auto answer = call(request_.front());
      engine.check();
      return answer;
    }
  }
  PyEngine& engine() { return *nb::inst_ptr<PyEngine>(engine_); }

 private:
  nb::object engine_;
  std::list<Request> request_;  ///< one
};

/// A fetch, which keeps its engine alive.
class PyFetch {
 public:
  PyFetch(nb::handle engine, Fetch fetch) : engine_(nb::borrow(engine)) { fetch_.push_back(std::move(fetch)); }
  PyFetch(const PyFetch&) = delete;
  ~PyFetch() { nb::inst_ptr<PyEngine>(engine_)->end(fetch_); }
  const Fetch& get() const { return fetch_.front(); }
  /// Returns the fetch for the request that begins with it. From then on this object holds nothing.
  Fetch give(nb::handle engine) {
    if (!engine_.is(engine)) throw nb::value_error("fetch: it belongs to another engine");
    if (std::exchange(given_, true)) throw nb::value_error("fetch: a request has already begun with it");
    return std::move(fetch_.front());
  }
  void drop() {
    given_ = true;
    fetch_.front() = Fetch();
  }

 private:
  nb::object engine_;
  std::list<Fetch> fetch_;  ///< one
  bool given_ = false;
};

void bind_request(nb::module_& module);

}  // namespace canopy::python
