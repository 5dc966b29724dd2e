#pragma once

#include <canopy/wire/event.h>
#include <canopy/wire/sequence.h>
#include <canopy/wire/stream.h>

#include <string>
#include <string_view>

namespace canopy::app {

/// "next", "ahead", ... as in wire::Order.
std::string_view word_of(wire::Order order);
/// A message and its batch as one line of JSON. Fields have the names that vLLM and SGLang give them; a digest is
/// hexadecimal; bytes that are not UTF-8 become U+FFFD.
std::string json_of(const wire::Message& message, wire::Order order, const wire::EventBatch& batch);

}  // namespace canopy::app
