#include "comm/nearness.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace rondo {

std::vector<int> near_together(const std::vector<const Member*>& ranks) {
  std::map<uint64_t, size_t> hosts;  // in the order of their first ranks
  std::vector<std::pair<size_t, int32_t>> places;
  for (const Member* rank : ranks)
    places.emplace_back(hosts.emplace(rank->endpoint.host, hosts.size()).first->second, rank->first_cpu);
  std::vector<int> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&places](int a, int b) {
    return places[static_cast<size_t>(a)] < places[static_cast<size_t>(b)];
  });
  return order;
}

}  // namespace rondo
