// SPDX-License-Identifier: Apache-2.0
// The ids of errors: one at the end of a text, whatever the sentence was made of and wherever it has been.
#include "base/status.h"

#include <cerrno>
#include <string>

#include "base/error_kinds.h"
#include "catch.h"

using namespace rondo;

namespace {

const char* const kNames[] = {
#define RONDO_NAME_OF_KIND(name, number, code) #name,
    RONDO_ERROR_KINDS(RONDO_NAME_OF_KIND)
#undef RONDO_NAME_OF_KIND
};
constexpr ErrorKind kKinds[] = {
#define RONDO_KIND(name, number, code) ErrorKind::name,
    RONDO_ERROR_KINDS(RONDO_KIND)
#undef RONDO_KIND
};

}  // namespace

TEST_CASE("an error without a kind has the id of its code") {
  CHECK(error(Code::Timeout, "rank {} is late", 3).text() == "rank 3 is late [R0006]");
  CHECK(out_of_memory().id() == "R0011");
  CHECK(Status(Code::InProgress, "not yet").text() == "not yet");
  CHECK(Status().text().empty());
  CHECK(Status().as(Code::Timeout).ok());
  CHECK(Status().because(ErrorKind::RankDied).ok());
}

TEST_CASE("an error of any kind keeps its id within contexts, with another code, and as text") {
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    INFO(kNames[i]);
    const Status status = error(kKinds[i], "rank {} left", 3);
    const std::string suffix = " [" + status.id() + "]";
    CHECK(status.message() == "rank 3 left");
    CHECK(status.within("call 7").text() == "call 7: rank 3 left" + suffix);
    const Status aborted = status.as(Code::Aborted);
    CHECK(aborted.code() == Code::Aborted);
    CHECK(aborted.text() == status.text());
    const Status read = Status::of_text(status.code(), status.within("rank 1").text());
    CHECK(read.kind() == kKinds[i]);
    CHECK(read.within("rank 0").text() == "rank 0: rank 1: rank 3 left" + suffix);
  }
}

TEST_CASE("the kind of a cause replaces that of what it caused") {
  const Status outer = error(ErrorKind::CallOverdue, "send did not complete");
  CHECK(outer.because(ErrorKind::WaitCircle).id() == "R0203");
  CHECK(outer.because(ErrorKind::WaitCircle).code() == Code::Timeout);
  CHECK(outer.because(error(Code::RemoteError, "x").kind()).id() == "R0206");
}

TEST_CASE("the id of a code is not kept as text, since another code may report it") {
  const Status read = Status::of_text(Code::Aborted, error(Code::Timeout, "rank 3 is late").text());
  CHECK(read.text() == "rank 3 is late [R0008]");
}

TEST_CASE("only a whole id at the end of a text is one") {
  for (const char* text :
       {"", "[R0203]", "a[R0203]", "a [R0203] b", "a [R203]", "a [R02O3]", "a [0203]", "a [R0203"})
    CHECK(Status::of_text(Code::Timeout, text).message() == text);
  CHECK(Status::of_text(Code::Timeout, "a [R9999]").text() == "a [R9999]");  // of a later version
}

TEST_CASE("limits of the system have ids of their own, whatever failed by them") {
  CHECK(system_error("poll", EMFILE).id() == "R0501");
  CHECK(system_error("cannot write a", ENOSPC, ErrorKind::FileUnwritable).id() == "R0505");
  CHECK(system_error("cannot write a", EISDIR, ErrorKind::FileUnwritable).id() == "R0902");
  CHECK(system_error("poll", EBADF).text() == "poll: Bad file descriptor [R0003]");
}
