package dev.berth.protocol;

import static dev.berth.protocol.Wire.WireForm.FIXED;

/**
 * The identity of one attempt of a router to acquire a slot of one replica. A replica recognises a
 * repeated message by it, and a release that arrives before its reserve prevents the reserve. Never
 * used twice.
 *
 * @param incarnation 64 random bits drawn when the router's instance started
 * @param router the router loop's index within its instance
 * @param counter rises by one with each attempt of that loop
 */
@Wire.WireKey
public record AttemptId(@Wire(FIXED) long incarnation, int router, long counter) {
  /** Returns the attempt that follows after this many. */
  public AttemptId plus(int attempts) {
    return new AttemptId(incarnation, router, counter + attempts);
  }
}
