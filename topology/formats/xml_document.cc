// SPDX-License-Identifier: Apache-2.0
#include "xml_document.h"

#include <algorithm>
#include <optional>

#include "base/error_kinds.h"

namespace rondo {
namespace {

bool is_text(pugi::xml_node node) {
  return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata;
}

/// Counts elements, and finds the depth that pugixml's own recursion never sees.
struct TreeCheck : pugi::xml_tree_walker {
  explicit TreeCheck(const XmlLimits& of) : limits(of) {}
  const XmlLimits& limits;
  pugi::xml_node too_deep, text, doctype;
  bool for_each(pugi::xml_node& node) override {
    if (node.type() == pugi::node_doctype) doctype = node;
    if (!limits.text && depth() > 0 && is_text(node)) text = node;
    if (node.type() == pugi::node_element && depth() >= limits.depth) too_deep = node;
    return !too_deep && !text;
  }
};

}  // namespace

std::string_view xml_root_name(std::string_view text) {
  while (true) {
    const size_t begin = text.find('<');
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin + 1);
    const std::string_view end = text.starts_with("!--") ? "-->" : ">";
    if (!text.starts_with('!') && !text.starts_with('?'))
      return text.substr(0, text.find_first_of(" \t\r\n/>"));
    text.remove_prefix(std::min(text.find(end), text.size()));
  }
}

Status XmlDocument::failure(int line, const std::string& what) const {
  return error(ErrorKind::FileMalformed, "{}:{}: {}", source_, line, what);
}

int XmlDocument::line_at(size_t offset) const {
  offset = std::min(offset, text_.size());
  if (offset < known_offset_) {
    known_offset_ = 0;
    known_line_ = 1;
  }
  known_line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(known_offset_),
                                             text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
  known_offset_ = offset;
  return known_line_;
}

Status XmlDocument::check_size() const {
  if (text_.size() > kMaxDescriptionBytes)
    return error(ErrorKind::FileTooLarge, "{}: {} bytes are too many: a file has at most {}", source_,
                 text_.size(), kMaxDescriptionBytes);
  if (const size_t nul = text_.find('\0'); nul != std::string_view::npos)
    return failure(line_at(nul), "a NUL byte: expected XML in UTF-8");
  int64_t elements = 0;
  for (size_t at = text_.find('<'); at != std::string_view::npos; at = text_.find('<', at + 1))
    if (at + 1 < text_.size() && text_[at + 1] != '/' && text_[at + 1] != '!') ++elements;
  if (elements > limits_.elements)
    return error(ErrorKind::FileTooLarge, "{}: {} elements are too many: a file has at most {}", source_,
                 elements, limits_.elements);
  const int64_t attributes = std::count(text_.begin(), text_.end(), '=');
  if (attributes > limits_.attributes)
    return error(ErrorKind::FileTooLarge, "{}: {} attributes are too many: a file has at most {}", source_,
                 attributes, limits_.attributes);
  return {};
}

Status XmlDocument::check_tree() const {
  TreeCheck check(limits_);
  document_->traverse(check);
  if (check.doctype && std::string_view(check.doctype.value()).find('[') != std::string_view::npos)
    return failure(1, "definitions in <!DOCTYPE ...>: expected none, as entities are not expanded");
  if (check.too_deep)
    return error_at(check.too_deep, "<{}> is nested too deeply: expected at most {} levels",
                    shown(check.too_deep.name()), limits_.depth);
  if (check.text)
    return error_at(check.text.parent(), "<{}> contains the text '{}': expected elements only",
                    shown(check.text.parent().name()), shown(check.text.value()));
  for (const pugi::xml_node node : document_->children()) {
    if (is_text(node))
      return error_at(node, "the text '{}' outside of <{}>: expected nothing", shown(node.value()),
                      shown(root().name()));
    if (node.type() == pugi::node_element && node != root())
      return error_at(node, "<{}> follows the end of <{}>: expected nothing", shown(node.name()),
                      shown(root().name()));
  }
  return {};
}

