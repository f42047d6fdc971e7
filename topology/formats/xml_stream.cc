// SPDX-License-Identifier: Apache-2.0
#include "xml_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "xml_text.h"

namespace rondo {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr size_t kMaxTagBytes = size_t{64} << 10;
constexpr std::ptrdiff_t kMaxRawBytes = 4096;  // of a value, before references are replaced
constexpr size_t kMaxReferenceBytes = 12;

enum CharClass : uint8_t { kNameStart = 1, kNamePart = 2, kSpace = 4, kPlainValue = 8 };

constexpr std::array<uint8_t, 256> classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 0x20; c < 0x7f; ++c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
    const bool is_part = is_letter || (c >= '0' && c <= '9') || c == '-' || c == '.';
    const bool is_plain = c != '"' && c != '\'' && c != '<' && c != '&';
    table[static_cast<size_t>(c)] = static_cast<uint8_t>(
        (is_letter ? kNameStart : 0) | (is_part ? kNamePart : 0) | (is_plain ? kPlainValue : 0));
  }
  for (const char c : {' ', '\t', '\r', '\n'}) table[static_cast<size_t>(c)] |= kSpace;
  return table;
}
constexpr std::array<uint8_t, 256> kClasses = classes();

bool is(char c, CharClass wanted) { return (kClasses[static_cast<unsigned char>(c)] & wanted) != 0; }

/// The name that begins there, which it passes; empty if there is none.
std::string_view take_name(char*& at) {
  char* const first = at;
  if (is(*at, kNameStart))
    while (is(*at, kNamePart)) ++at;
  return {first, static_cast<size_t>(at - first)};
}

/// Whether there are any.
template <typename Cursor>
bool pass_spaces(Cursor& cursor) {
  const char* const first = cursor.at;
  for (; is(*cursor.at, kSpace); ++cursor.at) cursor.line += *cursor.at == '\n' ? 1 : 0;
  return cursor.at != first;
}

std::string char_shown(const char* at) { return shown({at, 1}); }

/// The code point of "amp", "#38" or "#x26"; 0: it is no such reference.
uint32_t referenced(std::string_view reference) {
  constexpr std::pair<std::string_view, char> kKnown[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, c] : kKnown)
    if (reference == name) return static_cast<uint32_t>(c);
  const bool is_hexadecimal = reference.starts_with("#x");
  const std::string digits(reference.substr(std::min<size_t>(reference.size(), is_hexadecimal ? 2 : 1)));
  const bool are_digits =
      digits.find_first_not_of(is_hexadecimal ? "0123456789abcdefABCDEF" : "0123456789") == std::string::npos;
  if (!reference.starts_with('#') || !are_digits) return 0;
  const auto code = whole_number(is_hexadecimal ? "0x" + digits : digits);
  const bool is_character = code && *code > 0 && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
  return is_character ? static_cast<uint32_t>(*code) : 0;
}

/// Writes it in UTF-8; returns where that ends.
char* put(char* to, uint32_t code) {
  const auto byte = [&](uint32_t bits) { *to++ = static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
    return to;
  }
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
  return to;
}

}  // namespace

XmlStream::XmlStream(ReadPiece read, std::string source, const XmlStreamLimits& limits)
    : read_(std::move(read)),
      source_(std::move(source)),
      limits_(limits),
      buffer_(std::make_unique<char[]>(kBufferBytes + 1)),
      at_(buffer_.get()),
      end_(buffer_.get()) {}

Status XmlStream::failure(int line, const std::string& what) const {
  return error(ErrorKind::FileMalformed, "{}:{}: {}", source_, line, what);
}

Status XmlStream::cut_off(int line, const std::string& what) const {
  return error_at(line, "not well-formed XML: {}; the text ends here: is it cut off?", what);
}

