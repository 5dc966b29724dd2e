#pragma once

#include <canopy/types.h>
#include <canopy/words.h>

namespace canopy {

/// The key of a page's record. The first three words are taken from a SHA-256 over the meaning of the bytes, the
/// namespace, and all words up to the end of the page. The last word is the placement, which the pages of a block of 64
/// share: the first word of the first page's key in the first group. A cluster keeps the pages of a placement on one
/// server, so a lost server takes whole blocks with it, and prefixes stay usable up to there. Tables hash by bits[0].
struct PageKey {
  std::array<std::uint64_t, 4> bits{};
  std::uint64_t placement() const { return bits[3]; }
  friend bool operator==(const PageKey&, const PageKey&) = default;
  struct Hash {
    std::size_t operator()(const PageKey& key) const { return static_cast<std::size_t>(key.bits[0]); }
  };
};

/// The result of a call for one record.
enum class Fate : std::uint32_t {
  done,
  absent,  ///< there is no such record: a result, not a failure
  full,    ///< there is no room, and none could be made
  late,    ///< the call exceeded its time limit
  failed,  ///< the storage refused, is broken or is gone
};
template <>
struct NamesOf<Fate> {
  static constexpr const char* kAll[] = {"done", "absent", "full", "late", "failed"};
};

/// Returns the result of a call for several records: the first fate that is not `done`, else `done`.
inline Fate fate_of(std::span<const Fate> fates) {
  for (const Fate fate : fates)
    if (fate != Fate::done) return fate;
  return Fate::done;
}

/// A call that has ended. The spans are valid until the next call on the storage.
struct StorageDone {
  std::uint64_t ticket = 0;
  Fate fate = Fate::done;       ///< find: done, or the reason why `found` is not known; else fate_of(fates)
  std::uint32_t found = 0;      ///< find: number of keys that have a record, from the first one on
  std::span<const Fate> fates;  ///< one for each record; find: empty
};

/// Properties of a storage, constant for its lifetime.
struct StorageTraits {
  bool exact = false;        ///< a result of find() stays true until this process changes it: there is no other writer
  bool shared = false;       ///< other processes can read the records
  bool durable = false;      ///< records survive the process
  std::uint32_t batch = 64;  ///< best number of records in a call
  std::uint32_t calls = 8;   ///< best number of calls at a time
};

/// Use of a storage. kUnlimited in one of the first three fields: not known.
struct StorageUse {
  std::uint64_t capacity = kUnlimited;  ///< bytes that the storage may take
  std::uint64_t used = 0;               ///< bytes
  std::uint64_t records = 0;
  std::uint64_t lacked = 0;  ///< times that it had no memory, and lost records or ceased to work
};

/// Keeps records of one size under their keys: in files, or on a server. The tier below the host.
///
/// A storage may forget any record at any time. The engine checks each record against its key, its words and its
/// checksum before a page enters an index. So a storage needs no checksums of its own, and need not sync its writes.
///
///   engine             storage
///   get(7, ...)   ->   queues the call and returns
///   poll()        <-   nothing yet (device or network)
///   poll()        <-   {7, done, 0, fates}
///
/// find(), find_each(), get() and put() only queue: they never wait for a device or a network. Each call ends exactly
/// once, in poll(), even if the storage has broken down; calls end in any order. The storage may use the memory of the
/// records until the call ends and never afterwards; the keys and lists only until the function returns. Two pending
/// calls never have the same ticket.
///
/// `within_us` is the time limit of a call, in microseconds: the storage then ends the call as `late`, or as soon as it
/// has stopped the work that it began. `space` is the key of the namespace; a key is never used with two of them.
///
/// Thread: the engine's; a storage may have its own threads.
/// Errors: in results (Fate).
/// Exceptions: none may escape. If one does, the engine records a violation and treats the call as failed.
/// Memory: the engine's for records (use_memory()); a call for which the storage gets no memory ends as failed.
/// Fork: a child has a copy without the storage's threads. A storage with threads, locks or connections leaves them to
/// the parent, and ends the child's calls as failed.
/// AsyncStorage (helpers/async_calls.h) keeps all this for a transport.
class PageStorage {
 public:
  static constexpr const char* kInterface = "canopy.PageStorage/3.0";
  struct Context {
    std::uint64_t record_bytes = 0;           ///< a multiple of 4096
    std::array<std::byte, 32> fingerprint{};  ///< hash of model, layout and format; records of two never mix
    std::uint32_t rank = 0, ranks = 1;        ///< place among the processes of a model; records of two ranks never mix
  };
  virtual ~PageStorage() = default;

  virtual StorageTraits traits() const = 0;

  /// Announces memory from which the records of later calls may come, so that the storage can register it with a
  /// device. Its address and its size are multiples of 4096 bytes. REQUIRES: the memory outlives the storage.
  virtual void use_memory(std::span<std::byte> memory) { static_cast<void>(memory); }

  /// Counts the keys that have a record, from the first one on. A later get() may still find them absent. REQUIRES:
  /// `keys` is not empty.
  virtual void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                    std::uint64_t within_us) = 0;
  /// Reports for each key whether it has a record: its fate is done or absent, or the reason why it is not known. A
  /// later get() may still find it absent. REQUIRES: as for find().
  virtual void find_each(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                         std::uint64_t within_us) = 0;
  /// Fills records[i] with the record of keys[i]. Its bytes are unspecified unless its fate is `done`. REQUIRES: as for
  /// find(); for each key record_bytes of announced memory, aligned to 4096 bytes.
  virtual void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                   std::span<std::byte* const> records, std::uint64_t within_us) = 0;
  /// Keeps records, in the order of their path, for `keep_s` seconds if the storage supports that (0: as long as there
  /// is room). A record that the storage already has is `done`. If one is not kept, none of those after it is.
  /// REQUIRES: as for get().
  virtual void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                   std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) = 0;
  /// Removes records that are damaged or no longer wanted. It reports no result, and the records may stay.
  virtual void remove(const PageKey& space, std::span<const PageKey> keys) = 0;
  /// Forgets all records that were put into this space until now, also by a put that has not ended: later calls of this
  /// process never find them. Returns true if a process that opens the storage afterwards does not find them either;
  /// false if that is not certain, because the storage is out of reach.
  virtual bool flush(const PageKey& space) = 0;

  /// Reports calls that have ended, at most done.size() of them, and returns their number. Never waits.
  virtual std::size_t poll(std::span<StorageDone> done) = 0;
  /// Returns a file descriptor that is readable while poll() has something to report; -1: none, call poll() regularly.
  virtual int descriptor() const { return -1; }
  virtual StorageUse use() const = 0;
};

}  // namespace canopy
