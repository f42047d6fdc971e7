// SPDX-License-Identifier: Apache-2.0
// XmlDocument: text that may come from a stranger, parsed within limits of size and depth, with the lines of
// its elements. Entities are never defined nor expanded. Used by the readers and writers of this room; one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "file_text.h"
#include "graph/machine.h"
#include "xml_text.h"

namespace rondo {

// No description of a host is near these limits, of at most kMaxDescriptionBytes; a file within them is read
// in less than 64 MiB.
constexpr size_t kMaxXmlAttributesOfElement = 64;
constexpr size_t kMaxXmlAttributesKept = 48;  // of an element, as they are; the known ones are fewer than 16

/// Limits that depend on the format. The defaults are those of NCCL's files.
struct XmlLimits {
  int64_t elements = 25'000;
  int64_t attributes = 200'000;
  int depth = 32;
  size_t value_bytes = 254;  // of an attribute; NCCL's reader stops at it too
  bool text = false;         // whether elements may contain text
};

/// The name of the first element, without a look at the rest; empty: there is none.
std::string_view xml_root_name(std::string_view text);

class XmlDocument {
 public:
  /// `text` must outlive the document. InvalidArgument with file and line if it is not XML, or exceeds
  /// limits.
  static Result<XmlDocument> parse(std::string_view text, std::string source, const XmlLimits& limits = {});

  pugi::xml_node root() const { return document_->document_element(); }
  const std::string& source() const { return source_; }
  const XmlLimits& limits() const { return limits_; }

  /// Fast if the elements come in the order of the file.
  int line(pugi::xml_node element) const { return line_at(static_cast<size_t>(element.offset_debug())); }

  template <typename... Args>
  Status error_at(pugi::xml_node element, fmt::format_string<Args...> format, Args&&... args) const {
    return failure(line(element), fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  XmlDocument(std::string_view text, std::string source, const XmlLimits& limits)
      : text_(text),
        source_(std::move(source)),
        limits_(limits),
        document_(std::make_unique<pugi::xml_document>()) {}

  Status failure(int line, const std::string& what) const;
  int line_at(size_t offset) const;
  Status check_size() const;
  Status check_tree() const;

  std::string_view text_;
  std::string source_;
  XmlLimits limits_;
  std::unique_ptr<pugi::xml_document> document_;
  mutable size_t known_offset_ = 0;
  mutable int known_line_ = 1;
};

/// Takes the attributes of one element: those a reader asks for, then the rest.
class XmlAttributes {
 public:
  /// InvalidArgument if a value is not fit for use: too long, not UTF-8, with control characters, given
  /// twice.
  static Result<XmlAttributes> of(const XmlDocument& document, pugi::xml_node element);

  bool has(const char* name) const { return !element_.attribute(name).empty(); }

  /// Empty if there is no such attribute.
  std::string text(const char* name);

  /// A whole number, decimal or with 0x, from `min` to `max`; `absent` if there is no such attribute or it is
  /// empty.
  Result<int64_t> number(const char* name, int64_t min, int64_t max, int64_t absent);
  Result<int> integer(const char* name, int min, int max, int absent);

  /// Returns a requested attribute to rest().
  void put_back(const char* name);

  /// What was not requested, in the order of the file. InvalidArgument if it is too much.
  Result<Attributes> rest() const;

 private:
  XmlAttributes(const XmlDocument& document, pugi::xml_node element)
      : document_(&document), element_(element) {}

  pugi::xml_attribute take(const char* name);
  size_t index_of(pugi::xml_attribute wanted) const;

  const XmlDocument* document_;
  pugi::xml_node element_;
  uint64_t taken_ = 0;  // a bit for each attribute
};

}  // namespace rondo
