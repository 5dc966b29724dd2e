#pragma once

#include <canopy/page_storage.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace canopy::test {

/// Where a storage keeps its records: empty at first, and gone with this object. A folder, a server, or nothing.
class StoragePlace {
 public:
  virtual ~StoragePlace() = default;
  /// The options that lead there, as YAML without braces: "path: /tmp/x, capacity: 1Mi".
  virtual std::string options() const = 0;
};

/// A storage under test with some of its options.
struct StorageKind {
  std::string name;   ///< of the component
  std::string shown;  ///< the name and what is special: "slots, engine: threads"
  bool faulty;        ///< faults are among its options
  /// A new place.
  std::function<std::unique_ptr<StoragePlace>()> place;

  /// An instance over a place. A place may have several, one after the other or at a time if their contexts differ.
  std::shared_ptr<PageStorage> open(const StoragePlace& at, const PageStorage::Context& context) const;
};

/// Every storage under test in each way that is tried. One whose place cannot be made here is left out, and stderr says
/// so. A component with an option `path` gets a temporary folder. Options in $CANOPY_STORAGE_OPTIONS, such as
/// "at: cache-1:7001", are for those that Canopy knows no options of, and then only those are tried. One with an
/// option `at` needs them, since it needs a server. A Mismatch if nothing is left to be tried.
std::vector<StorageKind> storage_kinds();

}  // namespace canopy::test
