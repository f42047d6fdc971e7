// SPDX-License-Identifier: Apache-2.0
// MSCCL's files that are broken or made to do harm: each is refused with file, line and what was expected, in
// bounded time and memory. They are read piece by piece, so all of this has to hold wherever a piece ends.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <thread>

#include "base/fd.h"
#include "catch.h"
#include "counted_memory.h"
#include "folder.h"
#include "formats/msccl_xml.h"
#include "sanitized.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Of CPU time: less than one on a quiet machine, and here up to twice that beside other tests.
constexpr double kMaxSeconds = 4;

constexpr size_t kPiece = size_t{256} << 10;  // of the reader

/// Of `blocks` thread blocks, each with `steps` of that text, "{}" being their number.
std::string program_text(int blocks, int steps, const std::string& step,
                         const std::string& end = "</gpu></algo>") {
  std::string text =
      "<algo nchunksperloop=\"1\" ngpus=\"2\" coll=\"allreduce\">\n<gpu id=\"1\"/>\n<gpu id=\"0\">\n";
  for (int block = 0; block < blocks; ++block) {
    text += fmt::format("<tb id=\"{}\" send=\"1\" recv=\"1\" chan=\"0\">\n", block);
    for (int i = 0; i < steps; ++i) text += fmt::format(fmt::runtime(step), i) + "\n";
    text += "</tb>\n";
  }
  return text + end;
}

const std::string kStep =
    R"(<step s="{}" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>)";

std::string small(const std::string& from = "", const std::string& to = "") {
  std::string text = program_text(1, 2, kStep);
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string message_of(const std::string& text) {
  const Status status = msccl_program_from_xml(text, "x.xml").status();
  CHECK((status.ok() || status.code() == Code::InvalidArgument));
  return status.message();
}

std::string times(size_t count, const std::string& piece) {
  std::string text;
  for (size_t i = 0; i != count; ++i) text += piece;
  return text;
}

const std::string kCutOff = "; the text ends here: is it cut off?";

}  // namespace

