package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import dev.berth.fakes.LogLines;
import org.junit.jupiter.api.Test;

class FailureLogTest {

  @Test
  void aFailureThatCannotBeToldIsLoggedByItsClassAndFailsNobody() {
    try (LogLines lines = new LogLines(FailureLog.class, Level.WARN)) {
      new FailureLog("r").add("handler failed", new Unspeakable());

      assertThat(lines.all()).hasSize(1);
      assertThat(lines.all().get(0).getThrowableProxy().getMessage())
          .startsWith(Unspeakable.class.getName() + ", not to be told");
    }
  }

  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException();
    }
  }
}
