// Settings of the stand-in driver, from the environment (README.md). Read once, then never changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::standin {

struct Fault {
  std::string function;  // or a kernel
  uint64_t call;         // the first is 1
  int error;
};

struct Settings {
  std::vector<int> visible;  // devices, by their numbers in the machine
  bool peers = true;
  uint64_t memory_bytes = 0;  // of a device
  int processors = 0;         // of a device
  bool concurrent = false;    // kernels of a device may run together
  uint32_t queues = 0;        // of a context, for each priority; 0: streams do not share any
  uint64_t seed = 0;          // of delays; 0: none
  std::string folder;         // where processes take turns; empty: they do not
  bool guard = false;         // device memory is out of the host's reach
  std::string link_folder;    // where what is linked is left; empty: it is not
  std::vector<Fault> faults;
};

Settings settings_from_environment();

}  // namespace rondo::standin
