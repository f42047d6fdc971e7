// SPDX-License-Identifier: Apache-2.0
// Reading MSCCL's files: what is read, and the errors with which a file is refused.
#include "formats/msccl_xml.h"

#include <fmt/core.h>

#include <tuple>

#include "catch.h"

using namespace rondo;

namespace {

/// Two GPUs exchange their blocks.
const std::string kExchange =
    R"(<algo name="exchange" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0">
  <gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="1" o_chunks="2" s_chunks="3">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="0" deps="1" hasdep="0"/>
      <step s="1" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
)";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void refuse(const std::string& text, const std::string& sentence) {
  const auto program = msccl_program_from_xml(text, "x.xml");
  REQUIRE_FALSE(program.ok());
  CHECK(program.status().code() == Code::InvalidArgument);
  CHECK(program.status().message() == sentence);
}

}  // namespace

TEST_CASE("a program is read with its blocks, steps and waits") {
  const auto read = msccl_program_from_xml(kExchange, "x.xml");
  REQUIRE(read.status().message() == "");
  const MscclProgram& program = read.value();
  CHECK(program.name == "exchange");
  CHECK(program.collective == CollectiveKind::AllGather);
  CHECK(program.parts == 1);
  CHECK_FALSE(program.in_place);
  REQUIRE(program.gpus.size() == 2);
  CHECK(program.gpus[1].scratch_chunks == 3);
  REQUIRE(program.gpus[0].blocks.size() == 2);
  const MscclBlock& block = program.gpus[0].blocks[0];
  CHECK((block.send == 1 && block.recv == 1 && block.channel == 0));
  const MscclStep& receive = block.steps[1];
  const MscclType& type = receive.type();
  CHECK((type.receives && type.copies && !type.sends && !type.reduces));
  CHECK((receive.dst_buffer == MscclBuffer::Output && receive.dst_chunk == 1));
  CHECK_FALSE(receive.reads_source());
  const MscclStep& copy = program.gpus[0].blocks[1].steps[0];
  CHECK((copy.wait_block == 0 && copy.wait_step == 1 && copy.reads_source()));
  CHECK(program.gpus[1].blocks[1].steps[0].count == 0);
}

TEST_CASE("what is no such program is refused with the line and what was expected") {
  refuse("<graphs/>", "x.xml:1: <graphs>: expected <algo>, an algorithm of MSCCL");
  refuse(changed(kExchange, "coll=\"allgather\"", "coll=\"gossip\""),
         "x.xml:1: <algo> has coll=\"gossip\": expected allreduce, allgather, reducescatter or alltoall");
  refuse(changed(kExchange, "nchunksperloop=\"2\"", "nchunksperloop=\"3\""),
         "x.xml:1: <algo> has nchunksperloop=\"3\": expected a multiple of its 2 GPUs");
  refuse(changed(kExchange, " ngpus=\"2\"", ""), "x.xml:1: <algo> has no ngpus");
  refuse(changed(kExchange, "ngpus=\"2\"", "ngpus=\"1000\" "),
         "x.xml:1: <algo> has nchunksperloop=\"2\": expected a multiple of its 1000 GPUs");
  refuse(changed(kExchange, "<gpu id=\"1\"", "<gpu id=\"0\""),
         "x.xml:11: a second <gpu> with id=\"0\": expected one");
  refuse(changed(kExchange, "<tb id=\"1\"", "<tb id=\"2\""), "x.xml:7: <tb> has id=\"2\": expected 1");
  refuse(changed(kExchange, "send=\"1\"", "send=\"0\""), "x.xml:3: <tb> of GPU 0 has itself as a peer");
  refuse(changed(kExchange, "step s=\"1\"", "step s=\"7\""), "x.xml:5: <step> has s=\"7\": expected 1");
  refuse(changed(kExchange, "type=\"r\"", "type=\"recv\""),
         "x.xml:5: <step> has type=\"recv\": expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop");
  refuse(changed(kExchange, "srcbuf=\"i\"", "srcbuf=\"x\""),
         "x.xml:4: <step> has srcbuf=\"x\": expected i, o or s");
  refuse(changed(kExchange, "type=\"cpy\"", "type=\"s\""),
         "x.xml:8: <step> of type s in a <tb> that sends to no GPU");
  refuse(changed(kExchange, "type=\"cpy\"", "type=\"rcs\""),
         "x.xml:8: <step> of type rcs in a <tb> that receives from no GPU");
  refuse(changed(kExchange, "depid=\"0\" deps=\"1\"", "depid=\"0\" deps=\"2\""),
         "x.xml:8: <step> waits for step 2 of <tb> 0, which <gpu id=\"0\"> does not have");
  refuse(changed(kExchange, "</tb>", "<stop/></tb>"), "x.xml:6: <stop> within <tb>: expected <step>");
  refuse(kExchange + "\ngoodbye\n", "x.xml:23: the text 'goodbye' outside of <algo>: expected nothing");
  refuse("Algorithm:" + kExchange, "x.xml:1: the text 'Algorithm:' outside of <algo>: expected nothing");
  refuse(kExchange + "<algo/>", "x.xml:22: <algo> follows the end of <algo>: expected nothing");
}

