package dev.berth.protocol.port;

import dev.berth.protocol.LogLine;
import java.util.function.Consumer;

/** The log of this process, as it is written. */
@FunctionalInterface
public interface LogFeed {
  /** Where nobody tells what is logged. */
  LogFeed NONE = sink -> () -> {};

  /**
   * Hands on each line from now on.
   *
   * @param sink called on the thread that logs, several at a time; must not log
   * @return ends it
   */
  Runnable to(Consumer<LogLine> sink);
}
