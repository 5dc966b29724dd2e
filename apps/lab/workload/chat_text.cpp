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
#include <utility>

namespace canopy::workload {

using nlohmann::json;

namespace {

// A model's template puts marks between messages, so that no message runs into the next, and the same text from another
// author is another prompt.
constexpr const char *kAnswerMark = "\x01", *kValueMark = "\x02", *kPartMark = "\x03", *kSystemMark = "\x04",
                     *kUserMark = "\x05", *kToolMark = "\x06", *kNameMark = "\x07", *kCallMark = "\x08";

/// Returns the mark of an author; nullptr if it is not known.
const char* mark_of_role(std::string_view role) {
  if (is_one_of(role, {"gpt", "assistant", "model", "chatgpt", "bing", "bard"})) return kAnswerMark;
  if (is_one_of(role, {"system", "developer"})) return kSystemMark;
  if (is_one_of(role, {"human", "user"})) return kUserMark;
  if (is_one_of(role, {"tool", "function", "observation"})) return kToolMark;
  return nullptr;
}

/// Returns the `type` of a part or an item; "" if it has none.
std::string type_of(const json& part) {
  const json* type = member_of(part, {"type"});
  return type != nullptr && type->is_string() ? type->get<std::string>() : std::string();
}

/// Returns the mark of an item without an author, by its type: what a tool returned, what the model wrote, or a part of
/// a user's message.
const char* mark_of_type(std::string_view type) {
  if (type.ends_with("_output") || type == "tool_result") return kToolMark;
  if (type.ends_with("_call") || is_one_of(type, {"reasoning", "output_text", "refusal", "tool_use"}))
    return kAnswerMark;
  return kUserMark;
}

/// Returns true if an item without an author is a part of a message: a text or an image.
bool is_part(std::string_view type) {
  return type.starts_with("input_") || is_one_of(type, {"text", "output_text", "image", "image_url"});
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

void ChatText::append(const json& value, std::vector<Token>& to) {
  words_.append(kValueMark, to);
  words_.append(text_of(value), to);
}

void ChatText::append_content(const json& content, std::vector<Token>& to) {
  if (!content.is_array()) return words_.append(text_of(content), to);
  for (const json& part : content) append_part(part, to);
}

void ChatText::append_part(const json& part, std::vector<Token>& to) {
  words_.append(kPartMark, to);
  if (const json* text = part.is_string() ? &part : member_of(part, {"text", "thinking", "input_text"}))
    return words_.append(text_of(*text), to);
  if (is_one_of(type_of(part), {"tool_use", "tool_result", "function_call", "function_call_output", "refusal"}))
    return words_.append(text_of(part), to);
  ++media_;
  words_.append(fmt::format("{:016x}", id_print(text_of(part), std::numeric_limits<std::uint64_t>::max())), to);
}

std::string ChatText::take_message(const json& message, std::size_t number, bool& item, Conversation& to) {
  if (!message.is_object()) return fmt::format("message {} is not an object", number);
  const json* from = member_of(message, {"from", "role"});
  const std::string type = type_of(message);
  const bool after_item = std::exchange(item, from == nullptr && !type.empty() && type != "message");
  if (!item && (from == nullptr || !from->is_string()))
    return fmt::format("message {} has no author; expected 'from' or 'role'", number);
  const char* mark = item ? mark_of_type(type) : mark_of_role(from->get_ref<const std::string&>());
  if (mark == nullptr)
    return fmt::format("message {} is from '{}'; expected human, user, gpt, assistant, system, developer or tool",
                       number, shown(from->get_ref<const std::string&>()));
  const std::size_t start = to.tokens.size();
  words_.append(mark, to.tokens);
  for (const auto& [key, around] : {std::pair("name", kNameMark), std::pair("tool_call_id", kCallMark)})
    if (const json* value = item ? nullptr : member_of(message, {key}))
      for (const std::string& text : {std::string(around), text_of(*value), std::string(around)})
        words_.append(text, to.tokens);
  const std::size_t begin = to.tokens.size();
  if (item && is_part(type)) append_part(message, to.tokens);
  else if (item) words_.append(text_of(message), to.tokens);
  else if (!append_texts(message, to.tokens))
    return fmt::format("message {} has no text; expected 'value', 'content' or 'tool_calls'", number);
  if (to.tokens.size() > kMaxPromptTokens)
    return fmt::format("the conversation has more than {} words", kMaxPromptTokens);
  if (mark != kAnswerMark || start == 0) return {};
  // An answer is several items: reasoning, calls, a message.
  if ((item || after_item) && !to.answers.empty() && to.last_end == start) to.answers.back().second = to.tokens.size();
  else to.answers.emplace_back(begin, to.tokens.size());
  to.last_end = to.tokens.size();
  return {};
}

bool ChatText::append_texts(const json& message, std::vector<Token>& to) {
  bool any = false;
  for (const char* key : {"reasoning_content", "reasoning"})
    if (const json* value = member_of(message, {key})) append_content(*value, to), any = true;
  for (const char* key : {"value", "content", "text"}) any |= message.contains(key);
  if (const json* value = member_of(message, {"value", "content", "text"})) append_content(*value, to);
  for (const char* key : {"tool_calls", "function_call", "refusal", "audio"})
    if (const json* value = member_of(message, {key})) {
      words_.append(kPartMark, to);
      words_.append(text_of(*value), to);
      any = true;
    }
  return any;
}

std::string ChatText::take(const json& messages, Conversation& to) {
  std::size_t number = 0;
  bool item = false;
  for (const json& message : messages)
    if (std::string problem = take_message(message, ++number, item, to); !problem.empty()) return problem;
  return {};
}

void ChatText::add_media_note(std::vector<std::string>& notes) const {
  if (media_ > 0)
    notes.push_back(plural(media_, "part") +
                    " of messages that are no text (images, audio) stand as a few tokens each");
}

}  // namespace canopy::workload
