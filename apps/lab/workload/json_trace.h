#pragma once

#include "json_objects.h"
#include "trace_record.h"

#include <deque>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace canopy::workload {

/// A trace whose file is JSON objects, one after another, each with any number of requests. A subclass takes the
/// requests of an object.
class JsonTrace : public TraceReader {
 public:
  Result<bool> next(TraceRecord& record) final;
  Doubts doubts() const final { return objects_.lines().doubts(); }
  double progress() const final { return objects_.lines().progress(); }

 protected:
  /// `object`: what each object is, as in "a conversation's object". `file`: what a file has, with an example.
  JsonTrace(std::unique_ptr<LineReader> lines, const char* object, const char* file)
      : objects_(std::move(lines)), object_(object), file_(file) {}

  /// Calls push() for each request of an object that is nested at most 64 levels deep. Returns an error message, or
  /// nothing.
  virtual std::string take(const nlohmann::json& object) = 0;
  void push(TraceRecord record);
  std::uint64_t pushed() const { return pushed_; }
  /// Returns the namespace of a request to a model: the shared one for the first model of the file.
  std::string space_of_model(const nlohmann::json* model);

 private:
  JsonObjects objects_;
  const char *const object_, *const file_;
  std::deque<TraceRecord> ready_;
  std::uint64_t pushed_ = 0;
  std::optional<std::string> first_model_;
  std::optional<Error> failed_;
  std::string text_;
};

/// Returns a callback for json::parse that leaves out what is nested too deep for a recursion, and sets `deep` to true.
nlohmann::json::parser_callback_t shallow(bool& deep);

/// Returns the first of the named members that `object` has and that is not null; nullptr if there is none.
const nlohmann::json* member_of(const nlohmann::json& object, std::initializer_list<const char*> names);

}  // namespace canopy::workload
