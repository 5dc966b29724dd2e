#include "ranks.h"

#include <algorithm>
#include <exception>
#include <thread>

#include <program/mismatch.h>

namespace canopy::check {

namespace {

/// The agreement of a rank, whose own memory is not refused. Before an exchange it notes whether the rank's was: the
/// others may then report that the ranks disagree.
class Member final : public Agreement {
 public:
  Member(Agreement& agreement, const Subject* const& subject, std::atomic<bool>& lacks)
      : agreement_(agreement), subject_(subject), lacks_(lacks) {}
  const char* least(std::span<std::int64_t> values) override {
    const Scarcity::Pause ours;
    if (subject_ && subject_->faults.scarcity.refused() > 0) lacks_ = true;
    return agreement_.least(values);
  }

 private:
  Agreement& agreement_;
  const Subject* const& subject_;  ///< null until it is made
  std::atomic<bool>& lacks_;
};

}  // namespace

Ranks::~Ranks() = default;

Result<std::unique_ptr<Ranks>> Ranks::create(const std::string& engine, unsigned ranks, const Registry& registry) {
  auto all = std::make_unique<Ranks>();
  all->meeting_ = std::make_unique<RankMeeting>(ranks);
  for (unsigned rank = 0; rank < ranks; ++rank) {
    const Subject*& member = all->members_.emplace_back();
    all->agreements_.push_back(std::make_unique<Member>(all->meeting_->of(rank), member, all->lacks_));
    auto subject = Subject::create(engine, registry, rank, ranks, ranks > 1 ? all->agreements_.back().get() : nullptr);
    if (!subject) return subject.error();
    all->trials_.push_back(std::make_unique<Trial>(**subject, registry, rank));
    all->trials_.back()->beside(all->lacks_);
    member = subject->get();
    all->subjects_.push_back(std::move(*subject));
  }
  return all;
}

/// Calls work(trial) for each rank; at the same time if they may meet. Throws what the first of them throws.
template <class Work>
void Ranks::each(bool may_meet, Work&& work) {
  if (trials_.size() == 1) return work(*trials_[0]);
  std::vector<std::exception_ptr> thrown(trials_.size());
  const auto run = [&](std::size_t rank) {
    try {
      work(*trials_[rank]);
    } catch (...) {
      thrown[rank] = std::current_exception();
    }
    if (may_meet) meeting_->leave();
  };
  meeting_->begin();
  std::vector<std::jthread> others;
  for (std::size_t rank = 1; may_meet && rank < trials_.size(); ++rank) others.emplace_back(run, rank);
  run(0);
  others.clear();
  for (std::size_t rank = 1; !may_meet && rank < trials_.size(); ++rank) run(rank);
  for (const auto& one : thrown)
    if (one) std::rethrow_exception(one);
}

void Ranks::apply(const Operation& operation) {
  const Verb verb = operation.verb;
  const bool may_meet =
      verb == Verb::turn || verb == Verb::bring || verb == Verb::reopen ||
      std::ranges::any_of(subjects_, [](const auto& one) { return one->faults.lies_in > 0 || one->faults.lied; });
  each(may_meet, [&](Trial& trial) { trial.apply(operation); });
  compare("an operation");
}

void Ranks::finish() {
  each(true, [](Trial& trial) { trial.finish(); });
  compare("the end");
}

void Ranks::compare(const char* after) const {
  // If one rank lacked memory, each may stop at another turn.
  if (std::ranges::any_of(trials_, [](const auto& trial) { return trial->may_part(); })) return;
  const Trial& first = *trials_[0];
  for (std::size_t rank = 1; rank < trials_.size(); ++rank) {
    const Trial& other = *trials_[rank];
    if (first.over() || other.over()) continue;
    if (first.engine().digest() != other.engine().digest() ||
        first.engine().live_requests() != other.engine().live_requests())
      test::disagree("after {}: the engines of ranks 0 and {} have made different decisions", after, rank);
    const auto ours = first.engine().tenants(), theirs = other.engine().tenants();
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
      if (ours[i].kept != theirs[i].kept || ours[i].locked != theirs[i].locked)
        test::disagree("after {}: tenant '{}' keeps {} tokens on rank 0, and {} on rank {}", after, ours[i].name,
                       ours[i].kept, theirs[i].kept, rank);
  }
}

}  // namespace canopy::check
