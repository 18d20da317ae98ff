package dev.berth.routing;

/** The choose of one leg: its wait is bounded by all legs, its use by its own deadline. */
final class LegChoice extends RoutedChoice {
  /** Replicas elsewhere that one which does not wait asks; what is known of them may be old. */
  private static final int MOST_ASKED = 4;

  private final long useDeadlineNanos;
  private final boolean waits;
  private int asked = 1;

  /**
   * @param deadlineNanos of the choose
   * @param waits whether it waits where no slot is free
   */
  LegChoice(
      Leg leg,
      RouterLoop loop,
      long deadlineNanos,
      long ttlNanos,
      boolean waits,
      SelectionObserver observer) {
    super(
        leg.router(),
        loop,
        deadlineNanos,
        ttlNanos,
        leg.requestId(),
        leg.methodName(),
        leg.sessionId(),
        leg.parent(),
        observer);
    this.useDeadlineNanos = leg.useDeadlineNanos();
    this.waits = waits;
  }

  @Override
  long selectionDeadlineNanos() {
    return useDeadlineNanos;
  }

  @Override
  boolean waits() {
    return waits;
  }

  @Override
  boolean mayTryAgain() {
    return !waits && asked++ < MOST_ASKED;
  }
}
