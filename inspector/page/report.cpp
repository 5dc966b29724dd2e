#include "report.h"

#include <fmt/format.h>
#include <mirror/clean_text.h>
#include <mirror/feed_lines.h>

#include <iterator>

namespace canopy::inspector {
namespace {

constexpr const char* name_of(Session::State state) {
  switch (state) {
    case Session::State::choosing:
      return "choosing";
    case Session::State::attaching:
      return "attaching";
    case Session::State::live:
      return "live";
    case Session::State::gone:
      return "gone";
    case Session::State::recording:
      return "recording";
  }
  return "";
}

}  // namespace

std::string report_of(const App& app) {
  std::string lines;
  const auto add = [&](const char* key, const auto& value) {
    fmt::format_to(std::back_inserter(lines), "{}\t{}\n", key, value);
  };
  const Session& session = app.session();
  const Mirror& mirror = app.mirror();
  add("state", app.picker() ? "choosing" : name_of(session.state));
  add("name", clean_text(session.name));
  add("server_gone", static_cast<int>(session.server_gone));
  add("detail", clean_text(session.detail));
  add("loading", static_cast<int>(app.loading()));
  add("done", session.done);
  add("laps", session.laps);
  add("again", session.again);
  add("commits", mirror.commits());
  add("end", app.time().end);
  add("at", app.time().at), add("held", static_cast<int>(app.time().held)), add("first", app.time().first);
  add("drift", mirror.drift());
  add("doubts", session.doubts.size() + mirror.doubts().size());
  add("nodes", mirror.node_count());
  add("servers_lost", servers_lost(mirror.workers()));
  add("requests", mirror.requests().size());
  add("prompt_tokens", mirror.prompt_tokens());
  add("hit_tokens", mirror.hit_tokens());
  if (mirror.groups() != 0) {
    const MirrorPool::Sums& pages = mirror.pool(0).counted;
    add("free_pages", pages.free), add("evictable_pages", pages.evictable);
    add("protected_pages", pages.protected_), add("owned_pages", pages.owned);
  }
  add("beside", app.time().other ? clean_text(app.time().other->name) : std::string());
  add("node", app.selection().node);
  add("request", app.selection().request);
  add("tab", app.front_tab());
  add("panel", app.full_window() ? std::string(1, app.full_window()) : std::string());
  add("range", app.time().range.commits());
  add("notes", app.time().notes.all().size());
  add("paused", static_cast<int>(app.mailbox().paused));
  return lines;
}

}  // namespace canopy::inspector
