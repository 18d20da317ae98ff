package dev.berth.view;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The log of this process: what is written there, and what is not. Any thread. */
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

  /**
   * The least severe event that is logged through a logger.
   *
   * @param logger as {@code application.deployment}
   * @param level {@code DEBUG}, {@code INFO}, {@code WARN} or {@code ERROR}; null for that of
   *     everything
   */
  default void level(String logger, @Nullable String level) {}
}
