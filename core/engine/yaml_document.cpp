#include <canopy/yaml_document.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <system_error>

namespace canopy {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 10'000;
/// yaml-cpp reads to the end of a `[` or `"` before it tells of the first value in it. This is how far it may
/// look ahead of what it has told, so that every bomb goes off after a few milliseconds.
constexpr std::size_t kMaxAhead = std::size_t{32} << 10;

struct Refused {
  std::size_t at;  ///< byte of the text
  std::string why;
};

/// From bytes to lines and columns. Remembers the last place, because places are asked for in order.
class Places {
 public:
  Places(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Mark mark(std::size_t at) {
    at = std::min(at, text_.size());
    if (at < at_) at_ = 0, line_ = 1, column_ = 1;
    for (; at_ < at; ++at_) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '\n') ++line_, column_ = 1;
      else if ((byte & 0xC0) != 0x80) ++column_;
    }
    return {source_, line_, column_};
  }

 private:
  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

/// Bytes of the well-formed UTF-8 sequence at the start of a text, 0 if there is none. Neither surrogates nor
/// detours: those are how forbidden characters get past a check.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(1)) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) {
    const bool detour = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second >= 0xA0;
    return detour || surrogate || !continues(2) ? 0 : 3;
  }
  const bool detour = first == 0xF0 && second < 0x90, too_high = first == 0xF4 && second >= 0x90;
  return detour || too_high || !continues(2) || !continues(3) ? 0 : 4;
}

/// What yaml-cpp would pass over in silence or stumble on with a misleading message.
void check_characters(std::string_view text) {
  bool indenting = true;
  std::size_t tab = text.size();  // the line's first; none yet
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (!indenting && byte >= 0x20 && byte < 0x7F) {
      ++at;
      continue;
    }
    if (c == '\0') throw Refused{at, "a NUL byte; expected a text file"};
    const bool line_end = c == '\n' || (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if ((byte < 0x20 && c != '\t' && !line_end) || byte == 0x7F)
      throw Refused{at, fmt::format("the control character 0x{:02X} cannot stand in a text file", byte)};
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0)
      throw Refused{at, fmt::format("the byte 0x{:02X} is not UTF-8 here; save the file as UTF-8", byte)};
    if (line_end) {
      indenting = true;
      tab = text.size();
    } else if (indenting && c == '\t') {
      tab = std::min(tab, at);
    } else if (indenting && c != ' ') {
      if (tab < at && c != '#') throw Refused{tab, "a tab in the indentation; YAML is indented with spaces"};
      indenting = false;
    }
    at += length;
  }
}

/// One past the quote that closes the one at `at`, or nothing if its line ends first.
std::optional<std::size_t> quote_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    const bool pair = at + 1 < text.size() && text[at + 1] != '\n' &&
                      (quote == '"' ? text[at] == '\\' : text[at] == '\'' && text[at + 1] == '\'');
    if (pair) ++at;
    else if (text[at] == quote) return at + 1;
  }
  return {};
}

constexpr const char* kUnclosed = "the quote that opens here is not closed on its line";

/// For a text that is already known to be wrong: the first quote before `end` that opens a value and is not closed
/// on its line, or else the innermost bracket that is never closed. Does not know about block scalars, so it
/// only guesses; but yaml-cpp names the place where it gave up, which may be a page below the cause.
std::optional<Refused> likely_cause(std::string_view text, std::size_t end) {
  std::vector<std::size_t> brackets;
  char before = '\n';  // the last character that is no blank
  bool blank = true;   // whether blanks, or nothing, follow it
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#' && blank) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const bool in_flow = std::strchr("[{,", before) != nullptr, after = std::strchr(":-?", before) != nullptr;
    const bool begins_value = before == '\n' || in_flow || (after && blank);
    if ((c == '"' || c == '\'') && begins_value) {
      const auto closed = quote_end(text, at);
      if (!closed && at <= end) return Refused{at, kUnclosed};
      at = closed.value_or(at + 1), before = c, blank = false;
      continue;
    }
    if ((c == '[' || c == '{') && begins_value) brackets.push_back(at);
    if ((c == ']' || c == '}') && !brackets.empty()) {
      if ((c == ']') != (text[brackets.back()] == '[')) break;
      brackets.pop_back();
    }
    blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!blank || (c == '\n' && brackets.empty())) before = c;
    ++at;
  }
  if (brackets.empty()) return {};
  return Refused{brackets.back(), fmt::format("the '{}' that opens here is not closed", text[brackets.back()])};
}

