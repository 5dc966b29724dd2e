#pragma once

#include <canopy/kv_events/event.h>
#include <canopy/kv_events/in_order.h>
#include <canopy/kv_events/stream.h>

#include <string>
#include <string_view>

namespace canopy::app {

/// Returns "next", "ahead" and so on, as in kv_events::Order.
std::string_view word_of(kv_events::Order order);
/// Returns a message and its batch as one line of JSON. Fields have the names of vLLM and SGLang; a digest is
/// hexadecimal; bytes that are not UTF-8 become U+FFFD.
std::string json_of(const kv_events::Message& message, kv_events::Order order, const kv_events::EventBatch& batch);

}  // namespace canopy::app
