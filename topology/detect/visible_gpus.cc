// SPDX-License-Identifier: Apache-2.0
#include "visible_gpus.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace rondo {
namespace {

std::string_view without_spaces(std::string_view word) {
  const size_t first = word.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return word.substr(first, word.find_last_not_of(" \t") - first + 1);
}

/// By the beginning of its UUID, which may be cut off as long as one GPU alone has it.
std::optional<size_t> gpu_of_uuid(std::span<const NvmlGpu> gpus, std::string_view beginning) {
  std::optional<size_t> found;
  for (size_t i = 0; i != gpus.size(); ++i) {
    if (!gpus[i].uuid.starts_with(beginning)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

/// By the UUID of an instance, or, as older drivers name it, "MIG-", that of its GPU, "/1/0".
std::optional<size_t> gpu_of_instance(std::span<const NvmlGpu> gpus, std::string_view word) {
  constexpr std::string_view kInstance = "MIG-";
  if (word.starts_with("MIG-GPU-"))
    return gpu_of_uuid(gpus, word.substr(kInstance.size(), word.find('/') - kInstance.size()));
  for (size_t i = 0; i != gpus.size(); ++i)
    if (std::ranges::find(gpus[i].instances, word) != gpus[i].instances.end()) return i;
  return std::nullopt;
}

std::optional<size_t> gpu_of_word(std::span<const NvmlGpu> gpus, std::string_view word) {
  if (word.starts_with("MIG-")) return gpu_of_instance(gpus, word);
  if (word.starts_with("GPU-")) return gpu_of_uuid(gpus, word);
  size_t number = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failure != std::errc() || end != word.data() + word.size() || number >= gpus.size())
    return std::nullopt;
  return number;
}

/// The usual ways to hide all GPUs.
bool means_none(std::string_view word) { return word.empty() || word == "-1" || word == "NoDevFiles"; }

}  // namespace

std::vector<size_t> visible_gpus(std::span<const NvmlGpu> gpus, const std::optional<std::string>& variable,
                                 std::vector<std::string>& repairs) {
  std::vector<size_t> visible;
  if (!variable) {
    visible.resize(gpus.size());
    std::iota(visible.begin(), visible.end(), size_t{0});
    return visible;
  }
  std::string_view rest = *variable;
  while (true) {
    const std::string_view word = without_spaces(rest.substr(0, rest.find(',')));
    const auto gpu = gpu_of_word(gpus, word);
    const bool is_known = gpu && std::ranges::find(visible, *gpu) != visible.end();
    if (!gpu || (is_known && !word.starts_with("MIG-"))) {
      if (!means_none(word))
        repairs.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}: '{}' names {}: CUDA ends the list there",
                                      variable->substr(0, 256), word.substr(0, 64),
                                      is_known ? "a GPU a second time" : "no GPU"));
      return visible;
    }
    if (!is_known) visible.push_back(*gpu);
    if (rest.find(',') == std::string_view::npos) return visible;
    rest.remove_prefix(rest.find(',') + 1);
  }
}

bool depends_on_numbers(const std::optional<std::string>& variable) {
  if (!variable) return true;
  bool is_start = true;  // of a word
  for (const char c : *variable) {
    if (is_start && c >= '0' && c <= '9') return true;
    is_start = c == ',' || (is_start && (c == ' ' || c == '\t'));
  }
  return false;
}

}  // namespace rondo
