/// Requests as they were sent to a server, one a line or in a list: OpenAI's batch files (`body`), bodies alone
/// (`messages`, `prompt` or `input`), inputs.json of AIPerf and GenAI-Perf (`data` of `payloads` or `payload`), lines
/// with `text_input`. An object with a prompt is a body, whatever else it has; the time, answer, priority, salt and
/// model of an object around it hold for each body within that does not have its own. Each is one request: its
/// prompt is all of the messages. A text stands for tokens by words.h; a prompt of token ids is taken as it is.
/// `cache_salt` and a model other than the first become the namespace.
#include "../chat_text.h"
#include "../json_trace.h"
#include "../text.h"
#include "../trace_formats.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace canopy::workload {
namespace {

using nlohmann::json;

constexpr double kMostSentMs = 1e15;

class OpenAITrace final : public JsonTrace {
 public:
  explicit OpenAITrace(std::unique_ptr<LineReader> lines)
      : JsonTrace(std::move(lines), "the body of a request",
                  "lines like {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}]}") {}

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (chat_.known() > 0)
      notes.push_back(fmt::format("words stand for tokens ({} different)", grouped(chat_.known())));
    if (untimed_ > 0)
      notes.push_back(fmt::format("the times of {} are invented: one every {} ms, in the order of the file",
                                  plural(untimed_, "request"), kInventedGapMs));
    if (mistimed_ > 0)
      notes.push_back(fmt::format("of these, {} have a timestamp that is no number of ms from 0 to {:.0f}",
                                  plural(mistimed_, "request"), kMostSentMs));
    if (unanswered_ > 0)
      notes.push_back(plural(unanswered_, "request") + " have no answer in the file: their answers have 0 tokens here");
    if (answered_ > 0)
      notes.push_back(
          plural(answered_, "request") +
          " end with an answer, which is no part of the prompt; earlier answers are no requests of their own "
          "(sharegpt:FILE makes a request of each)");
    chat_.add_media_note(notes);
    return notes;
  }

 private:
  /// Fields that an object has for the requests within it. Null: it has none.
  struct Fields {
    const json *time = nullptr, *answer = nullptr, *priority = nullptr, *salt = nullptr, *model = nullptr;
  };

  std::string take(const json& object) override { return take(object, {}); }

  /// Takes an object that is a request, or has one or several. `fields`: of the objects around it. Returns an error
  /// message, or nothing.
  std::string take(const json& object, Fields fields) {
    const auto take_over = [&](const json*& to, std::initializer_list<const char*> names) {
      if (const json* value = member_of(object, names)) to = value;
    };
    take_over(fields.time, {"timestamp"});
    take_over(fields.answer, {"output_length", "output_tokens"});
    take_over(fields.priority, {"priority"});
    take_over(fields.salt, {"cache_salt"});
    take_over(fields.model, {"model"});
    const json* messages = member_of(object, {"messages"});
    if (messages != nullptr && !messages->is_array()) messages = nullptr;
    const json* prompt = member_of(object, {"prompt", "text_input", "input", "prompt_token_ids", "input_ids", "text"});
    if (messages != nullptr || prompt != nullptr) return take_body(object, messages, prompt, fields);
    bool empty = false;
    for (const char* key : {"body", "payload", "payloads", "data", "request"}) {
      const json* inner = member_of(object, {key});
      if (inner == nullptr) continue;
      if (inner->is_object()) return take(*inner, fields);
      empty |= inner->is_array() && inner->empty();
      if (inner->is_array() && !inner->empty()) return take_each(*inner, fields);
    }
    if (empty) return "has an empty list of requests";
    return "has no prompt; expected 'messages', 'prompt', 'input' or 'text_input', alone or in 'body' or 'payload'";
  }

  std::string take_each(const json& list, const Fields& fields) {
    for (const json& each : list)
      if (std::string problem = each.is_object() ? take(each, fields) : "has an item that is no request";
          !problem.empty())
        return problem;
    return {};
  }