/// yaml-cpp's complaint in words for somebody who wrote a file, not a parser.
std::string in_plain_words(const std::string& said) {
  static constexpr std::array<std::pair<const char*, const char*>, 16> kWords{{
      {"illegal EOF in scalar", "the text ends inside a quoted value"},
      {"end of sequence flow", "expected ',' or ']': a [list] is not closed, or its items are not separated"},
      {"end of map flow", "expected ',' or '}': a {map} is not closed, or its entries are not separated"},
      {"end of sequence", "expected '- ' or less indentation: this does not continue the list above"},
      {"end of map", "expected a key: this does not continue the map above; check the indentation"},
      {"illegal map value", "a ':' that makes no key and value here; check the indentation, or quote the text"},
      {"illegal map key", "a key cannot stand here; check the indentation"},
      {"illegal block entry", "a '- ' cannot stand here; check the indentation"},
      {"illegal flow end", "a ']' or '}' that closes nothing"},
      {"illegal tab", "a tab where YAML wants spaces"},
      {"unknown token", "a value cannot begin with this character; quote it"},
      {"unknown escape", "no such escape in double quotes; single quotes take a backslash as it is"},
      {"alias", "aliases (*name) are not allowed; write the value out"},
      {"referenced anchor", "aliases (*name) are not allowed; write the value out"},
      {"anchor", "anchors (&name) are not allowed; write the value out"},
      {"tag", "tags (!name) are not allowed; leave it away"},
  }};
  for (const auto& [theirs, ours] : kWords)
    if (said.find(theirs) != std::string::npos) return ours;
  return "this is not YAML: " + said;
}

/// The text as yaml-cpp gets it: in bites, and never kMaxAhead past what it has told of.
class Bites final : public std::streambuf {
 public:
  explicit Bites(std::string_view text) : text_(text) {}
  void told(std::size_t at) { told_ = std::max(told_, at); }
  void check() const {
    if (starved_)
      throw Refused{told_,
                    fmt::format("what follows is longer than {} KiB, as no value, [list], {{map}} or comment may be",
                                kMaxAhead >> 10)};
  }

 protected:
  int_type underflow() override {
    const std::size_t count =
        std::min({bite_.size(), text_.size() - next_, told_ + kMaxAhead - std::min(next_, told_ + kMaxAhead)});
    if (count == 0) {
      starved_ = next_ < text_.size();
      return traits_type::eof();
    }
    text_.copy(bite_.data(), count, next_);
    next_ += count;
    setg(bite_.data(), bite_.data(), bite_.data() + count);
    return traits_type::to_int_type(bite_[0]);
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0, told_ = 0;
  bool starved_ = false;
  std::array<char, 2048> bite_;
};

/// Builds the tree from what yaml-cpp tells, and refuses what a configuration has no use for.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, Places& places, Bites& bites) : text_(text), places_(places), bites_(bites) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    const std::size_t at = come_to(mark);
    if (documents_++ == 0) return;
    throw Refused{at, text_.substr(at).starts_with("---") ? "a second document begins here; a file has one"
                                                          : "expected the end of the file behind its one value"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t at = come_to(mark);
    refuse_extras(at, "?", anchor);
    YamlNode node;
    for (const std::string_view word : {"~", "null", "Null", "NULL"})
      if (text_.substr(at).starts_with(word)) node.scalar = word;
    add(std::move(node), at);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const std::size_t at = come_to(mark);
    refuse_extras(at, tag, anchor);
    if (const char first = at < text_.size() ? text_[at] : '\n'; first == '"' || first == '\'')
      if (!quote_end(text_, at)) throw Refused{at, kUnclosed};
    if (value.find('\0') != std::string::npos) throw Refused{at, "a NUL, even an escaped one, cannot stand in a value"};
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.scalar = value;
    node.quoted = tag == "!";
    add(std::move(node), at);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{come_to(mark), in_plain_words("alias")};
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::sequence, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  ///< read, and its value is not
    std::map<std::string, Mark, std::less<>> keys;
    std::size_t at;
  };

