#include "result.h"

#include <canopy/base/printable.h>

#include <array>
#include <stdexcept>

namespace canopy::c {
namespace {

thread_local std::string last_failure;

constexpr std::array<const char*, 11> kCodes = {"CANOPY_OK",          "CANOPY_NO_ROOM",      "CANOPY_BAD_ARGUMENT",
                                                "CANOPY_BAD_SIZE",    "CANOPY_SMALL_BUFFER", "CANOPY_NOT_FOUND",
                                                "CANOPY_WRONG_STATE", "CANOPY_VIOLATION",    "CANOPY_REFUSED",
                                                "CANOPY_NO_MEMORY",   "CANOPY_FAILED"};

}  // namespace

canopy_code fail(canopy_code code, std::string_view sentence) noexcept {
  try {
    last_failure = printable_lines(sentence);
  } catch (...) {
    last_failure.clear();  // a lack of memory for the sentence leaves the code
  }
  return code;
}

canopy_code fail_without(const char* function, const char* what) noexcept {
  return fail(CANOPY_BAD_ARGUMENT, function, "{} is NULL", what);
}
canopy_code fail_group(const char* function, std::uint32_t group, std::size_t groups) noexcept {
  return fail(CANOPY_BAD_ARGUMENT, function, "group {}, but there are {}", group, groups);
}

canopy_code fail_by_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(CANOPY_NO_MEMORY, function, "the system refused memory");
  } catch (const std::length_error&) {
    return fail(CANOPY_NO_MEMORY, function, "more memory is needed than a program can have");
  } catch (const std::exception& error) {
    return fail(CANOPY_FAILED, function, "{}", error.what());
  } catch (...) {
    return fail(CANOPY_FAILED, function, "something that is not a std::exception was thrown");
  }
}

canopy_code copy_text(const char* function, std::string_view text, char* to, std::size_t room, std::size_t* length) {
  if (!length) return fail(CANOPY_BAD_ARGUMENT, function, "length is NULL");
  *length = text.size();
  if (room <= text.size())
    return fail(CANOPY_SMALL_BUFFER, function, "a text of {} bytes and a 0 byte into a buffer of {}", text.size(),
                room);
  if (!to) return fail(CANOPY_BAD_ARGUMENT, function, "the buffer is NULL");
  copy_cut(text, to, room);
  return CANOPY_OK;
}

canopy_code bad_size(const char* function, const char* what, std::size_t given, std::size_t least) {
  return fail(CANOPY_BAD_SIZE, function, "{}->size is {}, expected sizeof the struct, which is at least {}", what,
              given, least);
}

}  // namespace canopy::c

using namespace canopy::c;

uint32_t canopy_abi_version(void) { return CANOPY_ABI_MAJOR << 16 | CANOPY_ABI_MINOR; }
const char* canopy_version(void) { return CANOPY_VERSION; }
const char* canopy_code_name(canopy_code code) {
  return code >= 0 && code < static_cast<canopy_code>(kCodes.size()) ? kCodes[static_cast<std::size_t>(code)]
                                                                     : "unknown";
}
size_t canopy_error(char* to, size_t room) { return copy_cut(last_failure, to, room); }
