#pragma once

#include <canopy/page_storage.h>

#include <string>
#include <string_view>

namespace canopy::redis {

/// Names of records and epochs on a server, in hexadecimal digits, so that the server's tools can show and select them:
///
///   c1:FINGERPRINT:RECORD_BYTES:RANK.RANKS:{HOME}:EPOCH:KEY    a record
///   c1:FINGERPRINT:RECORD_BYTES:RANK.RANKS:epoch:{SPACE}       the epoch of a space
///
/// FINGERPRINT is a hash of the fingerprint in 16 digits; each record contains all of it. A cluster places a name by
/// the part in braces (redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec, hash tags): records with the
/// same HOME are on one server.
class RecordNames {
 public:
  explicit RecordNames(const PageStorage::Context& context);

  /// Returns the name of a record. Valid until the next call.
  std::string_view record(const PageKey& key, std::uint64_t epoch);
  std::string_view epoch(const PageKey& space);

 private:
  std::string prefix_, name_;
};

/// Appends 16 hexadecimal digits: "0123456789abcdef".
void append_hex(std::string& text, std::uint64_t number);

/// A cluster has 16,384 slots, each owned by one server.
inline constexpr std::size_t kSlots = 16384;
/// Returns the slot of a name: CRC-16/XMODEM of the part in braces.
std::uint16_t slot_of_home(std::uint64_t home);
std::uint16_t slot_of_space(const PageKey& space);

}  // namespace canopy::redis
