// What a socket of a tcp connection is told about its way.
#pragma once

#include <cstddef>

namespace rondo::tcp {

/// From messages of this length on, what a pace costs is more than what it saves.
constexpr size_t kLeastUnpaced = size_t{16} * 1024;

/// Lets all go at once that the peer has room for, where nothing leaves the host. Never fails: without it the
/// socket works as well, only slower. Due with the first long message: a system's own rule, such as BBR, lets
/// few packets be on their way, so that short messages that nobody waits for go out together.
void unpace(int fd);

}  // namespace rondo::tcp