/// Reads until the buffer is full, and keeps what was not scanned yet.
Status XmlStream::fill() {
  char* const first = buffer_.get();
  std::memmove(first, at_, left());
  end_ = first + left();
  at_ = first;
  const bool is_first = bytes_ == 0;
  char* const known = end_;
  while (end_ != first + kBufferBytes && !has_ended_) {
    RONDO_TRY_ASSIGN(const size_t bytes, read_(end_, static_cast<size_t>(first + kBufferBytes - end_)));
    has_ended_ = bytes == 0;
    end_ += bytes;
    bytes_ += static_cast<int64_t>(bytes);
    if (bytes_ > limits_.bytes)
      return error(ErrorKind::FileTooLarge, "{}: larger than {} bytes: no file of its kind is", source_,
                   limits_.bytes);
  }
  *end_ = '\0';
  if (is_first) {
    if (starts_with("\xff\xfe") || starts_with("\xfe\xff"))
      return failure(1, "UTF-16: expected XML in UTF-8");
    if (starts_with("\xef\xbb\xbf")) at_ += 3;
  }
  char* const nul = static_cast<char*>(std::memchr(known, '\0', static_cast<size_t>(end_ - known)));
  if (nul == nullptr) return {};
  const auto lines = std::count(at_, nul, '\n');
  return error_at(line_ + static_cast<int>(lines), "a NUL byte: expected XML in UTF-8");
}

Status XmlStream::ensure(size_t bytes) { return left() < bytes && !has_ended_ ? fill() : Status(); }

Status XmlStream::skip_spaces() {
  while (true) {
    Cursor cursor{at_, line_};
    pass_spaces(cursor);
    at_ = cursor.at;
    line_ = cursor.line;
    if (at_ != end_ || has_ended_) return {};
    RONDO_TRY(fill());
  }
}

/// From `first`, which is next, to the end of `last`.
Status XmlStream::skip_past(std::string_view first, std::string_view last) {
  const int line_of_first = line_;
  at_ += first.size();
  while (true) {
    auto* const found = static_cast<char*>(::memmem(at_, left(), last.data(), last.size()));
    char* const passed = found != nullptr ? found + last.size() : end_ - std::min(left(), last.size() - 1);
    line_ += static_cast<int>(std::count(at_, passed, '\n'));
    at_ = passed;
    if (found != nullptr) return {};
    if (has_ended_) return cut_off(line_of_first, fmt::format("{} without {}", first, last));
    RONDO_TRY(fill());
  }
}

/// Of <?xml ...?>: whatever is not UTF-8 would be read wrongly.
Status XmlStream::check_declaration() {
  constexpr size_t kMaxDeclaration = 256;
  RONDO_TRY(ensure(kMaxDeclaration));
  std::string text(at_, std::min(left(), kMaxDeclaration));
  text.resize(std::min(text.size(), text.find("?>")));
  const size_t name = text.find("encoding");
  if (name == std::string::npos) return {};
  const size_t first = text.find_first_of("\"'", name);
  const size_t last = first == std::string::npos ? first : text.find(text[first], first + 1);
  if (last == std::string::npos) return {};
  const std::string encoding = text.substr(first + 1, last - first - 1);
  std::string upper = encoding;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  if (upper == "UTF-8" || upper == "US-ASCII") return {};
  return error_at(line_, "encoding=\"{}\": expected UTF-8", shown(encoding));
}

Status XmlStream::unexpected_text() {
  RONDO_TRY(ensure(128));
  std::string_view text(at_, std::min<size_t>(left(), 128));
  text = text.substr(0, text.find('<', 1));
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (open_.empty())
    return error_at(line_, "the text '{}' outside of <{}>: expected nothing", shown(text), root_);
  return error_at(line_, "<{}> contains the text '{}': expected elements only", open_.back().name,
                  shown(text));
}

Result<XmlStream::Markup> XmlStream::find_markup() {
  while (true) {
    RONDO_TRY(skip_spaces());
    if (at_ == end_) return Markup::Nothing;
    constexpr std::string_view kDoctype = "<!DOCTYPE";
    RONDO_TRY(ensure(kDoctype.size()));
    if (*at_ != '<' || starts_with("<![")) return unexpected_text();
    if (at_[1] != '!' && at_[1] != '?') return at_[1] == '/' ? Markup::End : Markup::Begin;
    if (starts_with("<!--")) {
      RONDO_TRY(skip_past("<!--", "-->"));
    } else if (starts_with("<?")) {
      if (starts_with("<?xml")) RONDO_TRY(check_declaration());
      RONDO_TRY(skip_past("<?", "?>"));
    } else if (starts_with(kDoctype)) {
      return error_at(line_, "<!DOCTYPE ...>: expected none, as entities are not expanded");
    } else {
      return Markup::Begin;  // where it is refused
    }
  }
}

