package dev.berth.fakes;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** Keeps the lines of a logger, which go nowhere else until it is closed. */
public final class LogLines implements AutoCloseable {
  private final Logger logger;
  private final Level before;
  private final ListAppender<ILoggingEvent> kept = new ListAppender<>();

  public LogLines(Class<?> of, Level least) {
    this(of.getName(), least);
  }

  public LogLines(String name, Level least) {
    logger = (Logger) LoggerFactory.getLogger(name);
    before = logger.getLevel();
    kept.start();
    logger.setAdditive(false);
    logger.setLevel(least);
    logger.addAppender(kept);
  }

  public List<ILoggingEvent> all() {
    return kept.list;
  }

  @Override
  public void close() {
    logger.detachAppender(kept);
    logger.setLevel(before);
    logger.setAdditive(true);
  }
}
