package dev.berth.routing.slots;

/** One who waits for a slot, on loop 0, and takes any; a test says what it does with it. */
public abstract class Asking implements WaiterOwner {
  private final long holdNanos;

  /**
   * @param holdNanos what a lease of it lasts
   */
  protected Asking(long holdNanos) {
    this.holdNanos = holdNanos;
  }

  @Override
  public long sinceNanos() {
    return 0;
  }

  @Override
  public int loopIndex() {
    return 0;
  }

  @Override
  public boolean accepts(RoutedReplica replica) {
    return true;
  }

  @Override
  public boolean picky() {
    return false;
  }

  @Override
  public boolean paused() {
    return false;
  }

  @Override
  public long holdNanos() {
    return holdNanos;
  }

  @Override
  public void onGranted(Grant grant) {}

  @Override
  public void onLeftQueue() {}
}
