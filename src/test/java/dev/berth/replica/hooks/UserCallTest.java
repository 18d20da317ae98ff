package dev.berth.replica.hooks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.junit.jupiter.api.Test;

/** User code that runs once, unless it ends before it began. */
class UserCallTest {
  private final InterruptibleCall call = new InterruptibleCall();
  private final List<String> ran = new ArrayList<>();

  @Test
  void callThatEndedBeforeItBeganNeverRuns() {
    assertThat(call.end()).as("would have begun").isTrue();

    assertThat(call.run(1, () -> ran.add("code"))).isInstanceOf(CancellationException.class);
    assertThat(ran).isEmpty();
    assertThat(call.beganNanos()).isNull();
  }

  /** Its owner reports the end of a start that never began once. */
  @Test
  void secondEndPreventsNothing() {
    call.end();
    assertThat(call.end()).isFalse();
  }

  @Test
  void endWhileItRunsInterruptsItAndFailsIt() {
    Throwable thrown =
        call.run(
            1,
            () -> {
              assertThat(call.end()).as("it had begun").isFalse();
              ran.add(Thread.currentThread().isInterrupted() ? "interrupted" : "not interrupted");
            });
    assertThat(thrown).isInstanceOf(CancellationException.class);
    assertThat(ran).containsExactly("interrupted");
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
    assertThat(call.thread()).isNull();
  }

  @Test
  void interruptReachesNothingBeforeAndAfterItRuns() {
    call.interrupt();
    assertThat(call.run(1, () -> ran.add("code"))).isNull();
    call.interrupt();
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
  }
}
