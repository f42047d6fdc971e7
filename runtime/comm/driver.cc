#include "comm/driver.h"

#include <algorithm>
#include <vector>

#include "comm/part.h"
#include "exec/patience.h"

namespace rondo {
namespace {

/// Runs them to their ends.
void run_parts(std::span<Part> parts) {
  bool crowded = false;
  for (Part& part : parts) crowded = crowded || part.communicator().crowded();
  Patience patience(crowded);
  for (bool all_over = false; !all_over;) {
    bool moved = false;
    all_over = true;
    for (Part& part : parts) {
      if (part.over()) continue;
      moved = part.advance() != Progress::Stuck || moved;
      all_over = all_over && part.over();
    }
    if (moved) {
      patience.reset();
    } else if (patience.wait()) {
      for (Part& part : parts) part.look(patience.waited_ns());
    }
  }
}

Status run_group(std::span<const Item> items) {
  MessageStreams streams;
  std::vector<Part> parts;
  parts.reserve(items.size());  // so that they stay where they are
  for (const Item& item : items) {
    const bool known = std::any_of(parts.begin(), parts.end(),
                                   [&](Part& part) { return &part.communicator() == item.communicator; });
    if (!known) parts.emplace_back(*item.communicator, items, streams);
  }
  run_parts(parts);
  for (const Part& part : parts) RONDO_TRY(part.status());
  return {};
}

/// What most calls are: no memory is needed for it.
Status run_one(const Item& item) {
  MessageStreams streams;
  Part part(*item.communicator, {&item, 1}, streams);
  run_parts({&part, 1});
  return part.status();
}

}  // namespace

Status drive(std::span<const Item> items) {
  RONDO_TRY(items.size() == 1 ? run_one(items.front()) : run_group(items));
  for (const Item& item : items)
    if (item.finish) item.finish();
  return {};
}

}  // namespace rondo
