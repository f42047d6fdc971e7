// SPDX-License-Identifier: Apache-2.0
// Makes libFuzzer's inputs other XML: elements are taken out, copied, moved and renamed, attributes get
// values of one another, and numbers at limits. Bytes alone are changed now and then, which rarely leaves a
// document whole.
#include <cstdint>
#include <cstring>
#include <pugixml.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);

namespace {

constexpr const char* kValues[] = {"",
                                   "0",
                                   "-1",
                                   "1",
                                   "2",
                                   "16",
                                   "0x10",
                                   "65536",
                                   "1024",
                                   "1e9",
                                   "1.5",
                                   "200000000",
                                   "4294967296",
                                   "1000000000",
                                   "2147483647",
                                   "-2147483648",
                                   "9223372036854775807"};

class Mutation {
 public:
  Mutation(pugi::xml_document& document, unsigned seed) : random_(seed), document_(document) {
    struct Walker : pugi::xml_tree_walker {
      std::vector<pugi::xml_node> found;
      bool for_each(pugi::xml_node& node) override {
        if (node.type() == pugi::node_element) found.push_back(node);
        return true;
      }
    } walker;
    document.traverse(walker);
    elements_ = std::move(walker.found);
    for (const pugi::xml_node element : elements_)
      for (const pugi::xml_attribute attribute : element.attributes()) attributes_.push_back(attribute);
  }

  bool is_possible() const { return !elements_.empty() && !attributes_.empty(); }

  void apply() {
    switch (below(8)) {
      case 0: remove_element(); break;
      case 1: copy_element(); break;
      case 2: move_element(); break;
      case 3: one_of(elements_).set_name(one_of(elements_).name()); break;
      case 4: one_of(attributes_).set_value(one_of(attributes_).value()); break;
      case 5: one_of(attributes_).set_value(kValues[below(std::size(kValues))]); break;
      case 6: change_bytes(one_of(attributes_)); break;
      case 7: change_attributes(); break;
    }
  }

 private:
  size_t below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

  template <typename T>
  T& one_of(std::vector<T>& things) {
    return things[below(things.size())];
  }

  void remove_element() {
    pugi::xml_node element = one_of(elements_);
    if (element != document_.document_element()) element.parent().remove_child(element);
  }

  void copy_element() {
    const pugi::xml_node element = one_of(elements_);
    pugi::xml_node parent = below(2) == 0 ? element.parent() : one_of(elements_);
    if (parent != document_.root()) parent.append_copy(element);
  }

  void move_element() {
    const pugi::xml_node element = one_of(elements_);
    if (element != document_.document_element()) one_of(elements_).prepend_move(element);
  }

  void change_bytes(pugi::xml_attribute attribute) {
    char value[64] = {};
    std::strncpy(value, attribute.value(), sizeof(value) / 2);
    const size_t size =
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(value), std::strlen(value), sizeof(value) - 1);
    value[size] = '\0';
    attribute.set_value(value);
  }

  void change_attributes() {
    pugi::xml_node element = one_of(elements_);
    const pugi::xml_attribute other = one_of(attributes_);
    if (below(2) == 0)
      element.remove_attribute(element.first_attribute());
    else
      element.append_attribute(other.name()).set_value(other.value());
  }

  std::minstd_rand random_;
  pugi::xml_document& document_;
  std::vector<pugi::xml_node> elements_;
  std::vector<pugi::xml_attribute> attributes_;
};

}  // namespace

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  pugi::xml_document document;
  if (seed % 4 == 0 || !document.load_buffer(data, size)) return LLVMFuzzerMutate(data, size, max_size);
  for (unsigned i = 0; i <= seed / 4 % 3; ++i) {
    Mutation mutation(document, seed + i);
    if (!mutation.is_possible()) return LLVMFuzzerMutate(data, size, max_size);
    mutation.apply();
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  const std::string result = text.str();
  if (result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, result.data(), result.size());
  return result.size();
}
