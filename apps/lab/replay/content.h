#pragma once

#include <canopy/engine/engine.h>

#include <cstdint>
#include <string>
#include <vector>

namespace canopy::replay {

/// The bytes that a token must have in the store, whichever request wrote them: they follow from its namespace, all
/// tokens up to it, its layer and its stream. Grows with a request. Stores nothing per page, so a page with wrong
/// content is always detected.
class Trail {
 public:
  explicit Trail(NamespaceId space);
  /// Continues with `tokens[length()..]`. REQUIRES: `tokens` begins with the tokens of earlier calls.
  void follow(std::span<const Token> tokens);
  std::size_t length() const { return prefix_.size(); }
  /// Writes the row bytes of tokens [first, first + count).
  void rows(std::uint32_t first, std::uint32_t count, std::uint32_t layer, std::size_t stream, std::uint32_t row_bytes,
            std::byte* out) const;

 private:
  std::uint64_t space_;
  std::vector<std::uint64_t> prefix_;  ///< fingerprint of everything up to and including each token
};

/// Writes such rows for the computed tokens of a request, and compares them for its reused tokens.
class Content {
 public:
  explicit Content(Engine& engine) : engine_(engine) {}

  /// Writes every group, layer and stream of [first, end), wherever the group keeps the page.
  void write(Request& request, const Trail& trail, std::uint32_t first, std::uint32_t end);
  /// Compares reused tokens; counts each once. Everything that the next token can see must be present.
  void check(const Request& request, const Trail& trail, std::uint32_t first, std::uint32_t end);
  /// Waits for the stores. A failed transfer is a violation and ends all comparison.
  void sync();

  std::uint64_t checks() const { return checks_; }
  std::uint64_t violations() const { return violations_; }
  const std::vector<std::string>& reports() const { return reports_; }  ///< the first few, one sentence each

 private:
  template <class Piece>
  void each_piece(std::uint32_t first, std::uint32_t end, std::size_t group, const Trail& trail, Piece&& piece);
  template <class Run>
  void each_run(const Request& request, std::uint32_t first, std::uint32_t end, std::size_t group, Run&& run);

  void compare(const Request& request, const Trail& trail, std::uint32_t first, std::uint32_t end, std::size_t group);
  void violated(std::string sentence);

  Engine& engine_;
  std::vector<std::byte> expected_, found_;
  std::uint64_t checks_ = 0, violations_ = 0;
  bool failed_ = false;  ///< true if a store failed
  std::vector<std::string> reports_;
};

}  // namespace canopy::replay
