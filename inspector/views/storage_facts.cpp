#include "storage_facts.h"

#include <canopy/support/figures.h>
#include <fmt/format.h>
#include <mirror/tier_words.h>

#include <string>

#include "draw.h"

namespace canopy::inspector {
namespace {

void lane(const char* name, const MirrorStorage::Lane& lane, bool carries_bytes) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  text(name, lane.queue.on_way != 0 ? palette().text : palette().dim);
  ImGui::TableNextColumn();
  number(grouped(lane.queue.on_way));
  explain("Calls that have begun and not ended.");
  ImGui::TableNextColumn();
  number(carries_bytes ? bytes(lane.queue.on_way_bytes) : "");
  ImGui::TableNextColumn();
  number(lane.queue.calls == 0 ? "" : call_words(lane.speed));
  explain("What a call takes lately: a mean in which old ones count for less and less.");
  ImGui::TableNextColumn();
  number(carries_bytes && lane.speed.bytes_per_second != 0 ? bytes(lane.speed.bytes_per_second) : "");
  explain("Over the last seconds in which calls were on their way.");
  ImGui::TableNextColumn();
  number(carries_bytes ? bytes(lane.queue.bytes) : plural(lane.queue.calls, "call"));
  explain(plural(lane.queue.calls, "call") + " have ended.");
}

}  // namespace

void storage_lanes(const Mirror& mirror) {
  const MirrorStorage* const storage = mirror.storage();
  if (!storage) return;
  lane("asks storage", storage->lane(StorageLane::find), false);
  lane("from storage", storage->lane(StorageLane::get), true);
  lane("to storage", storage->lane(StorageLane::put), true);
}

void storage_facts(const Mirror& mirror, float column) {
  const MirrorStorage* const storage = mirror.storage();
  if (!storage) return;
  const event::StorageHealth& health = storage->health;
  const ImU32 colour = health.state == StorageState::closed ? palette().good
                       : health.state == StorageState::open ? palette().bad
                                                            : palette().warn;
  ImGui::Spacing();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float radius = em() * 0.25F;
  fact("storage", "    " + storage->name + ", " + breaker_words(health, mirror.tier().store.now.now_us), column);
  ImGui::GetWindowDrawList()->AddCircleFilled({at.x + em() * (column + 0.4F), at.y + em() * 0.55F}, radius, colour);
  explain("After five calls that fail or are late, none is made for a while, which doubles up to 1.5 s.");
  if (storage->ranks) fact("ranks", ranks_words(*storage->ranks), column);
  fact("keeps", room_words(storage->room), column);
  fact("records",
       fmt::format("got: {}; put: {}", counted_words(storage->lane(StorageLane::get).fates.by_fate, kFateWords),
                   counted_words(storage->lane(StorageLane::put).fates.by_fate, kFateWords)),
       column);
  fact("brought", counted_words(storage->brings, kBringWords), column);
  fact("found", plural(storage->moved.hits, "token") + " that the storage had", column);
  const event::StorageLost& lost = storage->lost;
  fact("not kept",
       fmt::format("{} refused, {} not put, {} damaged", brief(static_cast<double>(lost.unkept)),
                   brief(static_cast<double>(lost.dropped)), plural(lost.damaged, "record")),
       column);
  if (health.held_bytes + health.lost_bytes != 0)
    fact("quarantine",
         fmt::format("{} wait for calls that were given up, {} are lost", bytes(health.held_bytes),
                     bytes(health.lost_bytes)),
         column);
}

}  // namespace canopy::inspector
