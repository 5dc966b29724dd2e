#pragma once

#include <canopy/c/status.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "sizes.h"

namespace canopy::c {

/// Keeps the sentence for canopy_error, and returns the code. If there is no memory for the sentence, it is empty.
canopy_code fail(canopy_code code, std::string_view sentence) noexcept;
/// Does the same with a sentence that begins with the name of a function.
template <class... Args>
[[gnu::cold]] canopy_code fail(canopy_code code, const char* function, fmt::format_string<Args...> format,
                               Args&&... args) noexcept {
  try {
    return fail(code, fmt::format("{}: {}", function, fmt::format(format, std::forward<Args>(args)...)));
  } catch (...) {
    return fail(code, std::string_view());
  }
}
/// Keeps the sentence of the exception that is being handled.
canopy_code fail_by_exception(const char* function) noexcept;

canopy_code fail_without(const char* function, const char* what) noexcept;
canopy_code fail_group(const char* function, std::uint32_t group, std::size_t groups) noexcept;

/// Returns what the body returns; an exception becomes a code.
template <class Body>
canopy_code caught(const char* function, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return fail_by_exception(function);
  }
}

/// Copies a text with a 0 byte for canopy_error: as much of it as there is room. Returns its length.
inline std::size_t copy_cut(std::string_view text, char* to, std::size_t room) {
  if (to && room > 0) {
    const std::size_t length = std::min(room - 1, text.size());
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
  }
  return text.size();
}
/// Copies a whole text with a 0 byte, or only writes its length.
canopy_code copy_text(const char* function, std::string_view text, char* to, std::size_t room, std::size_t* length);
/// Copies elements [from, ...) of an array to a buffer. `length`: the length of the whole array.
template <class Element>
canopy_code copy_rest(const char* function, const Element* all, std::size_t size, std::size_t from, Element* to,
                      std::size_t room, std::size_t* length) {
  if (!length) return fail(CANOPY_BAD_ARGUMENT, function, "length is NULL");
  *length = size;
  const std::size_t count = from < size ? size - from : 0;
  if (count > room) return fail(CANOPY_SMALL_BUFFER, function, "{} elements into a buffer of {}", count, room);
  if (count == 0) return CANOPY_OK;
  if (!to) return fail(CANOPY_BAD_ARGUMENT, function, "the buffer is NULL");
  std::memcpy(to, all + from, count * sizeof(Element));
  return CANOPY_OK;
}

/// A size above this one is a mistake, such as a struct that was not initialized.
inline constexpr std::size_t kMostBytes = 4096;
canopy_code bad_size(const char* function, const char* what, std::size_t given, std::size_t least);

/// Copies a struct of the caller to `own`, in which fields that the caller does not know stay 0.
template <class Struct>
canopy_code take(const char* function, const char* what, const Struct* given, Struct& own) {
  static_assert(kFirstSize<Struct> > 0 && sizeof(Struct) >= kFirstSize<Struct>);
  if (!given) return fail(CANOPY_BAD_ARGUMENT, function, "{} is NULL", what);
  const std::size_t size = given->size;
  if (size < kFirstSize<Struct> || size > kMostBytes) return bad_size(function, what, size, kFirstSize<Struct>);
  const auto* const bytes = reinterpret_cast<const char*>(given);
  if (size > sizeof(Struct) && std::any_of(bytes + sizeof(Struct), bytes + size, [](char byte) { return byte != 0; }))
    return fail(CANOPY_BAD_SIZE, function, "{} has fields that this library does not know; it has version {}.{}", what,
                CANOPY_ABI_MAJOR, CANOPY_ABI_MINOR);
  std::memcpy(static_cast<void*>(&own), given, std::min(size, sizeof(Struct)));
  return CANOPY_OK;
}

/// Checks a struct for a result.
template <class Struct>
canopy_code check_result(const char* function, const char* what, const Struct* to) {
  static_assert(kFirstSize<Struct> > 0 && sizeof(Struct) >= kFirstSize<Struct>);
  if (!to) return fail(CANOPY_BAD_ARGUMENT, function, "{} is NULL", what);
  if (to->size < kFirstSize<Struct> || to->size > kMostBytes)
    return bad_size(function, what, to->size, kFirstSize<Struct>);
  return CANOPY_OK;
}
/// Writes as much of a result as the caller's struct has room for; fields that this library does not know become 0.
/// REQUIRES: check_result() has accepted it.
template <class Struct>
canopy_code give(Struct own, Struct* to) {
  const std::size_t size = to->size;
  own.size = size;
  std::memcpy(static_cast<void*>(to), &own, std::min(size, sizeof(Struct)));
  if (size > sizeof(Struct)) std::memset(reinterpret_cast<char*>(to) + sizeof(Struct), 0, size - sizeof(Struct));
  return CANOPY_OK;
}

}  // namespace canopy::c
