// SPDX-License-Identifier: Apache-2.0
// The list of devices.
#include <arpa/inet.h>

#include <cstdio>

#include "context.h"

namespace rondo::fabric {
namespace {

ListedDevice* make_device(uint32_t index, const DeviceSetting& setting) {
  auto* const device = new ListedDevice;
  const std::string& sys = process().settings.sys;
  device->index = index;
  device->ports = setting.ports;
  device->node_type = setting.is_iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
  device->transport_type = setting.is_iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  std::snprintf(device->name, sizeof device->name, "rondo_%u", index);
  std::snprintf(device->dev_name, sizeof device->dev_name, "uverbs%u", index);
  std::snprintf(device->dev_path, sizeof device->dev_path, "%s/class/infiniband_verbs/uverbs%u", sys.c_str(),
                index);
  std::snprintf(device->ibdev_path, sizeof device->ibdev_path, "%s/class/infiniband/rondo_%u", sys.c_str(),
                index);
  return device;
}

}  // namespace

void hold(ListedDevice& device) { ++device.holders; }

void let_go(ListedDevice& device) {
  if (--device.holders == 0) delete &device;
}

}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED ibv_device** ibv_get_device_list(int* count) {
  const std::vector<DeviceSetting>& settings = process().settings.devices;
  auto** const list = new ibv_device*[settings.size() + 1]();
  for (uint32_t i = 0; i < settings.size(); ++i) {
    ListedDevice* const device = make_device(i, settings[i]);
    hold(*device);
    list[i] = device;
  }
  if (count != nullptr) *count = static_cast<int>(settings.size());
  return list;
}

EXPORTED void ibv_free_device_list(ibv_device** list) {
  for (ibv_device** device = list; *device != nullptr; ++device) let_go(static_cast<ListedDevice&>(**device));
  delete[] list;
}

EXPORTED const char* ibv_get_device_name(ibv_device* device) { return device->name; }

EXPORTED int ibv_get_device_index(ibv_device* device) {
  return static_cast<int>(static_cast<ListedDevice&>(*device).index);
}

EXPORTED __be64 ibv_get_device_guid(ibv_device* device) {
  const uint32_t low = htonl(process().settings.host * 256 + static_cast<ListedDevice&>(*device).index + 1);
  return uint64_t{low} << 32 | htonl(0x02000000);
}
