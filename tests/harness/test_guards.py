import torch

from harness._guards import CompileWatch


def compile_once(size: int) -> None:
    """A new graph for each size, forward and (lazily) backward."""
    step = torch.compile(lambda x: x.sin() * size, backend="aot_eager", dynamic=False)
    step(torch.ones(size, requires_grad=True)).sum().backward()


def test_the_watch_sees_each_forced_compilation_and_nothing_else() -> None:
    watch = CompileWatch()
    try:
        mark = watch.mark()
        torch.ones(3).sin()
        assert watch.since(mark) == 0
        compile_once(3)
        assert watch.since(mark) >= 1
        mark = watch.mark()
        assert watch.since(mark) == 0
        compile_once(4)
        assert watch.since(mark) >= 1
    finally:
        watch.close()


def test_a_recompile_of_a_warm_function_is_seen_and_a_warm_call_is_not() -> None:
    step = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
    step(torch.ones(2))
    watch = CompileWatch()
    try:
        mark = watch.mark()
        step(torch.ones(2))
        assert watch.since(mark) == 0
        step(torch.ones(5))
        assert watch.since(mark) >= 1
    finally:
        watch.close()


def test_a_dynamo_reset_that_drops_the_callback_hides_no_compilation() -> None:
    watch = CompileWatch()
    try:
        mark = watch.mark()
        torch._dynamo.reset()
        compile_once(6)
        assert watch.since(mark) >= 1
        # The next mark listens again.
        mark = watch.mark()
        compile_once(7)
        assert watch.since(mark) >= 2
    finally:
        watch.close()


def test_a_closed_watch_counts_no_more_callbacks() -> None:
    from torch._dynamo.callback import callback_handler

    before = list(callback_handler.start_callbacks)
    watch = CompileWatch()
    watch.close()
    watch.close()
    assert callback_handler.start_callbacks == before
