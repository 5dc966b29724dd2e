#pragma once

#include <canopy/types.h>

namespace canopy {

/// Room for a codec's output, owned by the caller and kept between calls.
class Scratch {
 public:
  /// Returns `count` words, contents unspecified; valid until the next call.
  virtual std::span<std::uint32_t> words(std::size_t count) = 0;

 protected:
  ~Scratch() = default;
};

/// Turns tokens into the 32-bit words that an index compares: once per request, never per node. Inside the index, one
/// kind of key differs from another in one number only, `overlap`.
///
/// Thread: the engine's. Errors: none. Exceptions: none; the engine records one that escapes as a violation and does
/// not reuse these tokens. Memory: the caller's Scratch.
class KeyCodec {
 public:
  static constexpr const char* kInterface = "canopy.KeyCodec/1.0";
  struct Context {};
  virtual ~KeyCodec() = default;

  /// Returns the words that a unit looks ahead: 0 for tokens, 1 for EAGLE bigrams, where unit i is (t[i], t[i+1]).
  virtual Units overlap() const = 0;

  /// Returns the words of `tokens`, `tokens.size()` of them. A codec whose words are the tokens returns its input;
  /// otherwise the result lies in `scratch`.
  virtual std::span<const std::uint32_t> encode(std::span<const Token> tokens, Scratch& scratch) const = 0;
};

}  // namespace canopy
