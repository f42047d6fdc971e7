# SPDX-License-Identifier: Apache-2.0
"""The parts of verbs-check. Each takes a Check and records what it has seen there."""
import json
import math
import re
import statistics

from hosts import ROWS

FACTS = """
echo "system: $(. /etc/os-release; echo "$PRETTY_NAME"), Linux $(uname -r)"
echo "CPUs: $(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
echo "locked memory, KiB: $(ulimit -l)"
echo "driver: $( (ofed_info -s || modinfo -F version mlx5_core || echo unknown) 2> /dev/null | head -n 1)"
echo "libibverbs: $(ldconfig -p | sed -n 's/.*libibverbs.so.1 .*=> //p' | head -n 1 | xargs -r readlink -f)"
for port in /sys/class/infiniband/*/ports/*; do
  [ -e "$port" ] || { echo "port: none"; break; }
  echo "port: $(echo "$port" | cut -d / -f 5):${port##*/}, $(cat "$port/link_layer"), $(cat "$port/state")," \\
    "$(cat "$port/rate"), firmware $(cat "$port/../../fw_ver"), NUMA node $(cat "$port/../../device/numa_node")"
done
command -v ib_send_lat ib_write_bw ib_send_bw || echo "perftest is not installed"
"""


def hosts(check):
    """What the hosts are."""
    for index, name in enumerate(check.hosts.names):
        ended = check.hosts.run(index, FACTS + f"{check.perf} --version", 60)
        check.results["hosts"][name] = ended.output.splitlines()
        check.case(f"{name} runs rondo-perf", ended.status == 0, ended.output)
        print(ended.output, end="")


def probes(check):
    """What the stand-in for libibverbs supposes of a device, and the transport's conformance, on each host alone."""
    for index, name in enumerate(check.hosts.names):
        for what, command in (("the probes", check.program("tests/verbs/test_verbs")),
                              ("the conformance suite", "RONDO_TEST_TRANSPORT=verbs "
                               + check.program("tests/transports/test_transports") + " -# '[#conformance_test]'")):
            ended = check.hosts.run(index, command, 600)
            check.case(f"{what} on {name}", ended.status == 0, ended.output)


def rows_of(check, what, options, seconds=600, before=""):
    """Runs rondo-perf between the hosts, behind shell commands, and returns its rows, which must be right."""
    script = (f"{before}\nrows=$(mktemp)\n{check.perf} {options} --json $rows || exit\necho '{ROWS}'\n"
              "cat $rows\nrm $rows\n")
    ended = check.hosts.run_job(script, seconds)
    output = "\n".join(f"rank {rank}: {each.output}" for rank, each in enumerate(ended))
    right = all(each.status == 0 for each in ended)
    rows = json.loads(ended[0].rows)["results"] if right and ended[0].rows else []
    check.case(what, bool(rows) and all(row["wrong"] == 0 for row in rows), output)
    return rows


def collectives(check):
    """Every collective, right; and what is chosen unasked."""
    rows_of(check, "every collective over verbs", "all --transport verbs -b 8 -e 1M -f 16 -n 3 -w 1")
    rows_of(check, "every collective over verbs, registered memory",
            "all --transport verbs -R 2 -b 8 -e 1M -f 16 -n 3 -w 1")
    unasked = rows_of(check, "all_reduce, with no transport named", "all_reduce -b 8 -e 1M -f 16 -n 3 -w 1")
    check.results["chosen"] = sorted({row["transport"] for row in unasked})
    check.case("verbs is chosen unasked", check.results["chosen"] == ["verbs"], str(check.results["chosen"]))


def kill(check):
    """A rank that is killed in the middle of calls is named by the other within seconds."""
    script = f"""
if [ $RANK = 1 ]; then
  {check.perf} all_reduce --transport verbs -b 8 -e 8 -N 0 -c 0 > /dev/null & rank=$!
  sleep 5
  kill -9 $rank
else
  {check.perf} all_reduce --transport verbs -b 8 -e 8 -N 0 -c 0 2>&1 | tail -n 5
fi"""
    ended = check.hosts.run_job(script, 120)
    check.results["kill"] = {"survivor_s": round(ended[0].seconds, 2), "said": ended[0].output.splitlines()}
    check.case("a rank that is killed is named within seconds",
               ended[0].status is not None and ended[0].seconds < ended[1].seconds + 5
               and re.search(r"rank 1 \(.*\) died", ended[0].output) is not None, ended[0].output)


# perftest uses one port; so does Rondo beside it.
FIRST_PORT = """
state=$(grep -l ACTIVE /sys/class/infiniband/*/ports/*/state 2> /dev/null | head -n 1)
if [ -n "$state" ]; then
  device=$(echo "$state" | cut -d / -f 5) port=$(echo "$state" | cut -d / -f 7)
  on_port="-d $device -i $port"
  export RONDO_IB_PORTS=$device:$port
fi
"""


def measured(check, options):
    """Of a size in bytes: microseconds and GB/s of the algorithm."""
    rows = rows_of(check, f"rondo-perf {options}", options, before=FIRST_PORT)
    return {row["bytes"]: (row["out_of_place_us"], row["algbw"]) for row in rows}