/// Scans again with more text until it is enough.
template <typename Scan>
Status XmlStream::scan_whole(const Scan& scan) {
  while (true) {
    Cursor cursor{at_, line_};
    const Scanned scanned = scan(cursor);
    if (scanned == Scanned::Wrong) return failed_;
    const size_t bytes = scanned == Scanned::Whole ? static_cast<size_t>(cursor.at - at_) : left();
    if (bytes > kMaxTagBytes)
      return error_at(line_, "not well-formed XML: a tag of more than {} bytes: expected '>'", kMaxTagBytes);
    if (scanned == Scanned::Whole) {
      at_ = cursor.at;
      line_ = cursor.line;
      return {};
    }
    if (has_ended_) return cut_off(line_, "a tag without >");
    RONDO_TRY(fill());
  }
}

XmlStream::Scanned XmlStream::scan_begin(Cursor& cursor) {
  ++cursor.at;
  name_ = take_name(cursor.at);
  if (name_.size() > kMaxNameBytes)
    return wrong("<{}>: a name of more than {} bytes", shown(name_), kMaxNameBytes);
  if (*cursor.at == '\0') return Scanned::Cut;
  if (name_.empty())
    return wrong("not well-formed XML: '{}' after '<': expected the name of an element",
                 char_shown(cursor.at));
  for (attribute_count_ = 0;; ++attribute_count_) {
    const bool is_apart = pass_spaces(cursor);
    if (*cursor.at == '\0') return Scanned::Cut;
    closes_itself_ = *cursor.at == '/';
    if (closes_itself_ && *++cursor.at == '\0') return Scanned::Cut;
    if (*cursor.at == '>') {
      ++cursor.at;
      return Scanned::Whole;
    }
    if (closes_itself_ || !is_apart)
      return wrong("not well-formed XML: '{}' within <{}>: expected {}", char_shown(cursor.at), name_,
                   closes_itself_ ? "'>' after '/'" : "a space before it");
    if (attribute_count_ == kMaxAttributes)
      return wrong("<{}> has more than {} attributes", name_, kMaxAttributes);
    const Scanned scanned = scan_attribute(cursor, attributes_[attribute_count_]);
    if (scanned != Scanned::Whole) return scanned;
  }
}

XmlStream::Scanned XmlStream::scan_attribute(Cursor& cursor, XmlAttribute& attribute) {
  attribute.name = take_name(cursor.at);
  const std::string_view name = attribute.name;
  if (name.size() > kMaxNameBytes)
    return wrong("<{}> has {}: a name of more than {} bytes", name_, shown(name), kMaxNameBytes);
  if (*cursor.at == '\0') return Scanned::Cut;
  if (name.empty())
    return wrong("not well-formed XML: '{}' within <{}>: expected an attribute, '/' or '>'",
                 char_shown(cursor.at), name_);
  pass_spaces(cursor);
  if (*cursor.at == '\0') return Scanned::Cut;
  if (*cursor.at != '=')
    return wrong("not well-formed XML: <{}> has {} without a value: expected {}=\"...\"", name_, name, name);
  ++cursor.at;
  pass_spaces(cursor);
  if (*cursor.at == '\0') return Scanned::Cut;
  if (*cursor.at != '"' && *cursor.at != '\'')
    return wrong("not well-formed XML: <{}> has {} without quotes: expected {}=\"...\"", name_, name, name);
  return scan_value(cursor, attribute);
}

XmlStream::Scanned XmlStream::scan_value(Cursor& cursor, XmlAttribute& attribute) {
  const char quote = *cursor.at;
  char* const first = cursor.at + 1;
  char* at = first;
  while (is(*at, kPlainValue)) ++at;
  attribute.is_plain = *at == quote;
  for (; *at != quote && *at != '\0' && at - first <= kMaxRawBytes; ++at) {
    if (*at == '<')
      return wrong("not well-formed XML: '<' in the value of {} of <{}>: expected &lt;, or {} before it",
                   attribute.name, name_, quote);
    cursor.line += *at == '\n' ? 1 : 0;
  }
  attribute.value = {first, static_cast<size_t>(at - first)};
  if (at - first > kMaxRawBytes)
    return wrong("{}=\"{}\" is longer than {} bytes", attribute.name, shown(attribute.value), kMaxNameBytes);
  if (*at == '\0') return Scanned::Cut;
  cursor.at = at + 1;
  return Scanned::Whole;
}

