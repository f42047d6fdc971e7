// SPDX-License-Identifier: Apache-2.0
// UserRegions: memory of the user's that a session has registered with a device, so that messages leave from
// where they are, and go where they belong. A piece is registered whole, when a call first uses it, until it
// is freed. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "base/exportable.h"
#include "verbs/region.h"

namespace rondo::verbs {

class UserRegions : public std::enable_shared_from_this<UserRegions> {
 public:
  using Register = std::function<Result<std::unique_ptr<Region>>(const ExportableMemory& piece)>;
  /// `everything`: holds all memory, for messages that leave; null: only what is added is registered.
  UserRegions(Register registers, std::shared_ptr<const Region> everything)
      : register_(std::move(registers)), everything_(std::move(everything)) {}

  /// Registers the piece, unless that was tried before. If it fails, and until it is done, messages from
  /// and to there are copied.
  void add(const ExportableMemory& piece);
  /// The region that holds these bytes; null if there is none.
  std::shared_ptr<const Region> find(const std::byte* at, size_t bytes);
  /// Gives all that were added up, so that they may be added again. Whether there were any.
  bool clear();
  /// Before their domain ends.
  void end() {
    clear();
    everything_.reset();
  }

 private:
  struct KnownPiece {
    uint64_t number = 0;
    std::shared_ptr<const Region> region;  // null: it could not be registered
  };
  using Pieces = std::multimap<const std::byte*, KnownPiece>;  // by address: they may overlap
  Pieces::iterator known(const ExportableMemory& piece);
  void forget(const ExportableMemory& piece);

  const Register register_;
  std::shared_ptr<const Region> everything_;
  std::mutex mutex_;
  Pieces pieces_;
};

}  // namespace rondo::verbs
