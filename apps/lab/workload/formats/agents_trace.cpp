/// Traces of agents as kv-cache-tester (github.com/callanjfox/kv-cache-tester) and AIPerf have them: one object a
/// conversation, with `block_size` and `requests` of `t` (seconds), `in`, `out` and `hash_ids`. A sub-agent is an item
/// with `requests` of its own. With `hash_id_scope` "local", ids of two conversations are different blocks.
#include "../json_line.h"
#include "../json_trace.h"
#include "../sorted_trace.h"
#include "../text.h"
#include "../trace_formats.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace canopy::workload {
namespace {

using nlohmann::json;

constexpr std::uint64_t kAgentBlock = 64;
constexpr int kDeepest = 16;  ///< Most levels of sub-agents.

class AgentsTrace final : public JsonTrace {
 public:
  AgentsTrace(std::unique_ptr<LineReader> lines, std::uint64_t block)
      : JsonTrace(std::move(lines), "a conversation's object",
                  "an object like {\"block_size\": 64, \"requests\": [{\"t\": 0.0, \"in\": 64, \"out\": 5, "
                  "\"hash_ids\": [1]}]}"),
        given_(block) {}

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (conversations_ > 1)
      notes.push_back(plural(conversations_, "conversation") + ", whose times count from the same moment");
    if (agents_ > 0)
      notes.push_back(plural(agents_, "sub-agent") + ", whose requests are among the others by their times");
    if (short_ > 0)
      notes.push_back(plural(short_, "request") +
                      " have no id for their last block: it is shared with no other request");
    return notes;
  }

 private:
  std::string take(const json& object) override {
    const json *requests = member_of(object, {"requests"}), *block = member_of(object, {"block_size"}),
               *scope = member_of(object, {"hash_id_scope"});
    if (requests == nullptr || !requests->is_array()) return "has no list 'requests'";
    block_ = given_ > 0                                        ? given_
             : block != nullptr && block->is_number_unsigned() ? block->get<std::uint64_t>()
                                                               : kAgentBlock;
    if (block_ == 0 || block_ > kMaxTraceBlock)
      return fmt::format("'block_size' is {}; expected 1 to {}", block_, kMaxTraceBlock);
    ++conversations_;
    local_ = scope == nullptr || *scope != "global";
    std::size_t number = 0;
    return take_requests(*requests, 0, number);
  }

  std::string take_requests(const json& requests, int depth, std::size_t& number) {
    if (depth > kDeepest) return fmt::format("has sub-agents deeper than {} levels", kDeepest);
    for (const json& each : requests) {
      const json* inner = member_of(each, {"requests"});
      if (inner != nullptr && inner->is_array()) ++agents_;
      std::string problem = inner != nullptr && inner->is_array() ? take_requests(*inner, depth + 1, number)
                                                                  : take_request(each, ++number);
      if (!problem.empty()) return problem;
    }
    return {};
  }

  std::string take_request(const json& request, std::size_t number) {
    constexpr double kMostSeconds = 1e12;
    const json *time = member_of(request, {"t"}), *in = member_of(request, {"in", "input_length"}),
               *out = member_of(request, {"out", "output_length"}), *ids = member_of(request, {"hash_ids"}),
               *model = member_of(request, {"model"});
    if (time == nullptr || !time->is_number() || !(time->get<double>() >= 0 && time->get<double>() <= kMostSeconds))
      return fmt::format("request {} has no time; expected 't', in seconds", number);
    if (in == nullptr || !in->is_number_unsigned() || in->get<std::uint64_t>() > kMaxPromptTokens)
      return fmt::format("request {} has no length; expected 'in', a whole number of tokens from 0 to {}", number,
                         kMaxPromptTokens);
    if (ids == nullptr || !ids->is_array()) return fmt::format("request {} has no list 'hash_ids'", number);
    TraceRecord record;
    record.time_ms = static_cast<std::uint64_t>(std::llround(time->get<double>() * 1000));
    record.block = block_;
    record.input_tokens = in->get<std::uint32_t>();
    if (out != nullptr && out->is_number_unsigned() && out->get<std::uint64_t>() <= kMaxPromptTokens)
      record.output_tokens = out->get<std::uint32_t>();
    record.space = space_of_model(model);
    const std::uint64_t most = ~std::uint64_t{0} / block_, needed = (record.input_tokens + block_ - 1) / block_;
    for (const json& id : *ids) {
      const std::string name = id.dump(-1, ' ', false, json::error_handler_t::replace);
      if (!id.is_number_integer() && !id.is_string())
        return fmt::format("request {} has an id that is no name", number);
      if (local_) record.ids.push_back(id_print(fmt::format("{} of {}", name, conversations_), most));
      else if (id.is_number_unsigned() && id.get<std::uint64_t>() <= most)
        record.ids.push_back(id.get<std::uint64_t>());
      else record.ids.push_back(id_print(name, most));
    }
    // Some writers hash whole blocks only.
    if (record.ids.size() + 1 == needed && record.input_tokens % block_ != 0) {
      record.ids.push_back(id_print(fmt::format("rest of {} of {}", number, conversations_), most));
      ++short_;
    }
    if (record.ids.size() != needed)
      return fmt::format("request {} has {} ids; {} tokens need {}, one for each {}; see --block-size", number,
                         record.ids.size(), record.input_tokens, needed, block_);
    push(std::move(record));
    return {};
  }

  std::uint64_t given_, block_ = kAgentBlock, conversations_ = 0, agents_ = 0, short_ = 0;
  bool local_ = true;
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_agents_trace(const std::string& path, const TraceOptions& options) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return by_time(std::make_unique<AgentsTrace>(std::move(*lines), options.block));
}

}  // namespace canopy::workload
