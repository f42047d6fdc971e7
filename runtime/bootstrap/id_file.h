// SPDX-License-Identifier: Apache-2.0
// IdFile: a file through which rank 0 passes the unique id, and with it the job's secret, to the other ranks.
// So it is read only if no other user can have written it. Any thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "bootstrap/rendezvous.h"

namespace rondo {

class IdFile {
 public:
  /// Replaces any file at `path` atomically: readers find the whole file or none.
  static Result<std::shared_ptr<IdFile>> write(const std::string& path, const UniqueId& id);
  /// Removes the file, unless another one has replaced it.
  ~IdFile();

  /// RemoteError if there is no file or it is incomplete; InvalidArgument if it is not a regular file of this
  /// user, inaccessible to all other users. Never waits.
  static Result<UniqueId> read(const std::string& path);

 private:
  IdFile(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}
  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace rondo
