#pragma once

#include <canopy/page_storage.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cache/pages/spaces.h>

namespace canopy {

struct CacheState;
struct EngineConfig;

using Fingerprint = std::array<std::byte, 32>;

/// Computes the keys of page records, by a chain of SHA-256:
///
///   space  = SHA256("canopy page key 1" | fingerprint | presence bits | length and text of tenant, adapter and salt)
///   chain  = SHA256(chain of the page before, or space | words of the page, and the `overlap` words behind it)
///   key    = three words of the chain's value (first group) or of SHA256(chain | group), and the key's home
///
/// A key's home is the first word of the chain at the page that begins its block of 64 pages. Numbers are little
/// endian, of 4 bytes unless noted. Not thread-safe.
class PageKeys {
 public:
  static constexpr std::size_t kBlockPages = 64;

  /// REQUIRES: page_size > 0.
  PageKeys(const Fingerprint& fingerprint, Units page_size, Units overlap)
      : fingerprint_(fingerprint), page_size_(page_size), overlap_(overlap) {}

  PageKey space(const Space& tuple) const;

  /// Sets the path for key() and parent(): whole pages of `words`. The part shared with one of the last kPaths paths is
  /// not computed again. If memory runs out, throws std::bad_alloc, and the paths that it knows stay right.
  void follow(const PageKey& space, std::span<const std::uint32_t> words);
  std::size_t pages() const { return pages_; }
  /// Returns the key of a page. REQUIRES: page < pages().
  PageKey key(std::size_t page, std::size_t group) const;
  /// Returns the key of the page before, or the space.
  PageKey parent(std::size_t page, std::size_t group) const {
    return page == 0 ? paths_.front().space : key(page - 1, group);
  }
  /// Returns the number of chain values computed so far.
  std::uint64_t computed() const { return computed_; }

 private:
  static constexpr std::size_t kPaths = 8;
  struct Path {
    PageKey space;
    std::vector<std::uint32_t> words;  ///< words of the chain
    std::vector<PageKey> chain;        ///< full value at each page
    void reserve(std::size_t pages, Units page_size, Units overlap);
  };
  std::size_t shared(const Path& path, const PageKey& space, std::span<const std::uint32_t> words) const;
  void extend(Path& path, std::size_t known, const PageKey& space, std::span<const std::uint32_t> words);

  Fingerprint fingerprint_;
  Units page_size_, overlap_;
  std::array<Path, kPaths> paths_;  ///< the present path, and those before it
  std::size_t pages_ = 0;
  std::uint64_t computed_ = 0;
};

/// Returns the SHA-256 of a text.
Fingerprint fingerprint_of(std::string_view text);

/// Returns a text that describes the meaning of the bytes in an engine's records: the model, the layout and the format
/// of a record. Engines with the same text may share records. The fingerprint is its SHA-256.
std::string fingerprint_text(const EngineConfig& config, const CacheState& device);
/// Returns the text for the records of one group.
std::string fingerprint_text(const EngineConfig& config, const CacheState& device, std::size_t group);

/// Bytes before each image of a record. The image is aligned as O_DIRECT and network cards require.
inline constexpr std::uint64_t kRecordHeader = 4096;
/// Most words in a header. For a longer page it has the first ones; the key covers all.
inline constexpr std::size_t kRecordWords = 960;

/// Facts in the header of a page's record.
struct RecordFacts {
  PageKey key, parent;  ///< parent: key of the page before, or the space
  Fingerprint fingerprint{};
  std::uint32_t group = 0;
  Units begin = 0;                       ///< depth at which the page begins
  std::span<const std::uint32_t> words;  ///< words of the page, and the overlap behind it
  std::uint64_t image_bytes = 0;
};

/// Writes the header of a record whose image is complete. REQUIRES: `record` has kRecordHeader and image_bytes bytes.
void seal_record(std::byte* record, const RecordFacts& facts);

/// Returns a short error message if a record is not the expected one, else null. Never reads outside the record,
/// whatever its bytes are. REQUIRES: as for seal_record.
const char* flaw_of_record(const std::byte* record, const RecordFacts& expected);

/// Facts in the header of a page's record, for readers that expect no particular page.
struct RecordSummary {
  PageKey key;
  std::array<std::byte, 32> fingerprint{};
  const char* flaw = nullptr;  ///< short error message if it was changed since it was sealed, else null
};

/// Checks a record against its own checksums. `record` may be followed by other bytes. Never reads outside it.
RecordSummary read_record(std::span<const std::byte> record);

}  // namespace canopy
