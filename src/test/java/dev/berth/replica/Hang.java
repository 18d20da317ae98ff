package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Where user code hangs until the test lets it go, and whether it was interrupted meanwhile. */
final class Hang {
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CountDownLatch interrupted = new CountDownLatch(1);
  private final CountDownLatch mayEnd = new CountDownLatch(1);

  /** Hangs, and ends by an interrupt only if it heeds one. */
  void here(boolean heeds) throws InterruptedException {
    begun.countDown();
    while (mayEnd.getCount() > 0) {
      try {
        mayEnd.await();
      } catch (InterruptedException heard) {
        interrupted.countDown();
        if (heeds) {
          throw heard;
        }
      }
    }
  }

  void awaitBegun() throws InterruptedException {
    assertThat(begun.await(20, TimeUnit.SECONDS)).isTrue();
  }

  void awaitInterrupted() throws InterruptedException {
    assertThat(interrupted.await(20, TimeUnit.SECONDS)).isTrue();
  }

  boolean isInterrupted() {
    return interrupted.getCount() == 0;
  }

  void end() {
    mayEnd.countDown();
  }
}
