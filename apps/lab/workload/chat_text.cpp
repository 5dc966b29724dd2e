#include "chat_text.h"

#include "json_line.h"
#include "json_trace.h"
#include "shown.h"
#include "text.h"

#include <canopy/base/figures.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace canopy::workload {

using nlohmann::json;

namespace {

// A model's template puts marks between messages, so that no message runs into the next.
constexpr const char *kAnswerMark = "\x01", *kOtherMark = "\x02", *kPartMark = "\x03";

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void ChatText::append(const json& value, std::vector<Token>& to) {
  words_.append(kOtherMark, to);
  words_.append(text_of(value), to);
}

void ChatText::append_content(const json& content, std::vector<Token>& to) {
  if (!content.is_array()) return words_.append(text_of(content), to);
  for (const json& part : content) {
    words_.append(kPartMark, to);
    if (const json* text = part.is_string() ? &part : member_of(part, {"text", "thinking", "input_text"})) {
      words_.append(text_of(*text), to);
      continue;
    }
    const json* type = member_of(part, {"type"});
    const std::string kind = type != nullptr && type->is_string() ? type->get<std::string>() : std::string();
    if (is_one_of(kind, {"tool_use", "tool_result", "function_call", "function_call_output", "refusal"})) {
      words_.append(text_of(part), to);
      continue;
    }
    ++media_;
    words_.append(fmt::format("{:016x}", id_print(text_of(part), std::numeric_limits<std::uint64_t>::max())), to);
  }
}

std::string ChatText::take_message(const json& message, std::size_t number, Conversation& to) {
  if (!message.is_object()) return fmt::format("message {} is not an object", number);
  const json* from = member_of(message, {"from", "role"});
  if (from == nullptr || !from->is_string())
    return fmt::format("message {} has no author; expected 'from' or 'role'", number);
  const auto& name = from->get_ref<const std::string&>();
  const bool answer = is_one_of(name, {"gpt", "assistant", "model", "chatgpt", "bing", "bard"});
  if (!answer && !is_one_of(name, {"human", "user", "system", "developer", "tool", "function", "observation"}))
    return fmt::format("message {} is from '{}'; expected human, user, gpt, assistant, system, developer or tool",
                       number, shown(name));
  words_.append(answer ? kAnswerMark : kOtherMark, to.tokens);
  const std::size_t begin = to.tokens.size();
  bool any = false;
  for (const char* key : {"reasoning_content", "reasoning"})
    if (const json* value = member_of(message, {key})) append_content(*value, to.tokens), any = true;
  if (const json* value = member_of(message, {"value", "content", "text"}))
    append_content(*value, to.tokens), any = true;
  for (const char* key : {"tool_calls", "function_call", "refusal", "audio"})
    if (const json* value = member_of(message, {key})) {
      words_.append(kPartMark, to.tokens);
      words_.append(text_of(*value), to.tokens);
      any = true;
    }
  if (!any) return fmt::format("message {} has no text; expected 'value', 'content' or 'tool_calls'", number);
  if (to.tokens.size() > kMaxPromptTokens)
    return fmt::format("the conversation has more than {} words", kMaxPromptTokens);
  if (!answer || begin == 1) return {};
  to.answers.emplace_back(begin, to.tokens.size());
  to.last_end = to.tokens.size();
  return {};
}

std::string ChatText::take(const json& messages, Conversation& to) {
  std::size_t number = 0;
  for (const json& message : messages)
    if (std::string problem = take_message(message, ++number, to); !problem.empty()) return problem;
  return {};
}

void ChatText::add_media_note(std::vector<std::string>& notes) const {
  if (media_ > 0)
    notes.push_back(plural(media_, "part") +
                    " of messages that are no text (images, audio) stand as a few tokens each");
}

}  // namespace canopy::workload
