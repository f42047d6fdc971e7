// SPDX-License-Identifier: Apache-2.0
// visible_gpus(): CUDA_VISIBLE_DEVICES as CUDA reads it.
#include "visible_gpus.h"

#include "catch.h"

namespace {

using namespace rondo;
using Numbers = std::vector<size_t>;

std::vector<NvmlGpu> gpus() {
  std::vector<NvmlGpu> result(4);
  result[0].uuid = "GPU-11aa0000-0000-0000-0000-000000000000";
  result[1].uuid = "GPU-11bb0000-0000-0000-0000-000000000000";
  result[2].uuid = "GPU-2cc00000-0000-0000-0000-000000000000";
  result[2].instances = {"MIG-77000000-0000-0000-0000-000000000000",
                         "MIG-88000000-0000-0000-0000-000000000000"};
  result[3].uuid = "GPU-3dd00000-0000-0000-0000-000000000000";
  return result;
}

struct Visible {
  Numbers numbers;
  std::vector<std::string> repairs;
};

Visible visible(const std::optional<std::string>& variable) {
  Visible result;
  result.numbers = visible_gpus(gpus(), variable, result.repairs);
  return result;
}

}  // namespace

TEST_CASE("without a value all GPUs are visible") {
  CHECK(visible(std::nullopt).numbers == Numbers{0, 1, 2, 3});
}

TEST_CASE("numbers matter unless the variable has none") {
  CHECK(depends_on_numbers(std::nullopt));
  for (const std::string variable : {"0", "GPU-11aa, 3", " 2", "NoDevFiles,1"})
    CHECK(depends_on_numbers(variable));
  for (const std::string variable : {"", "-1", "GPU-11aa", "GPU-11aa0000-0000, MIG-77000000-0000", ","})
    CHECK(!depends_on_numbers(variable));
}

TEST_CASE("numbers, UUIDs and their beginnings name GPUs, in this order") {
  CHECK(visible("2,0").numbers == Numbers{2, 0});
  CHECK(visible(" 3 , 1 ").numbers == Numbers{3, 1});
  CHECK(visible("GPU-3dd,GPU-11bb0000-0000-0000-0000-000000000000").numbers == Numbers{3, 1});
  CHECK(visible("2,0").repairs.empty());
}

TEST_CASE("instances of MIG name their GPU, once") {
  CHECK(
      visible("MIG-88000000-0000-0000-0000-000000000000,MIG-77000000-0000-0000-0000-000000000000").numbers ==
      Numbers{2});
  CHECK(visible("MIG-GPU-2cc00000-0000-0000-0000-000000000000/1/0").numbers == Numbers{2});
}

TEST_CASE("the usual ways to hide all GPUs are not reported") {
  for (const char* none : {"", "-1", "NoDevFiles"}) {
    CHECK(visible(none).numbers.empty());
    CHECK(visible(none).repairs.empty());
  }
}

TEST_CASE("what names no GPU ends the list, and is reported") {
  for (const std::string word :
       {"4", "x", "0x1", "GPU-11", "GPU-9", "MIG-99", "MIG-GPU-9/1/0", "99999999999999999999"}) {
    INFO(word);
    const Visible result = visible("1," + word + ",2");
    CHECK(result.numbers == Numbers{1});
    REQUIRE(result.repairs.size() == 1);
    CHECK(result.repairs[0].find("'" + word + "' names no GPU: CUDA ends the list there") !=
          std::string::npos);
  }
  CHECK(visible("1,1,2").numbers == Numbers{1});
  CHECK(visible("1,1,2").repairs.front().find("'1' names a GPU a second time") != std::string::npos);
}
