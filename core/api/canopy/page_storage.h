#pragma once

#include <canopy/types.h>

namespace canopy {

/// The name of a page's record. The first three words are of a SHA-256 over what the bytes mean, the namespace, and all
/// words up to the page's end. The last one is the page's home: the first word of the key of the page that begins its
/// block of 64 pages, of the first group. A storage of several servers keeps the pages of a home on one of them, so
/// that a server that is gone takes whole blocks, and a prefix stays usable up to there. Tables hash by the first word.
struct PageKey {
  std::array<std::uint64_t, 4> bits{};
  std::uint64_t home() const { return bits[3]; }
  friend bool operator==(const PageKey&, const PageKey&) = default;
  struct Hash {
    std::size_t operator()(const PageKey& key) const { return static_cast<std::size_t>(key.bits[0]); }
  };
};

/// How one record of a call ended.
enum class Fate : std::uint32_t {
  done,
  absent,  ///< it is not there: an answer, not a failure
  full,    ///< there is no room, and none could be made
  late,    ///< it did not end in its time
  failed,  ///< the storage refused, is broken or is gone
};

/// How a call of several records ended: the first of their fates that is not done.
inline Fate fate_of(std::span<const Fate> fates) {
  for (const Fate fate : fates)
    if (fate != Fate::done) return fate;
  return Fate::done;
}

/// A call that has ended. The spans are valid until the next call on the storage.
struct StorageDone {
  std::uint64_t ticket = 0;
  Fate fate = Fate::done;       ///< find: done, or why there is no answer. get, put: fate_of(fates)
  std::uint32_t found = 0;      ///< find: how many of the keys are there, from the first one on
  std::span<const Fate> fates;  ///< get, put: one for each record; find: empty
};

/// What a storage is like. Constant from its first day to its last.
struct StorageTraits {
  bool exact = false;        ///< what find() says stays true until this process changes it: there is no other writer
  bool shared = false;       ///< other processes see what is put
  bool durable = false;      ///< what is put survives the process
  std::uint32_t batch = 64;  ///< records of a call that suit it best
  std::uint32_t calls = 8;   ///< calls at a time that suit it best
};

/// kUnlimited: the storage does not know.
struct StorageUse {
  std::uint64_t capacity = kUnlimited;  ///< bytes that it may take
  std::uint64_t used = 0;               ///< bytes
  std::uint64_t records = 0;
};

/// Keeps records of one size under their keys: in files, or on a server. The tier below the host.
///
/// A storage may forget any record at any time. Nothing that it returns is believed: the engine checks each record
/// against its key, its words and its checksum before a page enters an index. So a storage needs no checksums of its
/// own, and need not sync what it writes.
///
/// find(), get() and put() only queue: they never wait for a device or a network. Each call ends once, in poll(), even
/// if the storage has broken down; calls end in any order. `within_us` is a call's time: a storage ends it as `late`
/// then, or as soon as it has stopped what it began. The memory of a call is the storage's until the call has ended,
/// and never touched by it afterwards. All calls come from one thread; a storage may have threads of its own. Two calls
/// on their way never have the same ticket.
///
/// `space` names the namespace that the keys belong to. The same key is never used with two of them.
class PageStorage {
 public:
  static constexpr const char* kInterface = "canopy.PageStorage/1";
  struct Context {
    std::uint64_t record_bytes = 0;           ///< a multiple of 4096
    std::array<std::byte, 32> fingerprint{};  ///< of model, layout and format. Records of two fingerprints never mix
    std::uint32_t rank = 0, ranks = 1;  ///< of a model that several processes share. Records of two ranks never mix
  };
  virtual ~PageStorage() = default;

  virtual StorageTraits traits() const = 0;

  /// Records of later calls may lie in this memory too, which outlives the storage. A storage may register it with a
  /// device. Its address and its size are multiples of 4096.
  virtual void use_memory(std::span<std::byte> memory) { static_cast<void>(memory); }

  /// How many of the keys are there, from the first one on, which is no promise. REQUIRES: `keys` is not empty; it is
  /// valid during the call only. The same holds for get() and put().
  virtual void find(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                    std::uint64_t within_us) = 0;
  /// Fills records[i] with the record of keys[i]. What is in it afterwards is unknown unless its fate is done.
  /// REQUIRES: as many records as keys, each record_bytes of used memory, aligned to 4096.
  virtual void get(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                   std::span<std::byte* const> records, std::uint64_t within_us) = 0;
  /// Keeps records, in the order of their path, for `keep_s` seconds where the storage can tell time (0: as long as
  /// there is room). A record that is there already is done. If one is not kept, none behind it is. REQUIRES: as for
  /// get().
  virtual void put(std::uint64_t ticket, const PageKey& space, std::span<const PageKey> keys,
                   std::span<const std::byte* const> records, std::uint64_t within_us, std::uint32_t keep_s) = 0;
  /// The records are damaged, or not wanted any more. No answer and no promise.
  virtual void remove(const PageKey& space, std::span<const PageKey> keys) = 0;
  /// No record that was put into this space until now is found again: by this process from now on, and by one that
  /// opens the storage after this has returned. False: that cannot be promised, since the storage is out of reach;
  /// later calls of this process find none of them all the same.
  virtual bool flush(const PageKey& space) = 0;

  /// Tells calls that have ended, at most done.size() of them, and how many. Never waits.
  virtual std::size_t poll(std::span<StorageDone> done) = 0;
  /// A descriptor that is readable while poll() has something to tell; -1: there is none, ask again.
  virtual int descriptor() const { return -1; }
  virtual StorageUse use() const = 0;
};

}  // namespace canopy
