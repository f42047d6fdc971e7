# SPDX-License-Identifier: Apache-2.0
"""Starts the examples and reads their output. The launchers' tests start them as users do; all others fork their ranks
from a process that has imported torch, since an import takes seconds and there would be some hundred of them."""
import os
import re
import runpy
import subprocess
import sys
import tempfile
import time
import traceback

FOLDER = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/torch"))
BACKEND = os.environ.get("RONDO_TORCH_BACKEND", "rondo")
LIMIT_S = 90


def command(script, *options):
    return [sys.executable, os.path.join(FOLDER, script), "--backend", BACKEND, *options]


def torchrun(ranks, script, *options):
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
            *command(script, *options)[1:]]


def run(*lines):
    """Runs the command lines concurrently; returns their output once all have succeeded."""
    started = [subprocess.Popen(line, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for line in lines]
    try:
        texts = [process.communicate(timeout=LIMIT_S)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for line, process, text in zip(lines, started, texts):
        if process.returncode != 0:
            raise AssertionError(f"{' '.join(line)} ended with {process.returncode}:\n{text}")
    return "\n".join(texts)


def fork_ranks(ranks, script, *options):
    """Output of a script on forked ranks, which meet through a file."""
    import sklearn.datasets  # noqa: F401  (each of these once, for all ranks)
    import torch.distributed.fsdp  # noqa: F401
    import torch.distributed.pipelining  # noqa: F401
    import torch.distributed.tensor.parallel  # noqa: F401
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        pids = []
        for rank in range(ranks):
            pid = os.fork()
            if pid == 0:
                run_rank(script, output.fileno(), "--init-method", f"file://{folder}/meeting", "--rank", str(rank),
                         "--world-size", str(ranks), *options)
            pids.append(pid)
        codes = await_all(pids)
        output.seek(0)
        text = output.read()
    if any(codes):
        raise AssertionError(f"{script} on {ranks} ranks ended with {codes}:\n{text}")
    return text


def run_rank(script, output, *options):
    """Runs in the forked process and never returns."""
    code = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.argv = command(script, *options)[1:]
        sys.path.insert(0, FOLDER)
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def await_all(pids):
    """The processes' exit codes; once one has failed, the others get a few more seconds."""
    codes, deadline = {}, time.monotonic() + LIMIT_S
    while len(codes) < len(pids):
        for pid in set(pids) - set(codes):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                codes[pid] = os.waitstatus_to_exitcode(status)
                if codes[pid] != 0:
                    deadline = min(deadline, time.monotonic() + 5)
            elif time.monotonic() > deadline:
                os.kill(pid, 9)
        time.sleep(0.01)
    return [codes[pid] for pid in pids]


def losses(text):
    return [float(word) for word in re.findall(r"^epoch \d+: loss (\S+)$", text, re.M)]


def by_hand(script, url, ranks):
    """Starts each rank separately."""
    return run(*(command(script, "--init-method", url, "--rank", str(rank), "--world-size", str(ranks))
                 for rank in range(ranks)))
