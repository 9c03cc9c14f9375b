"""Agents in processes of their own: what they answer, and how they end."""

from __future__ import annotations

import threading

import pytest

from rdpkit.verification.replay.agents import AgentError, ProcessAgent, end_agents

CODE = """
import os, time

def target(data, rng):
    print("what a target prints is no answer")
    return len(data)

def ends(data, rng):
    os._exit(3)

def sleeps(data, rng):
    time.sleep(60)

target.columns, target.epsilon = {"x": [0, 1]}, 2.0
"""
DATA = {"columns": {"x": [0.5, 0.25]}, "numbers": ["x"]}
RELEASE = {"do": "release", "data": DATA, "parts": [], "count": 2, "seed": [1, 0, 1]}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "code_of_mine.py").write_text(CODE)
    return str(tmp_path)


def agent(folder, name="target"):
    return ProcessAgent(f"code_of_mine:{name}", directory=folder)


def test_it_describes_and_runs_a_target(folder):
    with agent(folder) as found:
        said = found.ask({"do": "describe"}, seconds=60)
        assert said == {"columns": {"x": [0, 1]}, "epsilon": 2.0, "adjacency": None} or (
            said["epsilon"] == 2.0
        )
        assert found.ask(RELEASE, seconds=60) == [{"": 2}, {"": 2}]


def test_errors_name_the_target(folder):
    with (
        agent(folder, "nothing") as found,
        pytest.raises(AgentError, match=r"code_of_mine:nothing"),
    ):
        found.ask({"do": "describe"}, seconds=60)
    with agent(folder, "ends") as found, pytest.raises(AgentError, match="ended"):
        found.ask(RELEASE, seconds=60)


def test_no_answer_in_time_ends_the_process_and_the_next_question_starts_another(folder):
    with agent(folder, "sleeps") as found:
        found.ask({"do": "describe"}, seconds=60)
        with pytest.raises(AgentError, match="no answer within"):
            found.ask(RELEASE, seconds=0.2)
        assert found.ask({"do": "describe"}, seconds=60) is not None


def test_whoever_waits_for_an_agent_that_is_ended_is_told(tmp_path):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n")
    timer = threading.Timer(0.5, end_agents)
    with ProcessAgent("endless:target", directory=str(tmp_path)) as agent:
        timer.start()
        with pytest.raises(AgentError, match="ended"):
            agent.ask({"do": "describe"}, seconds=60.0)
    timer.join()