XmlStream::Scanned XmlStream::scan_end(Cursor& cursor) {
  cursor.at += 2;
  const std::string_view name = take_name(cursor.at);
  if (*cursor.at == '\0') return Scanned::Cut;
  if (open_.empty())
    return wrong("not well-formed XML: </{}> outside of <{}>: expected nothing", shown(name), root_);
  const OpenElement& open = open_.back();
  if (name != open.name)
    return wrong("not well-formed XML: </{}> within <{}> of line {}: expected </{}>", shown(name), open.name,
                 open.line, open.name);
  pass_spaces(cursor);
  if (*cursor.at == '\0') return Scanned::Cut;
  if (*cursor.at != '>')
    return wrong("not well-formed XML: '{}' within </{}>: expected '>'", char_shown(cursor.at), open.name);
  ++cursor.at;
  return Scanned::Whole;
}

/// The value with its references replaced and its spaces as such, in the same memory.
Result<std::string_view> XmlStream::decoded(const XmlAttribute& attribute) const {
  const std::string written(attribute.value);
  char* const first = const_cast<char*>(attribute.value.data());  // in buffer_
  char* to = first;
  std::string_view left = written;
  while (!left.empty()) {
    const char c = left.front();
    if (c != '&') {
      const bool is_one = left.starts_with("\r\n");  // the end of a line
      *to++ = is(c, kSpace) ? ' ' : c;
      left.remove_prefix(is_one ? 2 : 1);
      continue;
    }
    const size_t end = left.substr(0, kMaxReferenceBytes).find(';');
    const uint32_t code = end == std::string_view::npos ? 0 : referenced(left.substr(1, end - 1));
    if (code == 0)
      return error_at(line_of_element_,
                      "<{}> has {}=\"{}\": expected &lt; &gt; &amp; &quot; &apos; or the number "
                      "of a character, such as &#38;, after no other '&'",
                      name_, attribute.name, shown(written));
    to = put(to, code);
    left.remove_prefix(end + 1);
  }
  return std::string_view(first, static_cast<size_t>(to - first));
}

Status XmlStream::check_value(XmlAttribute& attribute) const {
  if (!attribute.is_plain) {
    RONDO_TRY_ASSIGN(attribute.value, decoded(attribute));
    if (!is_plain_text(attribute.value))
      return error_at(line_of_element_, "{}=\"{}\": expected printable text in UTF-8", attribute.name,
                      shown(attribute.value));
  }
  if (attribute.value.size() > kMaxNameBytes)
    return error_at(line_of_element_, "{}=\"{}\" is longer than {} bytes", attribute.name,
                    shown(attribute.value), kMaxNameBytes);
  return {};
}

/// Most names differ in their first, middle or last letter, or in length.
Status XmlStream::check_twice() const {
  uint64_t taken = 0;
  for (size_t i = 0; i != attribute_count_; ++i) {
    const std::string_view name = attributes_[i].name;
    const auto mixed = static_cast<size_t>(name.front()) + 5 * static_cast<size_t>(name[name.size() / 2]) +
                       11 * static_cast<size_t>(name.back()) + 23 * name.size();
    const uint64_t bit = uint64_t{1} << mixed % 64;
    if ((taken & bit) != 0)
      for (size_t other = 0; other != i; ++other)
        if (attributes_[other].name == name)
          return error_at(line_of_element_, "<{}> has {} twice", name_, name);
    taken |= bit;
  }
  return {};
}

Status XmlStream::check_attributes() {
  for (size_t i = 0; i != attribute_count_; ++i)
    if (!attributes_[i].is_plain || attributes_[i].value.size() > kMaxNameBytes)
      RONDO_TRY(check_value(attributes_[i]));
  all_attributes_ += static_cast<int64_t>(attribute_count_);
  if (all_attributes_ > limits_.attributes)
    return error(ErrorKind::FileTooLarge, "{}:{}: more than {} attributes: a file has at most as many",
                 source_, line_of_element_, limits_.attributes);
  return check_twice();
}

