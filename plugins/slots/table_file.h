#pragma once

#include <canopy/page_storage.h>
#include <canopy/support/file.h>

#include <span>
#include <string>
#include <vector>

#include "slot_files.h"

namespace canopy::slots {

/// What lies in a slot, as the table's file has it. Little endian.
struct Entry {
  PageKey key;
  std::uint64_t space = 0;     ///< the namespace's first word; 0: unknown
  std::uint64_t run = 0;       ///< the number of its run; 0: the slot is empty
  std::uint64_t parent = 0;    ///< the number of the run that this one continues; 0: none
  std::uint32_t position = 0;  ///< in its run
  std::uint32_t sum = 0;       ///< over the rest and the slot; 0: an entry that is not for the next process
};
static_assert(sizeof(Entry) == 64);

/// Runs are numbered by the second in which they were put and a count: younger runs have greater numbers.
inline constexpr unsigned kRunCountBits = 24;
constexpr std::uint64_t second_of(std::uint64_t run) { return run >> kRunCountBits; }

/// What the table's file begins with.
struct TableHead {
  char magic[8] = {'C', 'N', 'P', 'Y', 'S', 'L', 'T', 'S'};
  std::uint32_t format = 1;
  std::uint32_t complete = 0;  ///< 0: a scan of the records' heads has not ended
  std::uint64_t record_bytes = 0;
  std::uint64_t slots = 0;
  std::array<std::byte, 32> fingerprint{};
  std::uint32_t rank = 0, ranks = 1;
  std::uint64_t sum = 0;  ///< over the rest
};

/// Reads until `count` bytes are there or the file ends. Returns how many there are.
std::size_t read_at(int file, void* to, std::size_t count, std::uint64_t offset);

/// Reads the head of a table. Returns why it cannot be used, in a few words; null: it can.
const char* read_head(int file, TableHead& head);
/// Reads the entries of slots from `first` on; those that are damaged, or of another slot, are empty. Returns how many
/// slots the file has entries for, at most entries.size().
std::size_t read_entries(int file, Slot first, std::span<Entry> entries);

/// The table in memory, and its file. An entry that changes is written in place through the page cache, with the 63
/// others of its 4096 bytes: nothing is read for it, and nothing waits for the disk. What was written survives the
/// process however it ends. After a crash of the machine an entry may be older than its slot: the record's own head
/// tells.
class TableFile {
 public:
  /// Takes over the entries of the file that is there, if it is this storage's; `trouble` says why it is not.
  /// The file is not complete afterwards, until complete() says so.
  TableFile(const std::string& path, const Shape& shape, const PageStorage::Context& context);

  /// Why the file's entries were not taken over; empty: they were. "it is not there" if there was none.
  const std::string& trouble() const { return trouble_; }
  void complete();

  const Entry& operator[](Slot slot) const { return entries_[slot]; }
  /// Sets an entry. `durable`: the next process may have it.
  void set(Slot slot, Entry entry, bool durable);
  void clear(Slot slot);
  /// Writes what has changed since the last call. A write that fails is said once, on stderr.
  void write();

 private:
  static constexpr Slot kEntriesAPage = 4096 / sizeof(Entry);
  void changed(Slot slot);
  void write_head();
  void write_at(const void* bytes, std::size_t count, std::uint64_t offset);

  std::string path_, trouble_;
  UniqueFd file_;
  TableHead head_;
  std::vector<Entry> entries_;  ///< whole pages of them
  std::vector<Slot> changed_;   ///< pages with entries to be written
  bool failed_ = false;
};

}  // namespace canopy::slots
