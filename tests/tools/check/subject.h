#pragma once

#include <canopy/base/temporary_folder.h>
#include <canopy/engine/engine.h>

#include <memory>
#include <optional>
#include <string>

#include "faulty.h"

namespace canopy::check {

/// An engine among components that can fail, and what outlives it: the next engine gets the same storage.
class Subject {
 public:
  /// Creates the engine of a file's text. An error ends with the text. `agreement`: of the ranks; may be null (one).
  static Result<std::unique_ptr<Subject>> create(const std::string& text, const Registry& registry, unsigned rank = 0,
                                                 unsigned ranks = 1, Agreement* agreement = nullptr);

  /// Ends the engine, and creates another one with this index; with that of before if the engine refuses it.
  Result<std::monostate> reopen(const std::string& index, const Registry& registry);
  /// Returns true if the storage is one that neither loses nor refuses records.
  bool sound() const { return sound_; }

  Engine& engine() { return *engine_; }
  /// Destroys the engine.
  void end() { engine_.reset(); }
  const EngineConfig& config() const { return config_; }
  Faults faults;

 private:
  std::optional<TemporaryFolder> folder_;
  EngineConfig config_;
  Agreement* agreement_ = nullptr;
  bool sound_ = false;
  std::unique_ptr<Engine> engine_;
};

}  // namespace canopy::check