TEST_CASE("text that is not XML, or more than the reader takes, is refused with its line") {
  REQUIRE(message_of(small()) == "");
  const std::string malformed = "not well-formed XML: ";
  for (const auto& [text, line, message] : std::vector<std::tuple<std::string, int, std::string>>{
           {"", 1, malformed + "no element: expected <algo>" + kCutOff},
           {" \n\t\n", 3, malformed + "no element: expected <algo>" + kCutOff},
           {"<", 1, malformed + "a tag without >" + kCutOff},
           {small().substr(0, small().find(" cnt")), 5, malformed + "a tag without >" + kCutOff},
           {small().substr(0, small().find("</tb")), 7, malformed + "<tb> of line 4 without </tb>" + kCutOff},
           {small().substr(0, small().find("</algo")), 8,
            malformed + "<algo> of line 1 without </algo>" + kCutOff},
           {small("</tb>", "</gpu>"), 7, malformed + "</gpu> within <tb> of line 4: expected </tb>"},
           {small("</tb>", "</tb x>"), 7, malformed + "'x' within </tb>: expected '>'"},
           {small() + "</algo>", 8, malformed + "</algo> outside of <algo>: expected nothing"},
           {"</algo>", 1, malformed + "</algo> outside of <algo>: expected nothing"},
           {small("<tb", "<<tb"), 4, malformed + "'<' after '<': expected the name of an element"},
           {small("<tb", "<\xc3\xa4"), 4, malformed + "'?' after '<': expected the name of an element"},
           {small("send=", "send"), 4, malformed + "<tb> has send without a value: expected send=\"...\""},
           {small("send=\"1\"", "send=1"), 4,
            malformed + "<tb> has send without quotes: expected send=\"...\""},
           {small("send=\"1\" ", "send=\"1\""), 4, malformed + "'r' within <tb>: expected a space before it"},
           {small("send=", "=send="), 4, malformed + "'=' within <tb>: expected an attribute, '/' or '>'"},
           {small("chan=\"0\"", "/ chan=\"0\""), 4, malformed + "' ' within <tb>: expected '>' after '/'"},
           {small("chan=\"0\"", "chan=\"0"), 4,
            malformed + "'<' in the value of chan of <tb>: expected &lt;, or \" before it"},
           {small("chan=\"0\"", "send=\"0\""), 4, "<tb> has send twice"},
           {small("<tb", "text <tb"), 4, "<gpu> contains the text 'text': expected elements only"},
           {small("<tb", "<![CDATA[x]]><tb"), 4,
            "<gpu> contains the text '<![CDATA[x]]>': expected elements only"},
           {small("</tb>", "<!-- </tb>"), 7, malformed + "<!-- without -->" + kCutOff},
           {"<?xml " + small(), 1, malformed + "<? without ?>" + kCutOff},
           {"<?xml version=\"1.0\" encoding='latin1'?>" + small(), 1, "encoding=\"latin1\": expected UTF-8"},
           {"\xff\xfe<\0a\0", 1, "UTF-16: expected XML in UTF-8"},
           {std::string("<\0a\0l\0", 6), 1, "a NUL byte: expected XML in UTF-8"},
           {small("<tb", std::string("\0<tb", 4)), 4, "a NUL byte: expected XML in UTF-8"},
           {"<!DOCTYPE algo>\n" + small(), 1, "<!DOCTYPE ...>: expected none, as entities are not expanded"},
           {small("<tb", "<!ENTITY a \"b\"><tb"), 4,
            malformed + "'!' after '<': expected the name of an element"},
           {small("<algo", "<algo name=\"a&lol;\""), 1,
            "<algo> has name=\"a&lol;\": expected &lt; &gt; &amp; &quot; &apos; or the number of a "
            "character, such as "
            "&#38;, after no other '&'"},
           {small("<algo", "<algo name=\"a&lt;b\n&lol;\""), 1,
            "<algo> has name=\"a&lt;b?&lol;\": expected &lt; &gt; &amp; &quot; &apos; or the number of a "
            "character, such as "
            "&#38;, after no other '&'"},
           {small("<algo", "<algo name=\"\x1b[2J\""), 1, "name=\"?[2J\": expected printable text in UTF-8"},
           {small("<algo", "<algo name=\"&#27;[2J\""), 1, "name=\"?[2J\": expected printable text in UTF-8"},
           {small("<algo", "<algo name=\"\xff\""), 1, "name=\"?\": expected printable text in UTF-8"},
           {small("<algo", "<algo name=\"" + std::string(255, 'x') + "\""), 1,
            "name=\"" + std::string(64, 'x') + "...\" is longer than 254 bytes"},
           {small("<algo", "<algo name=\"" + std::string(10'000'000, 'x') + "\""), 1,
            "name=\"" + std::string(64, 'x') + "...\" is longer than 254 bytes"},
           {small("<algo", "<algo " + std::string(10'000'000, 'x')), 1,
            "<algo> has " + std::string(64, 'x') + "...: a name of more than 254 bytes"},
           {small("<tb", "<" + std::string(10'000'000, 'x')), 4,
            "<" + std::string(64, 'x') + "...>: a name of more than 254 bytes"},
           {small("<algo", "<algo" + std::string(100'000, ' ')), 1,
            malformed + "a tag of more than 65536 bytes: expected '>'"},
           {small("<algo", "<algo" + times(100'000, " a=\"1\"")), 1, "<algo> has more than 32 attributes"},
           {small("hasdep=\"0\"/>", "hasdep=\"0\"><a/></step>"), 5, "<a> within <step>: expected no element"},
           {times(1'000'000, "<a>"), 1, "<a>: expected <algo>, an algorithm of MSCCL"},
           {small("<tb", times(1'000'000, "<gpu id='1'>")), 4, "<gpu> within <gpu>: expected <tb>"}}) {
    CAPTURE(text.substr(0, 1000));
    CHECK(message_of(text) == fmt::format("x.xml:{}: {}", line, message));
  }
}

TEST_CASE("what XML may have besides elements is passed over") {
  const std::string many_lines = times(kPiece / 2, "-\n");
  for (const std::string& text :
       {"\xef\xbb\xbf" + small(), "<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n" + small(),
        "<!-- <algo> " + many_lines + " -->" + small(), small() + "\n<!-- the end --><?end?>\n",
        small("<tb id=\"0\"", "<tb\r\n id = '0'"), small("</tb>", "</tb\n>"),
        small("hasdep=\"0\"/>", "hasdep=\"0\"></step>")}) {
    CAPTURE(text.substr(0, 1000));
    CHECK(message_of(text) == "");
  }
  const auto named = msccl_program_from_xml(
      small("<algo", "<algo name=\"a&#10;&lt;b&#x3e; &quot;\xc3\xa4&#xe4;&apos;\r\nc\""), "x.xml");
  CHECK(named.status().message() == "x.xml:1: name=\"a?<b> \"?\?\?\?' c\": expected printable text in UTF-8");
  const auto read = msccl_program_from_xml(
      small("<algo", "<algo name=\"&lt;b&#x3e; &amp;quot;\xc3\xa4&#xe4;&apos;\r\nc\""), "x.xml");
  REQUIRE(read.status().message() == "");
  CHECK(read.value().name == "<b> &quot;\xc3\xa4\xc3\xa4' c");
}

TEST_CASE("a file cut off anywhere is refused, and says its line where a piece ends within it") {
  const std::string text = program_text(1, 3000, kStep);  // longer than a piece
  REQUIRE(text.size() > kPiece + 10'000);
  REQUIRE(message_of(text) == "");
  for (size_t end = 0; end < text.size();
       end += (end < 700 || (end > kPiece - 300 && end < kPiece + 300) ? 1 : 997)) {
    CAPTURE(end);
    const std::string message = message_of(text.substr(0, end));
    CHECK(message.starts_with("x.xml:"));
    CHECK(message.ends_with(kCutOff));
  }
  // The same error, wherever it is.
  for (size_t lines = 0; lines < 200; ++lines) {
    std::string moved = times(lines, "\n") + text;
    const size_t line = lines + 3 + 1 + 2'000;
    moved.replace(moved.find("s=\"1999\""), 8, "s=\"abcd\"");
    CHECK(message_of(moved) ==
          fmt::format("x.xml:{}: <step> has s=\"abcd\": expected a whole number from 0 to 65534", line));
  }
}

TEST_CASE("numbers that are negative, huge or none are refused with what was expected") {
  for (const auto& [from, to, message] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"cnt=\"1\"", "cnt=\"0\"", "<step> has cnt=\"0\": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"-1\"", "<step> has cnt=\"-1\": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"65535\"",
            "<step> has cnt=\"65535\": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"4294967297\"",
            "<step> has cnt=\"4294967297\": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"18446744073709551617\"",
            "<step> has cnt=\"18446744073709551617\": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"+1\"", "<step> has cnt=\"+1\": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"1 \"", "<step> has cnt=\"1 \": expected a whole number from 1 to 65534"},
           {"cnt=\"1\"", "cnt=\"1.0\"", "<step> has cnt=\"1.0\": expected a whole number from 1 to 65534"},
           {"srcoff=\"0\"", "srcoff=\"65535\"",
            "<step> has srcoff=\"65535\": expected a whole number from 0 to 65534"},
           {"depid=\"-1\"", "depid=\"-2\"",
            "<step> has depid=\"-2\": expected a whole number from -1 to 65534"},
           {"depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"-1\"",
            "<step> waits for step -1 of <tb> 0, which <gpu id=\"0\"> does not have"},
           {"depid=\"-1\" deps=\"-1\"", "depid=\"65534\" deps=\"65534\"",
            "<step> waits for step 65534 of <tb> 65534, which <gpu id=\"0\"> does not have"}})
    CHECK(message_of(small(from, to)) == "x.xml:5: " + message);
  CHECK(message_of(small("cnt=\"1\"", "cnt=\"0x1\"")) == "");
}

TEST_CASE("a file of a million steps is read in seconds and 64 MiB, one of more is refused") {
  const int steps = brief() ? 10'000 : 50'000, blocks = 20;
  const auto read = [&](const std::string& text, const std::string& message) {
    const std::clock_t begin = std::clock();
    const CountedMemory memory;
    CHECK(message_of(text) == message);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(memory.peak_bytes() < size_t{32} << 20);
    if (!kSanitized) CHECK(seconds < kMaxSeconds);
  };
  read(program_text(blocks, steps, kStep), "");
  read(program_text(blocks, steps, kStep, "</gpu>"),
       fmt::format("x.xml:{}: not well-formed XML: <algo> of line 1 without </algo>{}",
                   3 + blocks * (steps + 2) + 1, kCutOff));
  const std::string line = std::string(kStep).replace(kStep.find("cnt=\"1\""), 7, "cnt=\"6\"");
  read(program_text(4, 41'667, line),
       fmt::format("x.xml:{}: more than 1000000 steps of one chunk: expected at most as many",
                   3 + 3 * 41'669 + 1 + 1'000'000 / 6 + 1 - 3 * 41'667));
}

TEST_CASE("no text takes more than seconds or 64 MiB") {
  std::string names;
  for (int i = 0; i < 32; ++i)
    names += fmt::format(" a{}x=\"1\"", static_cast<char>('a' + i % 26) + std::to_string(i));
  std::string blocks = "<algo nchunksperloop=\"1\" ngpus=\"1024\" coll=\"allreduce\">";
  for (int gpu = 0; gpu < 4; ++gpu) {
    blocks += fmt::format("<gpu id=\"{}\">", gpu);
    for (int i = 0; i < 65'000; ++i) blocks += fmt::format("<tb id=\"{}\"/>", i);
    blocks += "</gpu>";
  }
  const std::string head = "<algo nchunksperloop=\"1\" ngpus=\"1\" coll=\"allreduce\"><gpu id=\"0\">";
  std::string attributes = head;
  for (int block = 0; block < 8; ++block) {
    attributes += fmt::format("<tb id=\"{}\">", block);
    for (int i = 0; i < 60'000; ++i)
      attributes += fmt::format("<step s=\"{}\" type=\"nop\"", i) + names.substr(0, 240) + "/>";
    attributes += "</tb>";
  }
  const size_t kBytes = brief() ? 10'000'000 : 100'000'000;
  for (const auto& [name, text] : std::vector<std::pair<const char*, std::string>>{
           {"spaces", std::string(kBytes, ' ')},
           {"lines", std::string(kBytes, '\n')},
           {"a comment", "<!--" + std::string(kBytes, '-')},
           {"a comment of '>'", "<!--" + std::string(kBytes, '>')},
           {"comments", times(kBytes / 7, "<!---->")},
           {"instructions", times(kBytes / 5, "<?a?>")},
           {"declarations", times(kBytes / 30, "<?xml encoding=\"utf-8\"    ?>\n\n")},
           {"'<'", std::string(kBytes, '<')},
           {"'&'", "<algo a='" + std::string(kBytes, '&')},
           {"blocks", blocks},
           {"attributes", attributes}}) {
    INFO(name);
    const std::clock_t begin = std::clock();
    const CountedMemory memory;
    const std::string message = message_of(text);
    CHECK(message.starts_with("x.xml:"));
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    CHECK(memory.peak_bytes() < size_t{32} << 20);
    if (!kSanitized) CHECK(seconds < kMaxSeconds);
    if (std::string_view(name) == "blocks")
      CHECK(message.ends_with("more than 250000 thread blocks: expected at most as many"));
    if (std::string_view(name) == "attributes")
      CHECK(message.ends_with("more than 12000000 attributes: a file has at most as many"));
  }
}

TEST_CASE("what is no file of text is an error that names it") {
  const Folder folder;
  const std::string path = folder / "x.xml";
  CHECK(msccl_program_from_xml_file(path).status().message() == path + ": No such file or directory");
  CHECK(msccl_program_from_xml_file(folder.path()).status().message() == folder.path() + ": Is a directory");
  CHECK(msccl_program_from_xml_file("/dev/zero").status().message() ==
        "/dev/zero:1: a NUL byte: expected XML in UTF-8");
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(msccl_program_from_xml_file(pipe).status().message() ==
        pipe + ":1: not well-formed XML: no element: expected <algo>" + kCutOff);
  std::ofstream(path) << small();
  CHECK(msccl_program_from_xml_file(path).ok());
  // Of spaces, which no other limit ends.
  std::filesystem::resize_file(path, 0);
  std::ofstream(path) << small();
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Fd source(ends[0]);
  std::thread writer([sink = Fd(ends[1])] {
    const std::string spaces(1 << 20, ' ');
    for (int i = 0; i < 193; ++i)
      for (size_t done = 0; done < spaces.size();) {
        const ssize_t bytes = ::write(sink.get(), spaces.data() + done, spaces.size() - done);
        if (bytes <= 0) return;
        done += static_cast<size_t>(bytes);
      }
  });
  const std::string endless = fmt::format("/proc/self/fd/{}", source.get());
  CHECK(msccl_program_from_xml_file(endless).status().message() ==
        endless + ": larger than 201326592 bytes: no file of its kind is");
  // What it still writes has a reader, so it ends.
  char rest[65536];
  while (::read(source.get(), rest, sizeof(rest)) > 0) {
  }
  writer.join();
}
