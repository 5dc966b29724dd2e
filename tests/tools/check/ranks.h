#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <tiers/ranks.h>
#include "subject.h"
#include "trial.h"

namespace canopy::check {

/// The engines of all ranks of a model, each with its trial, under the same operations. After each operation all
/// have to be equal. Each rank runs in a thread of its own while an operation may let time pass.
class Ranks {
 public:
  static Result<std::unique_ptr<Ranks>> create(const std::string& engine, unsigned ranks, const Registry& registry);
  ~Ranks();

  /// Runs an operation on all ranks, and checks that they agree. Throws a test::Mismatch.
  void apply(const Operation& operation);
  void finish();

  const Trial& first() const { return *trials_[0]; }
  const Subject& subject() const { return *subjects_[0]; }

 private:
  template <class Work>
  void each(bool may_meet, Work&& work);
  void compare(const char* after) const;

  std::unique_ptr<RankMeeting> meeting_;
  std::atomic<bool> lacks_ = false;                     ///< true once a rank was refused memory
  std::deque<const Subject*> members_;                  ///< by rank; keeps its addresses
  std::vector<std::unique_ptr<Agreement>> agreements_;  ///< outlive the engines
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::vector<std::unique_ptr<Trial>> trials_;
};

}  // namespace canopy::check
