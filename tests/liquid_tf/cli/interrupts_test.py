"""Interrupts arrive, whatever becomes of the exception on its way."""

import signal
import sys
import time

import tensorflow as tf
from absl.testing import absltest, parameterized

from liquid_tf.cli import interrupts


def _work(seconds: float = 20) -> None:
  """Python code for a while, which an interrupt ends."""
  end = time.monotonic() + seconds
  while time.monotonic() < end:
    time.sleep(0.001)
  raise AssertionError("no interrupt came")


class _Swallows:
  def __del__(self):
    signal.raise_signal(signal.SIGTERM)
    _work(0.01)


class InterruptsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
      self.addCleanup(signal.signal, number, signal.getsignal(number))

  @parameterized.parameters(signal.SIGINT, signal.SIGTERM)
  def test_a_signal_interrupts(self, number):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with self.assertRaises(KeyboardInterrupt), interrupts.raised():
      signal.raise_signal(number)
      _work()

  def test_what_a_destructor_swallowed_is_raised_again(self):
    with self.assertRaises(KeyboardInterrupt), interrupts.raised():
      one = _Swallows()
      del one
      _work()

  def test_another_exception_that_it_became_is_one(self):
    with self.assertRaises(KeyboardInterrupt) as caught, interrupts.raised():
      try:
        signal.raise_signal(signal.SIGTERM)
      except KeyboardInterrupt:
        raise ValueError("a wrong structure") from None
    self.assertIsInstance(caught.exception.__cause__, ValueError)

  def test_one_swallowed_at_the_very_end_comes_out(self):
    with self.assertRaises(KeyboardInterrupt), interrupts.raised():
      one = _Swallows()
      del one

  def test_what_is_undone_is_left_in_peace(self):
    undone = False
    with self.assertRaises(KeyboardInterrupt), interrupts.raised():
      try:
        signal.raise_signal(signal.SIGTERM)
        _work()
      finally:
        time.sleep(5 * interrupts._AGAIN)
        undone = True
    self.assertTrue(undone)

  def test_a_graph_is_finished(self):
    finished = []

    @tf.function
    def function():
      signal.raise_signal(signal.SIGTERM)
      time.sleep(2 * interrupts._AGAIN)
      finished.append(True)
      return tf.constant(1)

    with self.assertRaises(KeyboardInterrupt), interrupts.raised():
      function()
      _work()
    self.assertEqual(finished, [True])

  def test_tensorflow_returns_first(self):
    finished = []
    code = "def call():\n  raise_signal(SIGTERM)\n  finished.append(True)\n"
    names = {**vars(signal), "__name__": "tensorflow.python", "finished": finished}
    exec(code, names)
    with self.assertRaises(KeyboardInterrupt), interrupts.raised():
      names["call"]()
      finished.append(False)
    self.assertEqual(finished, [True])
    self.assertIsNone(sys.gettrace())

  def test_tensorflow_survives_interrupts_at_any_time(self):
    def count() -> int:
      return sum(int(tf.constant(list(range(i)), tf.int64)[0]) for i in range(1, 50))

    count()
    came, end = 0, time.monotonic() + 4
    while time.monotonic() < end:
      with self.assertRaises(KeyboardInterrupt), interrupts.raised():
        signal.signal(signal.SIGVTALRM, signal.getsignal(signal.SIGTERM))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.002)
        while time.monotonic() < end + 20:
          count()
        self.fail("no interrupt came")
      came += 1
    self.assertGreater(came, 20)

  def test_without_a_signal_nothing_changes(self):
    with interrupts.raised():
      pass
    with self.assertRaisesRegex(ValueError, "of the work"), interrupts.raised():
      raise ValueError("of the work")

  def test_an_ignored_interrupt_stays_ignored(self):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts.raised():
      signal.raise_signal(signal.SIGINT)
      time.sleep(2 * interrupts._AGAIN)


if __name__ == "__main__":
  absltest.main()
