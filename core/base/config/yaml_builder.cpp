#include "yaml_builder.h"

#include <canopy/base/printable.h>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yaml_text.h"

namespace canopy {
namespace {

constexpr std::size_t kMaxValues = 10'000;
/// Bytes that yaml-cpp may read beyond the last value that it has reported. It reads to the end of a `[` or `"` before
/// it reports the first value in it; the limit refuses a hostile text after a few milliseconds.
constexpr std::size_t kMaxAhead = std::size_t{32} << 10;

/// Passes the text to yaml-cpp piece by piece, at most kMaxAhead beyond the last reported place.
class BoundedReader final : public std::streambuf {
 public:
  explicit BoundedReader(std::string_view text) : text_(text) {}
  void reported(std::size_t at) { reported_ = std::max(reported_, at); }
  void check() const {
    if (hit_limit_)
      throw Refused{reported_, fmt::format("a value, [list], {{map}} or comment after this place is longer than {} KiB",
                                           kMaxAhead >> 10)};
  }

 protected:
  int_type underflow() override {
    const std::size_t count =
        std::min({piece_.size(), text_.size() - next_, reported_ + kMaxAhead - std::min(next_, reported_ + kMaxAhead)});
    if (count == 0) {
      hit_limit_ = next_ < text_.size();
      return traits_type::eof();
    }
    text_.copy(piece_.data(), count, next_);
    next_ += count;
    setg(piece_.data(), piece_.data(), piece_.data() + count);
    return traits_type::to_int_type(piece_[0]);
  }

 private:
  std::string_view text_;
  std::size_t next_ = 0, reported_ = 0;
  bool hit_limit_ = false;
  std::array<char, 2048> piece_;
};

/// Builds the tree from the events of yaml-cpp, and refuses the parts of YAML that a configuration does not use.
class Builder final : public YAML::EventHandler {
 public:
  Builder(std::string_view text, Places& places, BoundedReader& reader)
      : text_(text), places_(places), reader_(reader) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    const std::size_t at = come_to(mark);
    if (documents_++ == 0) return;
    throw Refused{at, text_.substr(at).starts_with("---") ? "a second document begins here; expected one in a file"
                                                          : "expected the end of the file after its one value"};
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
      if (!quote_end(text_, at)) throw Refused{at, "the quote that opens here is not closed on its line"};
    // yaml-cpp turns \N and \_ into a byte that is not a character.
    for (std::size_t i = 0, length = 0; i < value.size(); i += length)
      if ((length = utf8_length(std::string_view(value).substr(i))) == 0)
        throw Refused{at, "an escape in this text stands for no character; write \\u0085 for \\N, and \\u00a0 for \\_"};
    if (value.find('\0') != std::string::npos)
      throw Refused{at, "a NUL, even an escaped one, is not allowed in a value"};
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.scalar = value;
    node.quoted = tag == "!";
    add(std::move(node), at);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refused{come_to(mark), "aliases (*name) are not allowed; write the value out"};
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
    std::optional<YamlNode> key;  ///< the last key, until its value has been read
    std::map<std::string, Mark, std::less<>> keys;
    std::size_t at;
  };

  std::size_t come_to(const YAML::Mark& mark) {
    reader_.check();
    const std::size_t at = mark.pos < 0 ? text_.size() : std::min(static_cast<std::size_t>(mark.pos), text_.size());
    reader_.reported(at);
    return at;
  }
  void refuse_extras(std::size_t at, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) throw Refused{at, "anchors (&name) are not allowed; write the value out"};
    const bool tagged = (!tag.empty() && tag != "?" && tag != "!") || (at < text_.size() && text_[at] == '!');
    if (tagged) throw Refused{at, "tags (!name) are not allowed; remove the tag"};
  }
  bool wants_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map && !open_.back().key;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    const std::size_t at = come_to(mark);
    refuse_extras(at, tag, anchor);
    if (wants_key()) throw Refused{at, "a list or a map cannot be a key; expected a name, or a bracket is not closed"};
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
      throw Refused{at, "a key is missing; expected a name before the ':'"};
    key.kind = YamlNode::Kind::scalar;
    if (key.scalar == "<<" && !key.quoted) throw Refused{at, "merge keys (<<) are not allowed; write the values out"};
    const auto [first, is_new] = open_.back().keys.emplace(key.scalar, key.mark);
    if (!is_new)
      throw Refused{at, fmt::format("the key {} occurs a second time; the first is at {}", in_quotes(key.scalar),
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
  BoundedReader& reader_;
  std::vector<Open> open_;
  YamlNode root_;
  std::size_t documents_ = 0, values_ = 0;
};

/// Returns yaml-cpp's message. It may end with the byte that was found: one of a longer character, or 0x04, which
/// stands for the end of the text.
std::string message_of(const YAML::Exception& error) {
  if (!error.msg.ends_with('\x04')) return printable(error.msg);
  return printable(error.msg.substr(0, error.msg.size() - 1)) + "the end of the text";
}

}  // namespace

YamlNode build_tree(std::string_view text, Places& places) {
  if (text.size() > kMaxBytes)
    throw Refused{kMaxBytes, fmt::format("the text has {} bytes; expected at most 1 MiB", text.size())};
  check_characters(text);
  BoundedReader reader(text);
  std::istream stream(&reader);
  Builder builder(text, places, reader);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    reader.check();
    const std::size_t at = error.mark.pos < 0 ? text.size() : static_cast<std::size_t>(error.mark.pos);
    throw Refused{at, "this is not YAML: " + message_of(error)};
  }
  reader.check();
  YamlNode root = builder.take();
  if (root.mark.line == 0) root.mark = places.mark(0);
  return root;
}

}  // namespace canopy
