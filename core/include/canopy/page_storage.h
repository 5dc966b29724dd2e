#pragma once

#include <canopy/types.h>

namespace canopy {

/// The name of a page's record. The first three words are of a SHA-256 over the meaning of the bytes, the namespace,
/// and all words up to the page's end. The last one is the placement, shared by the pages of a block of 64: the first
/// word of the key of the page that begins the block, in the first group. A cluster keeps the pages of a placement on
/// one server, so that a lost server takes whole blocks, and a prefix stays usable up to there. Tables hash by bits[0].
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
  absent,  ///< there is no such record: an answer, not a failure
  full,    ///< there is no room, and none could be made
  late,    ///< it did not end in its time
  failed,  ///< the storage refused, is broken or is gone
};

/// Returns the result of a call of several records: the first of their fates that is not done.
inline Fate fate_of(std::span<const Fate> fates) {
  for (const Fate fate : fates)
    if (fate != Fate::done) return fate;
  return Fate::done;
}

/// A call that has ended. The spans are valid until the next call on the storage.
struct StorageDone {
  std::uint64_t ticket = 0;
  Fate fate = Fate::done;       ///< find: done, or the reason for having no answer. get, put: fate_of(fates)
  std::uint32_t found = 0;      ///< find: number of keys that are there, from the first one on
  std::span<const Fate> fates;  ///< get, put: one for each record; find: empty
};

/// Properties of a storage, constant for its lifetime.
struct StorageTraits {
  bool exact = false;        ///< a result of find() stays true until this process changes it: there is no other writer
  bool shared = false;       ///< other processes see the records
  bool durable = false;      ///< records survive the process
  std::uint32_t batch = 64;  ///< best number of records in a call
  std::uint32_t calls = 8;   ///< best number of calls at a time
};

/// kUnlimited: the storage does not know.
struct StorageUse {
  std::uint64_t capacity = kUnlimited;  ///< bytes that it may take
  std::uint64_t used = 0;               ///< bytes
  std::uint64_t records = 0;
};

/// Keeps records of one size under their keys: in files, or on a server. The tier below the host.
///
/// A storage may forget any record at any time. The engine checks each record against its key, its words and its
/// checksum before a page enters an index. So a storage needs no checksums of its own, and need not sync its writes.
///
///   engine            storage                    find(), get() and put() only queue: they never wait for a device or a
///   get(7, ...)   ->  queues, returns            network. Each call ends once, in poll(), even if the storage has
///   broken poll()        ->  nothing yet                down; calls end in any order. The records may be used until
///   then, the
///                     (device or network)        keys and the lists only during the call. Memory of records is never
///   poll()        <-  {7, done, 0, fates}        touched afterwards. Two pending calls never have the same ticket.
///
/// `within_us` is a call's time: the storage ends the call as `late` then, or as soon as it has stopped what it began.
/// `space` names the namespace of the keys; the same key is never used with two of them.
///
/// Thread: all calls come from one; a storage may have threads of its own. Errors: Fate. Exceptions: none; the engine
/// records one that escapes as a violation and takes the call as failed. Memory: use_memory() offers the memory of
/// later calls; a call that gets no memory of its own ends as failed.
class PageStorage {
 public:
  static constexpr const char* kInterface = "canopy.PageStorage/1.0";
  struct Context {
    std::uint64_t record_bytes = 0;           ///< a multiple of 4096
    std::array<std::byte, 32> fingerprint{};  ///< hash of model, layout and format. Records of two never mix
    std::uint32_t rank = 0, ranks = 1;        ///< position in a model that several processes share. Two ranks never mix
  };
  virtual ~PageStorage() = default;

  virtual StorageTraits traits() const = 0;

  /// Offers memory in which records of later calls may lie. It outlives the storage, which may register it with a
  /// device. Its address and its size are multiples of 4096.
  virtual void use_memory(std::span<std::byte> memory) { static_cast<void>(memory); }

  /// Counts the keys that are there, from the first one on. The count is no promise. REQUIRES: `keys` is not empty.
  virtual void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                    std::uint64_t within_us) = 0;
  /// Fills records[i] with the record of keys[i]. Its contents are unspecified unless its fate is done. REQUIRES: as
  /// for find(); one record for each key, each record_bytes of used memory, aligned to 4096.
  virtual void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                   std::span<std::byte* const> records, std::uint64_t within_us) = 0;
  /// Keeps records, in the order of their path, for `keep_s` seconds if the storage supports that (0: as long as there
  /// is room). A record that is there already is done. If one is not kept, none behind it is. REQUIRES: as for get().
  virtual void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                   std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) = 0;
  /// Removes records that are damaged or no longer wanted. No answer and no promise.
  virtual void remove(const PageKey& space, std::span<const PageKey> keys) = 0;
  /// Forgets all records that were put into this space until now: for this process from now on, and for one that opens
  /// the storage after this has returned. Returns false if the second cannot be promised, since the storage is out of
  /// reach; later calls of this process find none of them all the same.
  virtual bool flush(const PageKey& space) = 0;

  /// Reports calls that have ended, at most done.size() of them, and returns their number. Never waits.
  virtual std::size_t poll(std::span<StorageDone> done) = 0;
  /// Returns a descriptor that is readable while poll() has something to report; -1: there is none, so call poll()
  /// again.
  virtual int descriptor() const { return -1; }
  virtual StorageUse use() const = 0;
};

}  // namespace canopy