  std::size_t come_to(const YAML::Mark& mark) {
    bites_.check();
    const std::size_t at = mark.pos < 0 ? text_.size() : std::min(static_cast<std::size_t>(mark.pos), text_.size());
    bites_.told(at);
    return at;
  }
  void refuse_extras(std::size_t at, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) throw Refused{at, in_plain_words("anchor")};
    const bool tagged = (!tag.empty() && tag != "?" && tag != "!") || (at < text_.size() && text_[at] == '!');
    if (tagged) throw Refused{at, in_plain_words("tag")};
  }
  bool wants_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().key;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const std::size_t at = come_to(mark);
    refuse_extras(at, tag, anchor);
    if (wants_key())  // or so yaml-cpp takes a bracket that is not closed
      throw likely_cause(text_, at).value_or(Refused{at, "a list or a map cannot be a key; expected a name"});
    if (open_.size() == kMaxDepth) throw Refused{at, fmt::format("more than {} levels of lists and maps", kMaxDepth)};
    count(at);
    YamlNode node;
    node.kind = kind;
    node.mark = places_.mark(at);
    open_.push_back({std::move(node), {}, {}, at});
  }
  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    put(std::move(node));
  }
  void add(YamlNode node, std::size_t at) {
    node.mark = places_.mark(at);
    if (wants_key()) return add_key(std::move(node), at);
    count(at);
    const bool unwritten = node.kind == YamlNode::Kind::null && node.scalar.empty();
    if (unwritten && !open_.empty() && open_.back().key) node.mark = open_.back().key->mark;
    put(std::move(node));
  }
  void add_key(YamlNode key, std::size_t at) {
    if (key.kind == YamlNode::Kind::null && (key.scalar.empty() || key.scalar == "~"))
      throw Refused{at, "a key is missing; expected a name in front of the ':'"};
    key.kind = YamlNode::Kind::scalar;
    if (key.scalar == "<<" && !key.quoted) throw Refused{at, "merge keys (<<) are not allowed; write the values out"};
    const auto [first, is_new] = open_.back().keys.emplace(key.scalar, key.mark);
    if (!is_new)
      throw Refused{at, fmt::format("the key {} is here a second time; the first is at {}", in_quotes(key.scalar),
                                    first->second.text())};
    open_.back().key = std::move(key);
  }
  void put(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Open& parent = open_.back(); parent.node.kind == YamlNode::Kind::map) {
      parent.node.entries.emplace_back(*std::move(parent.key), std::move(node));
      parent.key.reset();
    } else {
      parent.node.items.push_back(std::move(node));
    }
  }
  void count(std::size_t at) {
    if (++values_ > kMaxValues) throw Refused{at, fmt::format("more than {} values", kMaxValues)};
  }

  std::string_view text_;
  Places& places_;
  Bites& bites_;
  std::vector<Open> open_;
  YamlNode root_;
  std::size_t documents_ = 0, values_ = 0;
};

YamlNode build(std::string_view text, Places& places) {
  if (text.size() > kMaxBytes)
    throw Refused{kMaxBytes, fmt::format("the text goes on behind 1 MiB; it has {} bytes", text.size())};
  check_characters(text);
  Bites bites(text);
  std::istream stream(&bites);
  Builder builder(text, places, bites);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    bites.check();
    const std::size_t at = error.mark.pos < 0 ? text.size() : static_cast<std::size_t>(error.mark.pos);
    if (const auto cause = likely_cause(text, at)) throw *cause;
    throw Refused{at, in_plain_words(error.msg)};
  }
  bites.check();
  YamlNode root = builder.take();
  if (root.mark.line == 0) root.mark = places.mark(0);
  return root;
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
}

/// Where a value stands that a file does not have: everything in it came with the assignment.
std::size_t mark_all(YamlNode& node, const Mark& mark) {
  std::size_t depth = 0;
  node.mark = mark;
  for (YamlNode& item : node.items) depth = std::max(depth, mark_all(item, mark));
  for (auto& [key, value] : node.entries) {
    key.mark = mark;
    depth = std::max(depth, mark_all(value, mark));
  }
  return depth + (node.kind == YamlNode::Kind::sequence || node.kind == YamlNode::Kind::map);
}

/// The value that `step` leads to, made where it is missing; null and a reason where there can be none.
YamlNode* descend(YamlNode& node, std::string_view step, const Mark& mark, std::string& why) {
  if (node.kind == YamlNode::Kind::sequence) {
    std::size_t index = 0;
    const auto [end, failed] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (failed == std::errc{} && end == step.data() + step.size() && index < node.items.size())
      return &node.items[index];
    why = fmt::format("{} is no place in the list of {} at {}; the first is 0", in_quotes(step), node.items.size(),
                      node.mark.text());
    return nullptr;
  }
  if (node.kind == YamlNode::Kind::scalar && !is_name(node.scalar)) {
    why = fmt::format("there is no {} in {}, the value at {}; set that as a whole", in_quotes(step),
                      in_quotes(node.scalar), node.mark.text());
    return nullptr;
  }
  if (node.kind != YamlNode::Kind::map) {
    node = YamlNode{};
    node.kind = YamlNode::Kind::map;
    node.mark = mark;
  }
  if (YamlNode* found = node.find(step)) return found;
  YamlNode key;
  key.kind = YamlNode::Kind::scalar;
  key.scalar = step;
  key.mark = mark;
  YamlNode nothing;
  nothing.mark = mark;
  node.entries.emplace_back(std::move(key), std::move(nothing));
  return &node.entries.back().second;
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

std::string Mark::text() const { return line == 0 ? source : fmt::format("{}:{}:{}", source, line, column); }

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first.scalar == key; });
  return found == entries.end() ? nullptr : &found->second;
}

