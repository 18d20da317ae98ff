package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class FailureLogTest {

  @Test
  void aFailureThatCannotBeToldIsLoggedByItsClassAndFailsNobody() {
    ListAppender<ILoggingEvent> lines = new ListAppender<>();
    Logger logger = (Logger) LoggerFactory.getLogger(FailureLog.class);
    Level before = logger.getLevel();
    lines.start();
    logger.setAdditive(false);
    logger.setLevel(Level.WARN);
    logger.addAppender(lines);
    try {
      new FailureLog("r").add("handler failed", new Unspeakable());
    } finally {
      logger.detachAppender(lines);
      logger.setLevel(before);
      logger.setAdditive(true);
    }

    assertThat(lines.list).hasSize(1);
    assertThat(lines.list.get(0).getThrowableProxy().getMessage())
        .startsWith(Unspeakable.class.getName() + ", not to be told");
  }

  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException();
    }
  }
}
