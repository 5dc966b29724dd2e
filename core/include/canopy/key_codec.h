#pragma once

#include <canopy/types.h>

namespace canopy {

/// Memory for a codec's output, owned by the caller and kept between calls.
class Scratch {
 public:
  /// Returns `count` words, contents unspecified; valid until the next call.
  virtual std::span<std::uint32_t> words(std::size_t count) = 0;

 protected:
  ~Scratch() = default;
};

/// Turns tokens into the 32-bit words that an index compares: each token of a request once, never per node. For an
/// index, kinds of keys differ in one number only, `overlap`.
///
/// Thread: the engine's.
/// Errors: none.
/// Exceptions: none may escape. If one does, the engine records a violation and does not reuse these tokens.
/// Memory: the caller's Scratch.
class KeyCodec {
 public:
  static constexpr const char* kInterface = "canopy.KeyCodec/2.0";
  struct Context {};
  virtual ~KeyCodec() = default;

  /// Returns the number of words that a unit includes beyond its first: 0 for tokens, 1 for EAGLE bigrams, where unit i
  /// is (t[i], t[i+1]).
  virtual Units overlap() const = 0;

  /// Returns one word for each token: in `scratch`, or the input itself if the words are the tokens. A token has the same
  /// word in every call: the engine encodes what a request has new, and appends it to the words of the tokens before.
  virtual std::span<const std::uint32_t> encode(std::span<const Token> tokens, Scratch& scratch) const = 0;
};

}  // namespace canopy
