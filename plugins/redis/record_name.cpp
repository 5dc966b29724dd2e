#include "record_name.h"

#include <canopy/base/random.h>

#include <array>

namespace canopy::redis {

namespace {

constexpr auto kCrc = [] {
  std::array<std::uint16_t, 256> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::uint32_t crc = static_cast<std::uint32_t>(i) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021u : 0u);
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::uint16_t slot_of(std::string_view tag) {
  std::uint32_t crc = 0;
  for (const char c : tag) crc = ((crc << 8) & 0xFFFF) ^ kCrc[(crc >> 8 ^ static_cast<unsigned char>(c)) & 0xFF];
  return static_cast<std::uint16_t>(crc % kSlots);
}

void put_hex(char* to, std::uint64_t number) {
  for (int i = 0; i < 16; ++i) to[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
}

}  // namespace

void append_hex(std::string& text, std::uint64_t number) {
  text.resize(text.size() + 16);
  put_hex(text.data() + text.size() - 16, number);
}

RecordNames::RecordNames(const PageStorage::Context& context) : prefix_("c1:") {
  std::uint64_t fingerprint = 0;
  for (const std::byte byte : context.fingerprint)
    fingerprint = splitmix64(fingerprint ^ std::to_integer<std::uint64_t>(byte));
  append_hex(prefix_, fingerprint);
  prefix_ += ":" + std::to_string(context.record_bytes) + ":" + std::to_string(context.rank) + "." +
             std::to_string(context.ranks) + ":";
}

std::string_view RecordNames::record(const PageKey& key, std::uint64_t epoch) {
  name_ = prefix_;
  name_ += '{';
  append_hex(name_, key.placement());
  name_ += "}:";
  append_hex(name_, epoch);
  name_ += ':';
  for (std::size_t i = 0; i < 3; ++i) append_hex(name_, key.bits[i]);
  return name_;
}

std::string_view RecordNames::epoch(const PageKey& space) {
  name_ = prefix_;
  name_ += "epoch:{";
  for (const std::uint64_t word : space.bits) append_hex(name_, word);
  name_ += '}';
  return name_;
}

std::uint16_t slot_of_home(std::uint64_t home) {
  char tag[16];
  put_hex(tag, home);
  return slot_of({tag, sizeof tag});
}

std::uint16_t slot_of_space(const PageKey& space) {
  char tag[64];
  for (std::size_t i = 0; i < 4; ++i) put_hex(tag + 16 * i, space.bits[i]);
  return slot_of({tag, sizeof tag});
}

}  // namespace canopy::redis
