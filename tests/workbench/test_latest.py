"""Newest first."""

import gc
import threading
import time
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.latest import Latest


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_the_last_answer_is_to_the_last_question(steps):
    """Whatever each answer costs and whenever each question comes."""
    delivered = []

    def compute(question):
        time.sleep(question[1][0] / 1000)
        return question[0]

    latest = Latest(compute, lambda question, answer: delivered.append((question[0], answer)))
    for number, step in enumerate(steps):
        latest.ask((number, step))
        time.sleep(step[1] / 1000)
    assert latest.settle(5)
    numbers = [number for number, _ in delivered]
    assert numbers[-1] == len(steps) - 1
    assert numbers == sorted(set(numbers)) and all(a == b for a, b in delivered)


def test_what_was_overtaken_is_not_computed():
    gate, started, computed = threading.Event(), threading.Event(), []

    def compute(question):
        computed.append(question)
        started.set()
        assert gate.wait(5)
        return question

    latest = Latest(compute, lambda question, answer: None)
    latest.ask(0)
    assert started.wait(5)
    for question in range(1, 100):
        latest.ask(question)
    assert latest.overtaken
    assert not latest.settle(0.01)
    gate.set()
    assert latest.settle(5)
    assert computed == [0, 99]


def test_only_one_is_computed_at_a_time():
    now, most, lock = 0, 0, threading.Lock()

    def compute(question):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.001)
        with lock:
            now -= 1

    latest = Latest(compute, lambda question, answer: None)
    askers = [threading.Thread(target=lambda: [latest.ask(i) for i in range(50)]) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert latest.settle(5)
    assert most == 1


def test_a_failure_is_told_and_the_next_question_is_answered():
    failed, delivered = [], []
    latest = Latest(
        lambda question: 1 / question,
        lambda question, answer: delivered.append(answer),
        lambda question, error: failed.append((question, type(error))),
    )
    latest.ask(0)
    assert latest.settle(5)
    latest.ask(2)
    assert latest.settle(5)
    assert failed == [(0, ZeroDivisionError)]
    assert delivered == [0.5]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failure_that_nobody_asked_for_is_not_swallowed(monkeypatch):
    seen = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_type))
    latest = Latest(lambda question: 1 / question, lambda question, answer: None)
    latest.ask(0)
    assert latest.settle(5)
    assert seen == [ZeroDivisionError]


def test_after_closing_nothing_is_delivered_and_no_thread_holds_it():
    gate, delivered = threading.Event(), []

    class Owner:
        def deliver(self, question, answer):
            delivered.append(answer)

    owner = Owner()
    gone = weakref.ref(owner)
    latest = Latest(lambda question: gate.wait(5), owner.deliver)
    latest.ask(1)
    latest.ask(2)
    latest.close()
    gate.set()
    assert latest.settle(5)
    latest.ask(3)
    assert latest.settle(5)
    assert delivered == []
    del owner, latest
    for _ in range(100):
        gc.collect()
        if gone() is None:
            break
        time.sleep(0.01)
    assert gone() is None
