package dev.berth.desired;

import dev.berth.desired.DesiredApplication.Before;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What an operator who names no revision goes back to. */
final class Rollbacks {
  private Rollbacks() {}

  /**
   * Null when there is nothing to go back to.
   *
   * @param application which must be there
   */
  static @Nullable DesiredChange rollback(DesiredState state, String application, long nowMs) {
    Before to =
        state.history().rollbackTo(Objects.requireNonNull(state.find(application), application));
    return to == null ? null : state.rollback(application, to, nowMs);
  }
}
