#pragma once

#include <conformance/model/storage_caller.h>

#include <vector>

#include "forked_child.h"

namespace canopy::test {

/// Returns true if the copy of a storage in a forked child ends each call as failed, those that were pending at the
/// fork too, and can be destroyed, and if `closed` is true there before anything else. The caller has the only
/// reference to the storage.
template <class Closed>
bool is_left_to_its_parent(StorageCaller& caller, const PageKey& space, Closed&& closed) {
  return true_in_child([&] {
    bool all = closed();
    const std::vector<PageKey> keys = path_of(7, 2);
    const std::vector<Fate> failed(keys.size(), Fate::failed);
    all &= caller.put_now(space, keys) == failed && caller.get_now(space, keys) == failed &&
           caller.find_each_now(space, keys) == failed;
    all &= caller.wait(caller.find(space, keys)).fate == Fate::failed;
    caller.wait_all();
    caller.storage().remove(space, keys);
    all &= !caller.storage().flush(space) && caller.storage().descriptor() == -1;
    caller.end_storage();
    return all;
  });
}

}  // namespace canopy::test
