// SPDX-License-Identifier: Apache-2.0
// XmlStream: the elements of XML that may come from a stranger, one after another, in memory that does not
// grow with the text: for files of a million elements, for which XmlDocument's tree is too large. Text
// between elements and <!DOCTYPE> are refused, comments and instructions passed over. Used by the readers of
// this room; one thread.
//
// Written here, since libexpat takes twice the time that a whole file may take: 2.3 s for 123 MB (1,013,825
// elements of ten attributes, a core of a 2-core virtual machine, 2026-11-29).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_kinds.h"
#include "base/status.h"

namespace rondo {

struct XmlStreamLimits {
  int64_t bytes = 0;
  int64_t attributes = 0;
};

class XmlStream {
 public:
  /// Puts some of the bytes that follow where it says; 0: the text has ended.
  using ReadPiece = std::function<Result<size_t>(char* to, size_t bytes)>;

  static constexpr size_t kMaxAttributes = 32;  // of an element
  static constexpr size_t kMaxNameBytes = 254;  // of names and values
  static constexpr size_t kMaxDepth = 32;

  /// `source` is the name of the text in errors.
  XmlStream(ReadPiece read, std::string source, const XmlStreamLimits& limits);

  const std::string& source() const { return source_; }

  /// Begins the first element, which should be called `root`. Like all that follows, InvalidArgument with
  /// file and line if the text is not XML or exceeds limits, or what the read returned.
  Status begin(std::string_view root);
  /// Begins the next element within the current one, which that then is, or, if there is none, ends the
  /// current one and returns false.
  Result<bool> next();
  /// After the first element, that nothing follows.
  Status finish();

  /// Of the element that began last; valid until the next call of next() or finish().
  std::string_view name() const { return name_; }
  int line() const { return line_of_element_; }
  bool has(std::string_view attribute) { return find(attribute) != nullptr; }
  /// Empty if there is no such attribute.
  std::string_view text(std::string_view attribute);
  /// A whole number, decimal or with 0x, from `min` to `max`; `absent` if there is no such attribute.
  Result<int> integer(std::string_view attribute, int min, int max, int absent);
  /// InvalidArgument if an attribute has no value.
  Status check_not_empty() const;

  template <typename... Args>
  Status error_at(int line, fmt::format_string<Args...> format, Args&&... args) const {
    return failure(line, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct XmlAttribute {
    std::string_view name;
    std::string_view value;
    bool is_plain = true;  // printable ASCII without references
  };
  struct OpenElement {
    std::string name;
    int line = 0;
  };
  /// Where a construct is scanned; moves on only if all of it is in the buffer.
  struct Cursor {
    char* at;
    int line;
  };

  Status failure(int line, const std::string& what) const;
  Status cut_off(int line, const std::string& what) const;
  Status end_of_text() const;

  Status fill();
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  Status ensure(size_t bytes);
  bool starts_with(std::string_view text) const {
    return std::string_view(at_, left()).substr(0, text.size()) == text;
  }

  /// What comes next that is neither space, comment nor instruction.
  enum class Markup { Begin, End, Nothing };
  Result<Markup> find_markup();
  Status skip_spaces();
  Status skip_past(std::string_view first, std::string_view last);
  Status check_declaration();
  Status unexpected_text();

  /// Whether all of a construct is in the buffer; if it is wrong, failed_ says how.
  enum class Scanned { Whole, Cut, Wrong };
  template <typename Scan>
  Status scan_whole(const Scan& scan);
  Scanned scan_begin(Cursor& cursor);
  Scanned scan_end(Cursor& cursor);
  Scanned scan_attribute(Cursor& cursor, XmlAttribute& attribute);
  Scanned scan_value(Cursor& cursor, XmlAttribute& attribute);
  template <typename... Args>
  Scanned wrong(fmt::format_string<Args...> format, Args&&... args) {
    failed_ = failure(line_, fmt::format(format, std::forward<Args>(args)...));
    return Scanned::Wrong;
  }

  Status take_begin();
  Status check_attributes();
  Status check_twice() const;
  Status check_value(XmlAttribute& attribute) const;
  Result<std::string_view> decoded(const XmlAttribute& attribute) const;
  const XmlAttribute* find(std::string_view attribute);
  const XmlAttribute* take(std::string_view attribute);

  ReadPiece read_;
  const std::string source_;
  const XmlStreamLimits limits_;
  std::string root_;
  std::vector<OpenElement> open_;
  std::unique_ptr<char[]> buffer_;
  char* at_ = nullptr;   // what has not been scanned yet
  char* end_ = nullptr;  // of what has been read; there is a NUL
  bool has_ended_ = false;
  int64_t bytes_ = 0;  // read so far
  int line_ = 1;       // of at_
  Status failed_;

  std::string_view name_;
  int line_of_element_ = 1;
  bool closes_itself_ = false;
  std::array<XmlAttribute, kMaxAttributes> attributes_;
  size_t attribute_count_ = 0;
  size_t expected_ = 0;  // the attribute that is looked at first
  int64_t all_attributes_ = 0;
};

/// Of text in memory, which outlives it.
XmlStream::ReadPiece pieces_of(std::string_view text);

}  // namespace rondo
