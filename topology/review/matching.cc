// SPDX-License-Identifier: Apache-2.0
#include "matching.h"

#include <algorithm>

namespace rondo {

Matching::Matching(const Machine& a, const Machine& b) {
  const std::vector<MachinePart> parts_a = parts_of(a), parts_b = parts_of(b);
  std::map<std::pair<PartKind, std::string>, const MachinePart*> by_bus_id, by_name;
  for (const MachinePart& part : parts_a) taken_.insert(part.device->bus_id);
  for (const MachinePart& part : parts_b) by_bus_id[{part.kind, part.device->bus_id}] = &part;
  std::vector<const MachinePart*> found(parts_a.size(), nullptr);
  const auto take = [&](size_t i, auto& known, const std::string& key) {
    const auto other = known.find({parts_a[i].kind, key});
    if (other == known.end()) return;
    found[i] = other->second;
    known.erase(other);
  };
  for (size_t i = 0; i != parts_a.size(); ++i) take(i, by_bus_id, parts_a[i].device->bus_id);
  for (const auto& [key, part] : by_bus_id) by_name[{part->kind, part->name}] = part;
  for (size_t i = 0; i != parts_a.size(); ++i)
    if (found[i] == nullptr) take(i, by_name, parts_a[i].name);
  for (size_t i = 0; i != parts_a.size(); ++i) {
    if (found[i] == nullptr) {
      only_a.push_back(parts_a[i]);
    } else {
      pairs.emplace_back(parts_a[i], *found[i]);
      bus_ids[found[i]->device->bus_id] = parts_a[i].device->bus_id;
    }
  }
  for (const MachinePart& part : parts_b)
    if (!bus_ids.contains(part.device->bus_id)) only_b.push_back(part);
}

std::string Matching::in_a(const std::string& bus_id) const {
  const auto known = bus_ids.find(bus_id);
  if (known != bus_ids.end()) return known->second;
  return taken_.contains(bus_id) ? bus_id + "+" : bus_id;
}

const MachinePart* Matching::in_b(const std::string& bus_id_in_a) const {
  for (const auto& [part_a, part_b] : pairs)
    if (part_a.device->bus_id == bus_id_in_a) return &part_b;
  return nullptr;
}

}  // namespace rondo