Status XmlStream::take_begin() {
  RONDO_TRY(scan_whole([&](Cursor& cursor) {
    line_of_element_ = line_;
    return scan_begin(cursor);
  }));
  expected_ = 0;
  RONDO_TRY(check_attributes());
  if (closes_itself_) return {};
  if (open_.size() == kMaxDepth)
    return error_at(line_of_element_, "<{}> is nested too deeply: expected at most {} levels", name_,
                    kMaxDepth);
  open_.push_back({std::string(name_), line_of_element_});
  return {};
}

/// The text ends within an element.
Status XmlStream::end_of_text() const {
  if (open_.empty()) return cut_off(line_, fmt::format("no element: expected <{}>", root_));
  return cut_off(line_, fmt::format("<{}> of line {} without </{}>", open_.back().name, open_.back().line,
                                    open_.back().name));
}

Status XmlStream::begin(std::string_view root) {
  root_ = root;
  RONDO_TRY_ASSIGN(const Markup markup, find_markup());
  if (markup == Markup::Nothing) return end_of_text();
  return markup == Markup::Begin ? take_begin()
                                 : scan_whole([&](Cursor& cursor) { return scan_end(cursor); });
}

Result<bool> XmlStream::next() {
  if (std::exchange(closes_itself_, false)) return false;
  RONDO_TRY_ASSIGN(const Markup markup, find_markup());
  if (markup == Markup::Nothing) return end_of_text();
  if (markup == Markup::Begin) {
    RONDO_TRY(take_begin());
    return true;
  }
  RONDO_TRY(scan_whole([&](Cursor& cursor) { return scan_end(cursor); }));
  open_.pop_back();
  return false;
}

Status XmlStream::finish() {
  RONDO_TRY_ASSIGN(const Markup markup, find_markup());
  if (markup == Markup::Nothing) return {};
  if (markup == Markup::End) return scan_whole([&](Cursor& cursor) { return scan_end(cursor); });
  RONDO_TRY(take_begin());
  return error_at(line_of_element_, "<{}> follows the end of <{}>: expected nothing", name_, root_);
}

const XmlStream::XmlAttribute* XmlStream::find(std::string_view attribute) {
  for (size_t i = 0; i != attribute_count_; ++i) {
    const size_t at = expected_ + i < attribute_count_ ? expected_ + i : expected_ + i - attribute_count_;
    if (attributes_[at].name != attribute) continue;
    expected_ = at;
    return &attributes_[at];
  }
  return nullptr;
}

/// The next one that is looked for is mostly the one that follows.
const XmlStream::XmlAttribute* XmlStream::take(std::string_view attribute) {
  const XmlAttribute* const found = find(attribute);
  if (found != nullptr) ++expected_;
  return found;
}

std::string_view XmlStream::text(std::string_view attribute) {
  const XmlAttribute* const found = take(attribute);
  return found == nullptr ? std::string_view() : found->value;
}

Result<int> XmlStream::integer(std::string_view attribute, int min, int max, int absent) {
  const XmlAttribute* const found = take(attribute);
  if (found == nullptr) return absent;
  const auto value = whole_number(found->value);
  if (value && *value >= min && *value <= max) return static_cast<int>(*value);
  return error_at(line_of_element_, "<{}> has {}=\"{}\": expected a whole number from {} to {}", name_,
                  attribute, shown(found->value), min, max);
}

Status XmlStream::check_not_empty() const {
  for (size_t i = 0; i != attribute_count_; ++i)
    if (attributes_[i].value.empty())
      return error_at(line_of_element_, "<{}> has {}=\"\": expected a value", name_, attributes_[i].name);
  return {};
}

XmlStream::ReadPiece pieces_of(std::string_view text) {
  return [text](char* to, size_t bytes) mutable -> Result<size_t> {
    const size_t taken = std::min(bytes, text.size());
    std::memcpy(to, text.data(), taken);
    text.remove_prefix(taken);
    return taken;
  };
}

}  // namespace rondo