  /// `messages`, `prompt`: of the body; the former if both are there. Null: there is none.
  std::string take_body(const json& body, const json* messages, const json* prompt, const Fields& fields) {
    TraceRecord record;
    place(fields, record);
    Conversation before;
    for (const char* key : {"tools", "functions", "system", "instructions"})
      if (const json* value = member_of(body, {key})) chat_.append(*value, before.tokens);
    if (messages == nullptr && prompt->is_array() && !prompt->empty() && prompt->front().is_object() &&
        member_of(prompt->front(), {"role", "type"}) != nullptr)
      messages = prompt;
    if (messages != nullptr) {
      if (std::string problem = chat_.take(*messages, before); !problem.empty()) return problem;
      return add(std::move(before), record);
    }
    if (!prompt->is_array() || prompt->empty() || prompt->front().is_number())
      return take_prompt(*prompt, before, record);
    for (const json& each : *prompt)
      if (std::string problem = take_prompt(each, before, record); !problem.empty()) return problem;
    return {};
  }

  /// Takes a prompt that is a text or a list of token ids.
  std::string take_prompt(const json& prompt, Conversation now, const TraceRecord& record) {
    if (prompt.is_string()) {
      chat_.append(prompt, now.tokens);
      return add(std::move(now), record);
    }
    if (!prompt.is_array()) return "has a prompt that is neither a text nor token ids";
    for (const json& token : prompt) {
      if (!token.is_number_unsigned() || token.get<std::uint64_t>() > std::numeric_limits<Token>::max())
        return "has a token id that is no whole number from 0 to 4294967295";
      now.tokens.push_back(token.get<Token>());
    }
    return add(std::move(now), record);
  }

  /// Takes the fields of a body besides its prompt.
  void place(const Fields& fields, TraceRecord& record) {
    has_time_ = fields.time != nullptr && fields.time->is_number() && fields.time->get<double>() >= 0 &&
                fields.time->get<double>() <= kMostSentMs;
    is_mistimed_ = fields.time != nullptr && !has_time_;
    if (has_time_) record.time_ms = static_cast<std::uint64_t>(std::llround(fields.time->get<double>()));
    if (fields.answer != nullptr && fields.answer->is_number_unsigned() &&
        fields.answer->get<std::uint64_t>() <= kMaxPromptTokens)
      record.output_tokens = fields.answer->get<std::uint32_t>();
    if (fields.priority != nullptr && fields.priority->is_number_integer())
      record.priority = fields.priority->get<std::int32_t>();
    record.space = space_of_model(fields.model);
    if (fields.salt != nullptr) record.space += (record.space.empty() ? "salt=" : ", salt=") + fields.salt->dump();
  }

  std::string add(Conversation now, TraceRecord record) {
    if (now.tokens.size() > kMaxPromptTokens) return fmt::format("has more than {} words", kMaxPromptTokens);
    const bool answered = now.last_end > 0 && now.last_end == now.tokens.size();
    if (answered) {
      const auto begin = now.tokens.begin() + static_cast<std::ptrdiff_t>(now.answers.back().first);
      record.answer.assign(begin, now.tokens.end());
      record.output_tokens = static_cast<std::uint32_t>(record.answer.size());
      now.tokens.erase(begin, now.tokens.end());
    }
    answered_ += answered;
    unanswered_ += record.output_tokens == 0 && !answered;
    if (!has_time_) record.time_ms = kInventedGapMs * pushed(), ++untimed_;
    mistimed_ += is_mistimed_;
    record.tokens = std::move(now.tokens);
    push(std::move(record));
    return {};
  }

  ChatText chat_;
  std::uint64_t untimed_ = 0, mistimed_ = 0, answered_ = 0, unanswered_ = 0;
  bool has_time_ = false, is_mistimed_ = false;  ///< the body that is taken has a time; has one that is unusable
};

}  // namespace

Result<std::unique_ptr<TraceReader>> read_openai_trace(const std::string& path, const TraceOptions&) {
  auto lines = LineReader::open(path);
  if (!lines) return lines.error();
  return std::unique_ptr<TraceReader>(std::make_unique<OpenAITrace>(std::move(*lines)));
}

}  // namespace canopy::workload