def perftest(check, options, column):
    """A figure of a program of perftest's between the hosts; None if it cannot be had."""
    program = options.split()[0]
    script = f"{FIRST_PORT}command -v {program} > /dev/null || exit 77\n" \
             f"if [ $RANK = 0 ]; then {options} $on_port\n" \
             f"else sleep 6; {options} $on_port {check.hosts.address}; fi"
    ended = check.hosts.run_job(script, 200)
    found = re.findall(r"^ *\d+ +\d+ +(.*)$", ended[1].output, re.M)
    figure = float(found[-1].split()[column]) if ended[1].status == 0 and found else math.inf
    return figure if math.isfinite(figure) else None


WAYS = {"verbs": "--transport verbs", "verbs, registered": "--transport verbs -R 2", "tcp": "--transport tcp"}

STREAMED = (1 << 16, 1 << 20)  # bytes


def messages(size, iterations):
    return iterations * 4 if size < 1 << 20 else iterations


def calls(iterations):
    """Of rondo-perf. What goes one way is a group of as many messages as perftest sends."""
    some = f"-n {iterations // 2} -w {max(1, iterations // 10)}"
    return {"send_recv": (f"-b 8 -e 8 {some}",),
            "send_recv --one_way": tuple(f"-b {size} -e {size} -n 1 -w 1 -m {messages(size, iterations)}"
                                         for size in STREAMED),
            "send_recv --ping_pong": (f"-b 8 -e 8 -n {5 * iterations} -w {max(1, iterations // 10)}",),
            "all_reduce": (f"-b 8 -e 64K -f 8192 {some}", f"-b 1M -e 1M {some}")}


def beside(iterations):
    """Requests to perftest, for its average latency in us, as rondo-perf's, and its average bandwidth in Gbit/s."""
    many = f"-n {5 * iterations}"
    rows = {"ib_send_lat 8": (f"ib_send_lat -s 8 {many}", 3), "ib_send_lat -e 8": (f"ib_send_lat -e -s 8 {many}", 3)}
    for size in STREAMED:
        for program in ("ib_write_bw", "ib_write_bw -b", "ib_send_bw"):
            rows[f"{program} {size}"] = (f"{program} -s {size} -n {messages(size, iterations)} --report_gbits", 1)
    return rows


def ratios(rows, perftest_figures):
    """Of rondo-perf's figures to perftest's: for bandwidth of the same directions, each by itself."""
    figures = {(row["collective"], row["bytes"], row["way"]): row for row in rows}
    latencies = [figure for name, figure in perftest_figures.items() if "lat" in name]
    found = {}
    for (collective, size, way), row in figures.items():
        if way == "tcp":
            continue
        what = f"{collective} {size} {way}"
        both_ways = perftest_figures.get(f"ib_write_bw -b {size}")
        if collective == "send_recv --one_way":
            # The receiver of ib_write_bw sleeps until all has come; that of ib_send_bw takes each message.
            for program in ("ib_write_bw", "ib_send_bw"):
                if one_way := perftest_figures.get(f"{program} {size}"):
                    found[f"{what}: bandwidth, of {program}'s"] = row["algbw"] * 8 / one_way
        if collective == "all_reduce" and both_ways:
            found[f"{what}: bandwidth, of ib_write_bw -b's"] = row["algbw"] * 8 / (both_ways / 2)
        if collective == "send_recv --ping_pong" and latencies:
            found[f"{what}: time, of ib_send_lat's"] = row["us"] / min(latencies)
        if collective == "all_reduce" and size == 8:
            found[f"{what}: time, of send_recv's"] = row["us"] / figures["send_recv", size, way]["us"]
        found[f"{what}: time, of tcp's"] = row["us"] / figures[collective, size, "tcp"]["us"]
    return {what: round(ratio, 3) for what, ratio in found.items()}


def speed(check):
    """send_recv, ping-pong and all_reduce over verbs, with and without registered memory, over tcp, and perftest."""
    found, others = {}, {}
    for _ in range(check.rounds):
        for collective, all_sizes in calls(check.iterations).items():
            for way, words in WAYS.items():
                for sizes in all_sizes:
                    for size, figures in measured(check, f"{collective} {words} {sizes}").items():
                        found.setdefault((collective, size, way), []).append(figures)
        for name, (options, column) in beside(check.iterations).items():
            figure = perftest(check, options, column)
            if figure is not None:  # else it is not installed, or does not work here
                others.setdefault(name, []).append(figure)
    check.results["speed"] = [
        {"collective": collective, "bytes": size, "way": way, "us": statistics.median(us for us, _ in all_of),
         "algbw": statistics.median(bandwidth for _, bandwidth in all_of)}
        for (collective, size, way), all_of in found.items()]
    check.results["perftest"] = {name: statistics.median(all_of) for name, all_of in others.items()}
    for row in check.results["speed"]:
        print(f"{row['collective']:23}{row['bytes']:>9}  {row['way']:20}{row['us']:>12.1f} us{row['algbw']:>9.3f} GB/s")
    for name, figure in check.results["perftest"].items():
        print(f"{name:43}{figure:>12.1f} us" if "lat" in name else f"{name:43}{'':15}{figure / 8:>9.3f} GB/s")
    check.results["ratios"] = ratios(check.results["speed"], check.results["perftest"])
    for what, ratio in check.results["ratios"].items():
        print(f"{what:66}{ratio:>8.2f}")
    if not others:
        print("perftest is not installed, or it failed")


ALL = {part.__name__: part for part in (hosts, probes, collectives, kill, speed)}
