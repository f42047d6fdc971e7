# SPDX-License-Identifier: Apache-2.0
"""The text and the JSON that rondo-ps writes."""
import socket

from job import jobs_of
from strangers import printable
from table import table_lines

MAX_COMMS = 16  # of a job, in text


def job_lines(job):
    commands = sorted({process.command for process in job.processes if process.command is not None})
    more = f" and {len(commands) - 1} other commands" if len(commands) > 1 else ""
    pids = "1 process" if len(job.processes) == 1 else f"{len(job.processes):,} processes"
    hosts = f" on {job.hosts():,} hosts" if job.far else ""
    yield f"job {printable(job.ident)}, {pids}{hosts}: {''.join(commands[:1])}{more}"
    for sentence in job.host_sentences():
        yield f"  {sentence}"
    for story in job.stories[:MAX_COMMS]:
        yield f"  {story.title()}"
        for sentence in story.sentences():
            yield f"    {sentence}"
        yield from table_lines(story)
    left = len(job.stories) - MAX_COMMS
    if left > 0:
        yield f"  {left:,} more communicators; --json shows them"
    omitted = job.omitted()
    if omitted:
        yield f"  at least {omitted:,} more communicators, of which the processes say nothing as they are too many"


def text_lines(look):
    jobs = jobs_of(look)
    for job in jobs:
        yield from job_lines(job)
    shown = {pid for job in jobs for pid in job.pids}
    for pid, why in sorted(look.silent.items()):
        if pid in shown and pid not in look.said:
            continue  # the job's lines say it
        process = look.process(pid)
        yield f"process {pid} {why}: it {process.state()}: {process.command}"
    if look.hidden:
        yield f"{look.hidden:,} more with process ids that are not visible here: run rondo-ps in their PID namespace"
    if not jobs and not look.silent and not look.hidden:
        yield "no process of this user uses Rondo on this host"


def as_json(look):
    jobs = [{"id": job.ident, "omitted": job.omitted(), "not_asked": look.unasked.get(job.ident),
             "processes": [process.as_json(look.silent.get(process.pid)) for process in job.processes],
             "communicators": [story.as_json() for story in job.stories]} for job in jobs_of(look)]
    return {"format": "rondo-ps", "version": 1, "host": socket.gethostname(), "jobs": jobs, "hidden": look.hidden,
            "silent": [look.process(pid).as_json(why) for pid, why in sorted(look.silent.items())]}
