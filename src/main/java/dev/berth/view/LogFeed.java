package dev.berth.view;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Access to the log of this process: its lines and its level. Thread-safe. */
@FunctionalInterface
public interface LogFeed {
  /** Feed without lines, for processes without a connected log. */
  LogFeed NONE = sink -> () -> {};

  /**
   * Subscribes to new lines.
   *
   * @param sink called on the logging thread, concurrently; must not log
   * @return ends the subscription
   */
  Runnable to(Consumer<LogLine> sink);

  /**
   * Sets the minimum level of a logger.
   *
   * @param logger name, such as {@code application.deployment}
   * @param level {@code DEBUG}, {@code INFO}, {@code WARN} or {@code ERROR}; null for the general
   *     level
   */
  default void level(String logger, @Nullable String level) {}
}