TEST_CASE("a number that is empty is refused with the line and what was expected") {
  for (const auto& [attribute, line, sentence] :
       {std::tuple{R"( ngpus="2")", 1, R"(<algo> has ngpus="": expected a whole number from 1 to 1024)"},
        {R"( nchunksperloop="2")", 1,
         R"(<algo> has nchunksperloop="": expected a whole number from 1 to 65534)"},
        {R"( inplace="0")", 1, R"(<algo> has inplace="": expected a whole number from 0 to 1)"},
        {R"( id="0")", 2, R"(<gpu> has id="": expected a whole number from 0 to 1)"},
        {R"( i_chunks="1")", 2, R"(<gpu> has i_chunks="": expected a whole number from 0 to 1)"},
        {R"( o_chunks="2")", 2, R"(<gpu> has o_chunks="": expected a whole number from 0 to 2)"},
        {R"( s_chunks="0")", 2, R"(<gpu> has s_chunks="": expected a whole number from 0 to 65534)"},
        {R"( send="1")", 3, R"(<tb> has send="": expected a whole number from -1 to 1)"},
        {R"( recv="1")", 3, R"(<tb> has recv="": expected a whole number from -1 to 1)"},
        {R"( chan="0")", 3, R"(<tb> has chan="": expected a whole number from 0 to 65534)"},
        {R"( s="0")", 4, R"(<step> has s="": expected a whole number from 0 to 65534)"},
        {R"( srcoff="0")", 4, R"(<step> has srcoff="": expected a whole number from 0 to 65534)"},
        {R"( dstoff="0")", 4, R"(<step> has dstoff="": expected a whole number from 0 to 65534)"},
        {R"( cnt="1")", 4, R"(<step> has cnt="": expected a whole number from 1 to 65534)"},
        {R"( depid="-1")", 4, R"(<step> has depid="": expected a whole number from -1 to 65534)"},
        {R"( deps="-1")", 4, R"(<step> has deps="": expected a whole number from -1 to 65534)"}}) {
    const std::string name = std::string(attribute).substr(0, std::string(attribute).find('"'));
    refuse(changed(kExchange, attribute, name + "\"\""), fmt::format("x.xml:{}: {}", line, sentence));
  }
}

TEST_CASE("any other attribute that is empty is refused with the line") {
  for (const auto& [attribute, line, element] : {std::tuple{R"( name="exchange")", 1, "algo"},
                                                 {R"( proto="Simple")", 1, "algo"},
                                                 {R"( nchannels="1")", 1, "algo"},
                                                 {R"( hasdep="0")", 4, "step"}}) {
    const std::string name = std::string(attribute).substr(0, std::string(attribute).find('"'));
    refuse(changed(kExchange, attribute, name + "\"\""),
           fmt::format("x.xml:{}: <{}> has{}\"\": expected a value", line, element, name));
  }
  refuse(changed(kExchange, R"(<gpu id="0")", R"(<gpu id="0" note="")"),
         R"(x.xml:2: <gpu> has note="": expected a value)");
  refuse(changed(kExchange, R"(<tb id="0")", R"(<tb id="0" note="")"),
         R"(x.xml:3: <tb> has note="": expected a value)");
  refuse(changed(kExchange, R"(type="nop" srcbuf="i")", R"(type="nop" srcbuf="")"),
         R"(x.xml:17: <step> has srcbuf="": expected a value)");
  refuse(changed(kExchange, R"(type="s")", R"(type="")"),
         R"(x.xml:4: <step> has type="": expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop)");
  const auto nameless = msccl_program_from_xml(changed(kExchange, R"( name="exchange")", ""), "x.xml");
  REQUIRE(nameless.ok());
  CHECK(msccl_program_from_xml(msccl_xml(nameless.value()), "x.xml").status().message() == "");
}

