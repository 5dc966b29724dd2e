/// The storage redis over a cluster of three masters and three replicas.
#include <canopy/base/random.h>
#include <redis/record_name.h>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "contract.h"
#include "server.h"
#include "storage.h"

using namespace canopy;
using namespace canopy::test;

namespace {

std::unique_ptr<StorageCaller> caller_of(const Cluster& cluster, std::uint64_t record_bytes = 8192) {
  return caller_at(cluster.addresses(), record_bytes, "cluster: true", 300);
}

/// A path whose first block lies on a node.
std::uint32_t path_on(std::size_t node, std::uint32_t from = 1) {
  while (Cluster::owner(redis::slot_of_home(blocks_of(from, 1)[0].placement())) != node) ++from;
  return from;
}
std::uint16_t slot_of(std::uint32_t path) { return redis::slot_of_home(blocks_of(path, 1)[0].placement()); }

void until_kept(StorageCaller& caller, const Keys& keys) {
  for (int i = 0; i < 1500; ++i) {
    if (count_of(caller.put_now(kSpace, keys), Fate::done) == keys.size()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(caller.find_now(kSpace, keys) == keys.size());
  CHECK(count_of(caller.get_now(kSpace, keys), Fate::done) == keys.size());
}

}  // namespace

// One case, since a cluster takes seconds to come together.
TEST_CASE("a cluster keeps blocks together, moves them, and loses what a server takes with it") {
  if (server_program().empty()) return;
  Cluster cluster;
  const auto caller = caller_of(cluster);
  const Keys keys = blocks_of(1, 300);

  // The map of the cluster is learned, and each block lies on one server.
  until_kept(*caller, keys);
  CHECK(caller_of(cluster)->find_now(kSpace, keys) == 300);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 3; ++i) kept += cluster.node(i).info("keyspace", "db0:keys=");
  CHECK(kept == 300 + 1);  // and the epoch of the space

  // A server that is not one of a cluster is not asked for others; one that is says so.
  {
    const CapturedStderr captured;
    const auto alone = caller_at(cluster.node(0).address());
    for (std::uint32_t path = 1; path < 12; ++path) alone->put_now(kSpace, blocks_of(path, 1));
    CHECK(captured.text().find("`cluster: true` is missing") != std::string::npos);
  }

  // A slot on its way: the server that gives it sends for what it has not got to the one that gets it.
  const std::uint32_t moving = path_on(0, 1000);
  const std::string slot = std::to_string(slot_of(moving));
  const Keys first = blocks_of(moving, 3);
  until_kept(*caller, first);
  cluster.node(1).say({"CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.id(0)});
  cluster.node(0).say({"CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id(1)});
  until_kept(*caller, blocks_of(moving, 8));
  CHECK(cluster.node(1).info("commandstats", "cmdstat_asking:calls=") > 0);
  caller->storage().remove(kSpace, first);
  CHECK(caller->find_now(kSpace, first) == 0);

  // Slots that change their owner again and again: every call ends, and in the end all is well.
  const std::uint32_t stormy = path_on(1, 2000);
  const auto maps = [&] {
    std::uint64_t requests = 0;
    for (std::size_t i = 0; i < 3; ++i)
      requests += cluster.node(i).info("commandstats", "cmdstat_cluster|slots:calls=");
    return requests;
  };
  const std::uint64_t maps_before = maps();
  const auto began = std::chrono::steady_clock::now();
  for (int round = 0; round < 6; ++round) {
    const std::string owner = cluster.id(round % 2 == 0 ? 2 : 1);
    for (std::size_t i = 0; i < 3; ++i)
      cluster.node(i).say({"CLUSTER", "SETSLOT", std::to_string(slot_of(stormy)), "NODE", owner});
    for (std::uint32_t page = 0; page < 4; ++page) {
      caller->put(kSpace, blocks_of(stormy, 4));
      caller->find(kSpace, blocks_of(stormy, 4));
      caller->wait_all();
    }
    caller->storage().remove(kSpace, blocks_of(stormy, 4));
    caller->find_now(kSpace, blocks_of(stormy, 4));
  }
  until_kept(*caller, blocks_of(stormy, 4));
  // The map was not asked for more than once a second.
  const auto passed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  CHECK(maps() - maps_before <= static_cast<std::uint64_t>(passed.count()) + 2);

  // A master is killed. What others have is there at once; what it had comes back with its replica.
  const std::uint32_t lost = path_on(2, 3000), safe = path_on(0, 3000);
  until_kept(*caller, blocks_of(lost, 64));
  until_kept(*caller, blocks_of(safe, 64));
  const std::string synced = "master_repl_offset:";
  for (int i = 0; i < 500 && cluster.node(5).info("replication", synced) < cluster.node(2).info("replication", synced);
       ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  cluster.node(2).kill();
  CHECK(count_of(caller->get_now(kSpace, blocks_of(lost, 1)), Fate::done) == 0);
  CHECK(count_of(caller->get_now(kSpace, blocks_of(safe, 64)), Fate::done) == 64);
  for (int i = 0; i < 1500 && caller->find_now(kSpace, blocks_of(lost, 64)) < 64; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(count_of(caller->get_now(kSpace, blocks_of(lost, 64)), Fate::done) == 64);
  until_kept(*caller, blocks_of(lost, 100));

  // The whole contract, with a server missing.
  check_contract("at: '" + cluster.addresses() + "', cluster: true");
}
