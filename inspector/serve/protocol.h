#pragma once
/// The protocol between `canopy serve` and the inspector's page. This comment is its manual.
///
/// Over HTTP, GET and HEAD:
///   /, /page.js, ...   the files of the page. They hold no secret and need no token. A file that is kept compressed is
///                      sent with Content-Encoding: gzip; a client that does not accept gzip gets 406.
///   /recording         the recording, with the header `Authorization: Bearer TOKEN`; 404 unless a recording is served.
/// Every request needs a Host that is the server's own (host_check.h), otherwise 403.
///
/// The websocket /feed. Its handshake needs an Origin whose host and port equal those of Host, or no Origin at all (no
/// browser). Texts from the page:
///   hello TOKEN        the first message, within Limits::hello
///   attach NAME        watches the feed NAME instead of the last one; only if the server serves all feeds
/// Bytes from the page: exactly one Command, of kCommandBytes bytes in the byte order of this machine (little-endian).
/// Everything else closes the websocket.
///
/// Texts to the page are JSON objects, each known by its first key:
///   {"serves":"feeds"|"feed"|"recording"|"demo","name":NAME,"controls":BOOL,"version":TEXT}
///                      the answer to hello; "bytes" is the size of the recording. "controls" is true if the server
///                      passes commands to feeds that take them
///   {"feeds":[{"name","process","program","page_size","groups","controls","tokens","ended"}...]}
///                      all feeds of this user: at once if the server serves all feeds, and after each change. "ended"
///                      is the reason why a page cannot attach; empty: it can
///   {"attached":NAME}  a header follows, as bytes, then events from a keyframe on
///   {"lapped":true}    events were lost, because the page or the server was too slow. The next event begins a keyframe
///   {"gone":REASON}    there is no feed with the name, or it has ended. The server looks for it regularly; once it is
///                      there, {"attached":NAME} follows
///   {"error":SENTENCE} an attach failed; the page watches no feed
///   {"command":"accepted"|"busy"|"refused","why":SENTENCE}
///                      the answer to a command; commands are answered in their order. Busy: the engine has not read
///                      the last commands yet
/// A page that is attached to a single feed or the demo gets {"attached":...} without asking.
///
/// Bytes to the page: after {"attached":...} the header as in a recording, of FeedHeader::kBytes bytes; then events of
/// 32 bytes, at most kMostBytes in a message. A message ends with a Commit, except within an operation that is larger
/// than a message. The events are those of a recording that begins with a keyframe: a mirror takes them as they are.

#include <canopy/feed/header.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace canopy::inspector {

struct FoundFeed;  // sources/attachment.h

}  // namespace canopy::inspector

namespace canopy::inspector::protocol {

inline constexpr const char* kFeedPath = "/feed";
inline constexpr const char* kRecordingPath = "/recording";

inline constexpr std::size_t kCommandBytes = 56;
static_assert(sizeof(Command) == kCommandBytes);
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;  ///< bytes of a message to the page
/// Bytes of events that wait for a slow page, beside one keyframe. With more, the page is lapped.
inline constexpr std::size_t kMostWaiting = std::size_t{8} << 20;
/// Texts that wait for a page. With more, the websocket is closed: the page sends, and does not read the answers.
inline constexpr std::size_t kMostTexts = 64;

/// Times and numbers that a test shortens.
struct Limits {
  std::chrono::milliseconds hello{5000};          ///< from the handshake to hello
  std::chrono::milliseconds request{10000};       ///< from the first byte of a request to its last; between requests
  std::chrono::milliseconds idle{60000};          ///< without a message or a pong; a ping is sent after half of it
  std::chrono::milliseconds keyframe_each{1000};  ///< between two requests for a keyframe
  std::chrono::milliseconds look_each{500};       ///< between two looks for feeds
  std::size_t connections = 256;
};

/// Codes of a close frame (RFC 6455).
enum class CloseCode : std::uint16_t { unsupported = 1003, policy = 1008 };

/// The kinds of what a server serves.
enum class Serves : std::uint8_t { feeds, feed, recording, demo };

/// Facts of the answer to hello.
struct Welcome {
  Serves serves{};
  std::string name;
  bool controls = false;
  std::string version;
  std::optional<std::uint64_t> bytes{};  ///< size of the recording
};

// Texts to the page.
std::string welcome(const Welcome& welcome);
std::string feeds(std::span<const FoundFeed> found);
std::string attached(std::string_view name);
std::string lapped();
std::string gone(std::string_view reason);
std::string error(std::string_view sentence);
enum class Answer : std::uint8_t { accepted, busy, refused };
std::string answer(Answer answer, std::string_view why);

/// Returns the header that precedes the events, as in a recording of FeedHeader::kBytes bytes.
std::string header_bytes(const FeedShape& shape);

/// A text from the page.
struct PageText {
  enum class Kind : std::uint8_t { hello, attach, unknown };
  Kind kind = Kind::unknown;
  std::string_view rest;  ///< the token or the name; part of the text
};
PageText parse(std::string_view text);

/// Returns the reason why a feed with this header cannot take the command; empty if it can.
std::string flaw_of(const Command& command, const FeedShape& shape);

}  // namespace canopy::inspector::protocol