Result<XmlDocument> XmlDocument::parse(std::string_view text, std::string source, const XmlLimits& limits) {
  XmlDocument document(text, std::move(source), limits);
  RONDO_TRY(document.check_size());
  // As a fragment, or text outside of the root would be passed over in silence.
  pugi::xml_parse_result parsed = document.document_->load_buffer(
      text.data(), text.size(),
      pugi::parse_default | pugi::parse_doctype | pugi::parse_trim_pcdata | pugi::parse_fragment,
      pugi::encoding_utf8);
  if (parsed && !document.root()) {
    parsed.status = pugi::status_no_document_element;
    parsed.offset = static_cast<std::ptrdiff_t>(text.size());
  }
  if (!parsed) {
    const auto offset = static_cast<size_t>(parsed.offset);
    const bool at_end = offset + 1 >= text.size();
    return document.failure(document.line_at(offset),
                            fmt::format("not well-formed XML: {}{}", parsed.description(),
                                        at_end ? "; the text ends here: is it cut off?" : ""));
  }
  RONDO_TRY(document.check_tree());
  return document;
}

Result<XmlAttributes> XmlAttributes::of(const XmlDocument& document, pugi::xml_node element) {
  const size_t max_bytes = document.limits().value_bytes;
  size_t count = 0;
  for (const pugi::xml_attribute attribute : element.attributes()) {
    const std::string_view name = attribute.name(), value = attribute.value();
    if (++count > kMaxXmlAttributesOfElement)
      return document.error_at(element, "<{}> has more than {} attributes", shown(element.name()),
                               kMaxXmlAttributesOfElement);
    if (name.size() > max_bytes || value.size() > max_bytes)
      return document.error_at(element, "{}=\"{}\" is longer than {} bytes", shown(name), shown(value),
                               max_bytes);
    if (!is_plain_text(name) || !is_plain_text(value))
      return document.error_at(element, "{}=\"{}\": expected printable text in UTF-8", shown(name),
                               shown(value));
    if (element.attribute(attribute.name()) != attribute)
      return document.error_at(element, "<{}> has {} twice", shown(element.name()), shown(name));
  }
  return XmlAttributes(document, element);
}

size_t XmlAttributes::index_of(pugi::xml_attribute wanted) const {
  size_t index = 0;
  for (const pugi::xml_attribute attribute : element_.attributes()) {
    if (attribute == wanted) break;
    ++index;
  }
  return index;
}

pugi::xml_attribute XmlAttributes::take(const char* name) {
  const pugi::xml_attribute attribute = element_.attribute(name);
  if (attribute) taken_ |= uint64_t{1} << index_of(attribute);
  return attribute;
}

void XmlAttributes::put_back(const char* name) {
  if (const pugi::xml_attribute attribute = element_.attribute(name))
    taken_ &= ~(uint64_t{1} << index_of(attribute));
}

std::string XmlAttributes::text(const char* name) { return take(name).value(); }

Result<int64_t> XmlAttributes::number(const char* name, int64_t min, int64_t max, int64_t absent) {
  const std::string_view value = take(name).value();
  if (value.empty()) return absent;
  const std::optional<int64_t> result = whole_number(value);
  if (!result || *result < min || *result > max)
    return document_->error_at(element_, "<{}> has {}=\"{}\": expected a whole number from {} to {}",
                               element_.name(), name, shown(value), min, max);
  return *result;
}

Result<int> XmlAttributes::integer(const char* name, int min, int max, int absent) {
  RONDO_TRY_ASSIGN(const int64_t result, number(name, min, max, absent));
  return static_cast<int>(result);
}

Result<Attributes> XmlAttributes::rest() const {
  Attributes result;
  uint64_t bit = 1;
  for (const pugi::xml_attribute attribute : element_.attributes()) {
    if ((taken_ & bit) == 0) result.emplace_back(attribute.name(), attribute.value());
    bit <<= 1;
  }
  if (result.size() > kMaxXmlAttributesKept)
    return document_->error_at(element_, "<{}> has {} attributes that are not known: expected at most {}",
                               shown(element_.name()), result.size(), kMaxXmlAttributesKept);
  result.shrink_to_fit();
  return result;
}

}  // namespace rondo