TEST_CASE("steps that name more chunks than the file says its buffers have are refused") {
  refuse(changed(kExchange, R"(i_chunks="1")", R"(i_chunks="0")"),
         R"(x.xml:4: <step> has srcoff="0" and cnt="1": expected chunks of the 0 of i_chunks)");
  refuse(changed(kExchange, R"(o_chunks="2")", R"(o_chunks="1")"),
         R"(x.xml:5: <step> has dstoff="1" and cnt="1": expected chunks of the 1 of o_chunks)");
  // Whether they name more than the collective has shows when they run.
  const auto beyond = msccl_program_from_xml(
      changed(kExchange, R"(type="cpy" srcbuf="i" srcoff="0")", R"(type="cpy" srcbuf="i" srcoff="9")"),
      "x.xml");
  REQUIRE(beyond.status().message() == "");
  CHECK(msccl_program_from_xml(msccl_xml(beyond.value()), "x.xml").status().message() == "");
}

TEST_CASE("buffers of more chunks than the collective has are refused, of fewer are not") {
  refuse(changed(kExchange, "i_chunks=\"1\"", "i_chunks=\"2\""),
         "x.xml:2: <gpu> has i_chunks=\"2\": expected a whole number from 0 to 1");
  refuse(changed(kExchange, "o_chunks=\"2\"", "o_chunks=\"3\""),
         "x.xml:2: <gpu> has o_chunks=\"3\": expected a whole number from 0 to 2");
  // In place, MSCCL's tools name all chunks as those of one of the buffers.
  const std::string in_place = changed(kExchange, "inplace=\"0\"", "inplace=\"1\"");
  for (const auto& [input, output] : {std::pair{0, 2}, {2, 0}, {1, 2}})
    CHECK(msccl_program_from_xml(changed(in_place, R"(i_chunks="1" o_chunks="2")",
                                         fmt::format(R"(i_chunks="{}" o_chunks="{}")", input, output)),
                                 "x.xml")
              .status()
              .message() == "");
  refuse(changed(in_place, "i_chunks=\"1\"", "i_chunks=\"3\""),
         "x.xml:2: <gpu> has i_chunks=\"3\": expected a whole number from 0 to 2");
  CHECK(msccl_program_from_xml(changed(kExchange, "i_chunks=\"1\" o_chunks=\"2\" ", ""), "x.xml").ok());
}

TEST_CASE("a program of more steps or chunks than the limit is refused by the limit") {
  const auto sends = [](int steps, int chunks) {
    std::string text = R"(<algo nchunksperloop="65534" ngpus="2" coll="allreduce">)"
                       "\n<gpu id=\"1\"/>\n<gpu id=\"0\">\n<tb id=\"0\" send=\"1\">\n";
    for (int i = 0; i < steps; ++i)
      text += fmt::format(R"(<step s="{}" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="{}"/>)",
                          i, chunks) +
              "\n";
    return text + "</tb></gpu></algo>";
  };
  CHECK(msccl_program_from_xml(sends(16, 62'500), "x.xml").status().message() == "");
  refuse(sends(16, 62'501), "x.xml:20: more than 1000000 steps of one chunk: expected at most as many");
  refuse(changed(changed(kExchange, "nchunksperloop=\"2\"", "nchunksperloop=\"65000\""), "ngpus=\"2\"",
                 "ngpus=\"1000\""),
         "x.xml:1: <algo> has 65000 chunks on each of 1000 GPUs: expected at most 250000 in all");
}
