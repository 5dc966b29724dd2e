#pragma once

#include <canopy/base/own_fd.h>
#include <canopy/page_storage.h>

#include <span>
#include <string>
#include <vector>

#include "slot_files.h"

namespace canopy::slots {

/// Content of a slot as stored in the table's file. Little endian.
struct Entry {
  PageKey key;
  std::uint64_t space = 0;     ///< first word of the namespace; 0: unknown
  std::uint64_t run = 0;       ///< number of its run; 0: the slot is empty
  std::uint64_t parent = 0;    ///< number of the run that this one continues; 0: none
  std::uint32_t position = 0;  ///< position in its run
  std::uint32_t sum = 0;       ///< checksum over the rest and the slot; 0: not valid for the next process
};
static_assert(sizeof(Entry) == 64);

/// A run's number is the second in which it was put, then a counter: younger runs have greater numbers.
inline constexpr unsigned kRunCountBits = 24;
constexpr std::uint64_t second_of(std::uint64_t run) { return run >> kRunCountBits; }

/// The head of the table's file.
struct TableHead {
  char magic[8] = {'C', 'N', 'P', 'Y', 'S', 'L', 'T', 'S'};
  std::uint32_t format = 1;
  std::uint32_t complete = 0;  ///< 0: a scan of the records' heads has not ended
  std::uint64_t record_bytes = 0;
  std::uint64_t slots = 0;
  std::array<std::byte, 32> fingerprint{};
  std::uint32_t rank = 0, ranks = 1;
  std::uint64_t sum = 0;  ///< checksum over the rest
};

/// Reads until `count` bytes are read or the file ends. Returns the number of bytes read.
std::size_t read_at(int file, void* to, std::size_t count, std::uint64_t offset);

/// Reads the head of a table. Returns null if it can be used, otherwise a short reason.
const char* read_head(int file, TableHead& head);
/// Reads the entries of slots from `first` on; entries that are damaged or of another slot become empty. Returns the
/// number of slots that the file has entries for, at most entries.size().
std::size_t read_entries(int file, Slot first, std::span<Entry> entries);

/// The table in memory and its file. A changed entry is written in place through the page cache, together with the 63
/// other entries of its 4096 bytes, without reading and without waiting for the disk. Written entries survive any end
/// of the process. After a crash of the machine an entry may be older than its slot; the record's own head reveals
/// that.
class TableFile {
 public:
  /// Takes over the entries of an existing file if it belongs to this storage; otherwise `trouble` has the reason.
  /// Marks the file incomplete until complete() is called.
  TableFile(const std::string& path, const Shape& shape, const PageStorage::Context& context);

  /// Returns why the file's entries were not taken over; empty if they were. "it does not exist" if there was no file.
  const std::string& trouble() const { return trouble_; }
  void complete();

  const Entry& operator[](Slot slot) const { return entries_[slot]; }
  /// Sets an entry, without taking memory. `durable`: the next process may use it.
  void set(Slot slot, Entry entry, bool durable);
  void clear(Slot slot);
  /// Writes the changes since the last call; many are written earlier. Reports only the first failed write, on stderr.
  void write();

 private:
  static constexpr Slot kEntriesAPage = 4096 / sizeof(Entry);
  static constexpr std::size_t kMostChanged = 4096;
  void changed(Slot slot);
  void write_head();
  void write_at(const void* bytes, std::size_t count, std::uint64_t offset);

  std::string path_, trouble_;
  OwnFd file_;
  TableHead head_;
  std::vector<Entry> entries_;  ///< whole pages of entries
  std::vector<Slot> changed_;   ///< pages with changed entries
  bool failed_ = false;
};

}  // namespace canopy::slots
