// SPDX-License-Identifier: Apache-2.0
// NetPlugin: the functions of a loaded network plugin, whichever version of the interface it has. A failure
// names the function, the plugin and its result. Comms are opened, registered and closed by one thread of the
// process at a time; requests of different comms are made and tested by several, those of one comm by one at
// a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rondo::plugin {

/// A network card, as the plugin numbers it.
struct NetDevice {
  int number = 0;
  std::string name;
  int memory_kinds = 0;
  int speed_mbits = 0;
  size_t max_bytes = 0;  // of a message
};

class NetPlugin {
 public:
  virtual ~NetPlugin() = default;
  NetPlugin(const NetPlugin&) = delete;
  NetPlugin& operator=(const NetPlugin&) = delete;

  /// What it calls itself.
  const std::string& name() const { return name_; }
  int version() const { return version_; }
  /// The first function that it lacks; null if it has all that are called.
  virtual const char* missing_function() const = 0;

  /// Once in a process, before anything else.
  virtual Status init() = 0;
  virtual Status count_devices(int& count) = 0;
  virtual Status describe(int device, NetDevice& described) = 0;

  // Comms: one that listens, by whose handle the peer connects one that sends to the one that accept() makes.
  // `comm` stays null until the peer has come far enough: call again, with the same handle.
  virtual Status listen(int device, void* handle, void*& comm) = 0;
  virtual Status connect(int device, void* handle, void*& comm) = 0;
  virtual Status accept(void* listener, void*& comm) = 0;
  virtual Status close_listen(void* comm) = 0;
  virtual Status close_send(void* comm) = 0;
  virtual Status close_receive(void* comm) = 0;

  virtual Status register_memory(void* comm, void* data, size_t bytes, void*& region) = 0;
  virtual Status deregister_memory(void* comm, void* region) = 0;

  // Requests: null if the plugin has no room for it yet. One that is done no longer exists.
  virtual Status send(void* comm, void* data, size_t bytes, void* region, void*& request) = 0;
  virtual Status receive(void* comm, void* data, size_t bytes, void* region, void*& request) = 0;
  virtual Status test(void* request, bool& is_done, int& bytes) = 0;

 protected:
  NetPlugin(const char* name, int version) : name_(name != nullptr ? name : "?"), version_(version) {}
  Status checked(const char* function, int result) const {
    return result == 0 ? Status() : failed(function, result);
  }

 private:
  Status failed(const char* function, int result) const;

  const std::string name_;
  const int version_;
};

/// The functions in a plugin's table of this version, which lives as long as the process.
std::unique_ptr<NetPlugin> adapted(int version, const void* table);

/// Puts a line of a plugin into the log.
void log_plugin_line(int level, std::string_view line);

}  // namespace rondo::plugin
