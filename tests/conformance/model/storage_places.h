#pragma once

#include <canopy/page_storage.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace canopy::test {

/// The place of a storage's records: empty at first, and removed with this object. A folder, a server, or nothing.
class StoragePlace {
 public:
  virtual ~StoragePlace() = default;
  /// Returns the options for this place, as YAML without braces: "path: /tmp/x, capacity: 1MiB".
  virtual std::string options() const = 0;
};

/// A storage under test with some of its options.
struct StorageKind {
  std::string name;   ///< name of the component
  std::string shown;  ///< name and special options: "slots, engine: threads"
  bool faulty;        ///< true if its options include faults
  /// Makes a new place.
  std::function<std::unique_ptr<StoragePlace>()> place;

  /// Returns an instance over a place. A place may have several, one after another, or at the same time if their
  /// contexts differ.
  std::shared_ptr<PageStorage> open(const StoragePlace& at, const PageStorage::Context& context) const;
};

/// Returns every storage under test in each tested variant. Omits one whose place cannot be made here, with a message
/// on stderr. A component with an option `path` gets a temporary folder. Options in $CANOPY_STORAGE_OPTIONS, such as
/// "at: cache-1:7001", are for components whose options Canopy does not know; then only those are tested. A component
/// with an option `at` requires them because it needs a server. Throws a Mismatch if nothing remains.
std::vector<StorageKind> storage_kinds();

}  // namespace canopy::test
