// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/device_choice.h"

#include <charconv>

#include "base/error_kinds.h"
#include "base/log.h"
#include "gpu/device.h"
#include "kernels/device_folds.h"

namespace rondo {
namespace {

constexpr std::string_view kPrefix = "cuda:";

Status no_such_text(const std::string& text) {
  return error(ErrorKind::DeviceInvalid,
               "device is '{}': it must be host, cuda, cuda:N or cuda:N,M,... with numbers of GPUs", text);
}

Result<std::vector<int>> parse_list(const std::string& text) {
  RONDO_TRY_ASSIGN(const int count, gpu::device_count());
  std::vector<int> devices;
  const char* at = text.data() + kPrefix.size();
  const char* const end = text.data() + text.size();
  for (;;) {
    int device = -1;
    const auto [next, problem] = std::from_chars(at, end, device);
    if (problem != std::errc() || device < 0) return no_such_text(text);
    if (device >= count)
      return error(ErrorKind::DeviceInvalid, "device is '{}', but this process sees {} GPU{}", text, count,
                   count == 1 ? "" : "s");
    devices.push_back(device);
    if (next == end) return devices;
    if (*next != ',') return no_such_text(text);
    at = next + 1;
  }
}

/// Empty if the current GPU is unusable: one that the caller did not request must not cause an error.
std::vector<int> current_if_usable() {
  const auto current = gpu::current_device();
  if (!current) return {};
  const Status ready = load_device_kernels(*current);
  if (ready.ok()) return {*current};
  log().info("GPU {} is not used: {}", *current, ready.text());
  return {};
}

}  // namespace

Result<std::vector<int>> choose_devices(const std::string& text) {
  if (text.empty()) return current_if_usable();
  if (text == "host") return std::vector<int>();
  if (text.starts_with(kPrefix)) return parse_list(text);
  if (text != "cuda") return no_such_text(text);
  RONDO_TRY(gpu::device_count().status());
  return std::vector<int>{gpu::current_device().value_or(0)};
}

int current_or_first_device() {
  const auto count = gpu::device_count();
  return count.ok() && count.value() > 0 ? gpu::current_device().value_or(0) : -1;
}

Result<PeerGpu> open_device(int device) {
  if (device < 0) return PeerGpu();
  RONDO_TRY(load_device_kernels(device));
  RONDO_TRY_ASSIGN(const auto info, gpu::device_info(device));
  RONDO_TRY_ASSIGN(const int count, gpu::device_count());
  PeerGpu opened{.ordinal = device, .processors = info.processors, .uuid = info.uuid};
  if (auto bus_id = gpu::bus_id(device); bus_id.ok()) opened.bus_id = bus_id.take();
  for (int other = 0; other < count; ++other)
    if (gpu::linked(device, other)) {
      RONDO_TRY_ASSIGN(const auto peer, gpu::device_info(other));
      opened.linked.push_back(peer.uuid);
    }
  return opened;
}

}  // namespace rondo
