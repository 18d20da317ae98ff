package dev.berth.desired;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A log with which something happens before each change that is proposed.
 *
 * @param full whether it says that there may be no room
 */
record InterceptedLog(StateLog log, BooleanSupplier full, Before before) implements StateLog {

  /** May fail in place of what is proposed. */
  @FunctionalInterface
  interface Before {
    void proposal(DesiredChange change) throws IOException;

    /** Whether what is noted is kept. */
    default boolean notes() {
      return true;
    }
  }

  @Override
  public void open() {
    log.open();
  }

  @Override
  public DesiredState state() {
    return log.state();
  }

  @Override
  public boolean isKept() {
    return log.isKept();
  }

  @Override
  public boolean isFull() {
    return full.getAsBoolean();
  }

  @Override
  public @Nullable Path directory() {
    return log.directory();
  }

  @Override
  public void prepare() throws IOException {
    log.prepare();
  }

  @Override
  public @Nullable DesiredState propose(DesiredChange change) throws IOException {
    before.proposal(change);
    return log.propose(change);
  }

  @Override
  public @Nullable DesiredState note(String what, DesiredChange change) {
    return before.notes() ? log.note(what, change) : null;
  }

  @Override
  public void close() {
    log.close();
  }
}
