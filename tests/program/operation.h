#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The language of test programs: operations, one a line. Three runners follow them and check what they lead to: World
/// (conformance/model) drives an index beside a model, RequestWorld (support) the requests of a scenario, and Trial
/// (tools/check) a whole engine.
///
/// An operation on a lock, a request or pages that do not exist does nothing, so that any part of a program is a
/// program; in a scenario it is a mistake.
namespace canopy::program {

/// On an index with locks:
///
///   match as=a in=1 1 2 3 4             # `as`: the lock's name; `in`: the namespace
///   insert as=b below=a chunked 1..8    # continues from a lock, which it replaces; `chunked`: counts as no new use
///   insert window.from=4 1..8           # brings pages of the group only from this depth on
///   release a finished                  # `finished`: what policies learn of the end
///   relax a window 6                    # the lock holds pages of the group only from this depth on
///   find as=f 1 2    hold f as=c        # a result, and a lock on it later
///   keep a    unkeep a                  # counts the path of a lock as kept
///   peek 1 2
///   evict window 2 of=2 most=3          # pages of a group; of a tenant, at most so many
///   own window 3 as=p    drop p         # pages of a request that are in no index; it gives them back
///   remap window 2                      # relocates pages that no lock holds
///   flush in=1    clear
///   assign in=1 of=2                    # a namespace to a tenant
///   policy window of=2 to=fifo          # another policy for a group, or a tenant; without `to`: a new one of the same
///   name state    tree                       # checks and answers everything; the shape
///
/// On an engine with requests:
///
///   begin a in=1 priority=2 leave=0 0 1 2   # a request with its prompt; `leave`: tokens that it must compute, else 1
///   begin b keep=2 us=50 0 1 2              # its first 2 tokens are to stay for 50 us after its end
///   reserve a 9 soon=4      # pages for its first 9 tokens, in groups with a reach only for the first 4
///   append a 0 1            # more tokens
///   advance a 4             # its first 4 tokens are computed; without a number: all
///   commit a 8              # the same, and the whole pages of them become reusable
///   finish a 9              # its end; `finish a 0`: nothing new becomes reusable
///   rematch a               # it takes over what others have committed since
///   abort a    retract a    resume a
///   row a                   # answers its pages
///   serve in=1 output=5 chunk=2 commits 0 1 2   # a whole request, if the engine admits it now
///   admits output=4 chunk=2 0 1 2               # whether it does
///   room full 6             # evicts until 6 pages are free
///   flush in=1    policy full to=slru
///   resize full 40          # another limit for its pool, in pages, or `unlimited`
///   pin 4    unpin 0        # the 4th node of a walk, the oldest pin
///   poll
///   fetch a in=1 0 1 2      # copies what a tier below has for a request that begins later
///   turn 500                # 500 microseconds later: copies that have ended become visible
///   bring in=1 0 1 2        # ends all requests; then what the storage says it has of a prompt has to come
///   share ax 40 pins=16 ceiling=90   # another share for a tenant; 40: its floor, in tokens
///   flush_unknown           # a namespace that no call of intern() returned
///   reopen hash_chain       # ends the engine; another one, with this index, has the same storage from then on
///   fork                    # a child destroys its copy of the engine, and stays until the engine ends
///
/// On the components around those of the engine, and its memory (tools/check/faulty.h):
///
///   refuse_pages full 2     # the second allocation from now in the group finds no page
///   refuse_memory full 1    # the next segment of the group's store finds no memory
///   refuse_insert 3         # the third insert from now stores nothing, as without memory
///   refuse_remap 1          # the next relocation is not possible, for want of memory
///   refuse_new 40 times=3   # the 40th allocation of the engine from now and the next two find no memory
///   lie twice full 1        # a component lies once. The program must end with a violation
enum class Verb : std::uint8_t {
  // clang-format off
  match, insert, release, relax, find, hold, keep, unkeep, own, drop, evict, remap, clear, assign,
  peek, state, tree, flush, policy,
  begin, serve, admits, reserve, append, advance, commit, rematch, finish, abort, retract, resume, row,
  room, resize, pin, unpin, poll, fetch, turn, bring, share, flush_unknown, reopen, fork,
  refuse_pages, refuse_memory, refuse_insert, refuse_remap, refuse_new, lie,
  // clang-format on
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::lie) + 1;

/// Those that follow programs; each knows some of the verbs.
enum class Runner : std::uint8_t { index = 1, requests = 2, engine = 4 };

struct Operation {
  Verb verb{};
  /// Name of a request, a lock, pages or a tenant. Of `insert`: the lock to continue from; of `reopen`: an index; of
  /// `lie`: a lie.
  std::string name;
  std::string as;     ///< name of the lock, pages or result that it makes
  std::string group;  ///< empty: the first group
  std::string to;     ///< name of a policy
  NamespaceId space{};
  std::optional<std::uint64_t> count;         ///< number of a line: tokens, pages, calls, the place of a node
  std::map<std::string, std::uint32_t> from;  ///< depth from which pages of a group are brought; others: all
  std::optional<TenantId> of;
  std::optional<std::uint32_t> most;
  std::int32_t priority = 0;
  bool chunked = false, finished = false, commits = false;
  std::optional<std::uint32_t> leave;
  std::uint32_t output = 0, chunk = 0, soon = 0;  ///< tokens
  std::uint32_t keep = 0;                         ///< tokens to retain
  std::uint64_t us = 0;                           ///< microseconds for which they are to stay
  std::uint32_t pins = 0, ceiling = 0;            ///< values of a share; ceiling 0: none
  std::uint32_t times = 0;
  std::vector<std::uint32_t> words;  ///< words of a key, or tokens of a request

  std::uint64_t number() const { return count.value_or(0); }
  friend bool operator==(const Operation&, const Operation&) = default;
};

/// Returns true if a verb has the name of a group in its line.
bool takes_group(Verb verb);
/// Returns the least number of words that a verb takes.
std::size_t least_words(Verb verb);

/// Returns the operation as a line, which operation_of() reads back.
std::string text_of(const Operation& operation);
/// Parses a line. "5..8" stands for the words 5 6 7 8. Throws a Mismatch with the reason if it cannot, or if the runner
/// does not know the verb.
Operation operation_of(std::string_view line, Runner runner);

/// Returns the operation in smaller forms: each without one of its settings, or with half its number.
std::vector<Operation> smaller(const Operation& operation);

}  // namespace canopy::program
