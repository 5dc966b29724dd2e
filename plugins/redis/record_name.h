#pragma once

#include <canopy/page_storage.h>

#include <string>
#include <string_view>

namespace canopy::redis {

/// What a server calls things, in hexadecimal digits, so that its tools can show and select it:
///
///   c1:FINGERPRINT:RECORD_BYTES:RANK.RANKS:{HOME}:EPOCH:KEY    a record
///   c1:FINGERPRINT:RECORD_BYTES:RANK.RANKS:epoch:{SPACE}       the epoch of a space
///
/// FINGERPRINT is a hash of it in 16 digits: each record carries all of it. Braces mark what a cluster places a name
/// by (redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec, hash tags): records of one home lie on one
/// server.
class RecordNames {
 public:
  explicit RecordNames(const PageStorage::Context& context);

  /// Valid until the next call.
  std::string_view record(const PageKey& key, std::uint64_t epoch);
  std::string_view epoch(const PageKey& space);

 private:
  std::string prefix_, name_;
};

/// "0123456789abcdef"
void append_hex(std::string& text, std::uint64_t number);

/// A cluster has 16,384 slots, and each belongs to one server.
inline constexpr std::size_t kSlots = 16384;
/// CRC-16/XMODEM of what a name is placed by.
std::uint16_t slot_of_home(std::uint64_t home);
std::uint16_t slot_of_space(const PageKey& space);

}  // namespace canopy::redis
