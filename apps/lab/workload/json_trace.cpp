#include "json_trace.h"

#include <fmt/format.h>

#include <utility>

namespace canopy::workload {

using nlohmann::json;

Result<bool> JsonTrace::next(TraceRecord& record) {
  if (failed_) return *failed_;
  while (ready_.empty()) {
    auto got = objects_.next(text_);
    if (got && !*got && pushed_ == 0) got = Error{objects_.lines().path() + ": has no requests; expected " + file_};
    if (!got) failed_ = got.error();
    if (!got || !*got) return got;
    bool deep = false;
    const json object = json::parse(text_, shallow(deep), false);
    std::string problem = object.is_discarded() ? fmt::format("not JSON; expected {}", object_) : take(object);
    if (deep) problem = "is nested deeper than 64 levels";
    if (problem.empty()) continue;
    failed_ = Error{objects_.place(0) + ": " + std::move(problem)};
    return *failed_;
  }
  record = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

void JsonTrace::push(TraceRecord record) {
  ready_.push_back(std::move(record));
  ++pushed_;
}

std::string JsonTrace::space_of_model(const json* model) {
  if (model == nullptr) return {};
  std::string name = model->dump();
  if (!first_model_) first_model_ = name;
  return name == *first_model_ ? std::string() : "model=" + name;
}

json::parser_callback_t shallow(bool& deep) {
  return [&deep](int depth, json::parse_event_t, json&) {
    constexpr int kDeepest = 64;
    deep |= depth > kDeepest;
    return depth <= kDeepest;
  };
}

const json* member_of(const json& object, std::initializer_list<const char*> names) {
  if (!object.is_object()) return nullptr;
  for (const char* name : names)
    if (const auto at = object.find(name); at != object.end() && !at->is_null()) return &*at;
  return nullptr;
}

}  // namespace canopy::workload