YamlNode* YamlNode::find(std::string_view key) { return const_cast<YamlNode*>(std::as_const(*this).find(key)); }

Result<YamlNode> parse_yaml(std::string_view text, const std::string& source) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Places places(text, source);
  try {
    return build(text, places);
  } catch (const Refused& refused) {
    return Error{fmt::format("{}: {}", places.mark(refused.at).text(), refused.why)};
  }
}

Result<YamlNode> parse_yaml_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) { return Error{fmt::format("{}: {}", path, why)}; };
  const auto refused = [&] { return cannot("cannot be read: " + std::generic_category().message(errno)); };
  struct stat facts{};
  // Asked before opening, because opening a device can already do something.
  if (::stat(path.c_str(), &facts) != 0) return errno == ENOENT ? cannot("there is no such file") : refused();
  const auto wrong_kind = [&]() -> const char* {
    if (S_ISDIR(facts.st_mode)) return "is a folder; expected a YAML file";
    return S_ISREG(facts.st_mode) ? nullptr : "is a pipe, socket or device; expected a regular file";
  };
  if (const char* why = wrong_kind()) return cannot(why);
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.number < 0 || ::fstat(file.number, &facts) != 0) return refused();
  if (const char* why = wrong_kind()) return cannot(why);
  const auto too_large = [&] { return cannot(fmt::format("is larger than 1 MiB ({} bytes)", facts.st_size)); };
  if (facts.st_size > static_cast<off_t>(kMaxBytes)) return too_large();

  std::string text(kMaxBytes + 1, '\0');  // one more than allowed: the file may be growing
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.number, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused();
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMaxBytes) return too_large();
  text.resize(size);
  return parse_yaml(text, path);
}

Result<std::monostate> set_value(YamlNode& document, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view path = assignment.substr(0, equals);
  const Mark mark{fmt::format("--set {}", path.size() <= 200 ? path : path.substr(0, 200)), 0, 0};
  const auto cannot = [&](const std::string& why) { return Error{fmt::format("{}: {}", mark.text(), why)}; };
  if (equals == std::string_view::npos) return cannot("expected path=value, like groups.full.eviction=lfu");

  std::vector<std::string_view> steps;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (end == begin) return cannot("a step of the path is empty; expected names with dots between them");
    steps.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string_view step : steps)
    for (std::size_t at = 0; at < step.size(); at += utf8_length(step.substr(at)))
      if (static_cast<unsigned char>(step[at]) < 0x20 || step[at] == 0x7F || utf8_length(step.substr(at)) == 0)
        return Error{fmt::format("--set {}: a name cannot contain this", in_quotes(path))};
  auto value = parse_yaml(assignment.substr(equals + 1), mark.source);
  if (!value) return value.error();
  if (value->kind == YamlNode::Kind::null && value->scalar.empty()) return cannot("expected a value behind the '='");
  if (mark_all(*value, mark) + steps.size() > kMaxDepth)
    return cannot(fmt::format("more than {} levels of lists and maps", kMaxDepth));

  YamlNode* node = &document;
  for (const std::string_view step : steps) {
    std::string why;
    node = descend(*node, step, mark, why);
    if (node == nullptr) return cannot(why);
  }
  *node = *std::move(value);
  return std::monostate{};
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMaxShown = 48;
  std::string out = "'";
  for (std::size_t at = 0; at < text.size();) {
    if (at >= kMaxShown) return out + "...'";
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0 || byte < 0x20 || byte == 0x7F) out += fmt::format("\\x{:02x}", byte);
    else out += text.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return out + "'";
}

std::string to_yaml(std::string_view text) {
  if (is_name(text) && text != "null" && text != "Null" && text != "NULL") return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    if (byte < 0x20 || byte == 0x7F) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  return out + "\"";
}

}  // namespace canopy
