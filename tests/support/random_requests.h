#pragma once

#include <canopy/engine/engine.h>
#include <canopy/loading/registry.h>
#include <canopy/support/random.h>
#include <replay/content.h>

#include <map>
#include <string>
#include <vector>

namespace canopy::test {

/// What a program of random requests reached. A program that never ran out of pages proves nothing about running out.
struct Reached {
  std::uint64_t requests = 0, hits = 0, repointed = 0, evictions = 0, refused = 0, retracted = 0, resumed_on_pages = 0,
                passed_pages = 0, finished = 0, aborted = 0, promises = 0, gaps = 0, flushed = 0, resized = 0,
                drained = 0, blocked = 0;
  void add(const Reached& other);
};

/// Runs requests as a server does, but in random order: chunks, decoding, retraction, abort at any step, and between
/// them flushes, other policies and other limits. Checks the ledger after every operation and the bytes of every reused
/// token. Compares each match with a walk over the whole index, and each admission with what happens then. A Mismatch
/// says what differs.
class RandomRequests {
 public:
  RandomRequests(Engine& engine, const Registry& registry, std::uint64_t seed, std::uint32_t spaces,
                 bool inserts_at_finish = true, bool resizes = false);

  void run(std::size_t operations);
  /// Ends all requests and empties the index by flushing: every page must come back.
  void finish();

  const Reached& reached() const { return reached_; }

 private:
  struct Live {
    Request request;
    replay::Trail trail;
    NamespaceId space;
    bool aside = false;
  };
  using Lives = std::map<std::uint64_t, Live>;

  Lives::iterator any();
  std::vector<Token> random_prompt();
  Lives::iterator begin(const RequestSpec& arrival);
  void begin();
  void promised();
  bool step(Live& live, std::uint32_t chunk, bool commits);
  void step();
  void finish(Lives::iterator at);
  void abort(Lives::iterator at);
  void retract(Lives::iterator at);
  void resume(Live& live);
  void flush();
  void other_policy();
  void resize();
  void everything_leaves();
  std::uint64_t may_have(std::size_t group) const;
  void check(const char* after);

  std::uint32_t resident(std::span<const Token> tokens, NamespaceId space) const;

  Engine& engine_;
  const Registry& registry_;
  Random random_;
  bool inserts_at_finish_, resizes_;
  std::vector<NamespaceId> spaces_;
  replay::Content content_;
  Lives live_;
  std::vector<std::vector<Token>> history_;
  std::uint64_t next_ = 1, operations_ = 0;
  Reached reached_;
};

}  // namespace canopy::test
