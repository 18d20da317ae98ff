package dev.berth.replica.slots;

import dev.berth.protocol.port.AttemptState;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Thread-safe record of the attempts of one router loop at one replica, 8 bytes each. The loop
 * numbers its attempts in ascending order, so an attempt with a lower number is older. This object
 * forgets old attempts together and retains only the highest forgotten number. A late query for an
 * attempt up to that number returns FORGOTTEN.
 *
 * <p>Source: the lower edge of the anti-replay window of RFC 4303, section 3.4.3.
 */
final class RouterAttempts {
  /** Minimum length of the array of attempts. */
  static final int MIN_PLACES = 16;

  private static final AttemptState[] STATES = AttemptState.values();
  private static final int STATE_BITS = 2; // recorded states: the first four

  private final AttemptDeduplicator memory;
  private long[] noted = new long[MIN_PLACES]; // counter << STATE_BITS | state, ascending
  private int first; // index of the first entry in use
  private int end; // index after the last entry in use
  private long forgotten = Long.MIN_VALUE; // greatest forgotten counter
  private long newest = Long.MIN_VALUE; // greatest recorded counter
  private long newestThen = Long.MIN_VALUE; // value of newest at the last turn
  private long turnedNanos;
  private long heardNanos; // time of the last turn that found new attempts
  private boolean gone;

  RouterAttempts(AttemptDeduplicator memory, long now) {
    this.memory = memory;
    memory.resized(MIN_PLACES);
    this.turnedNanos = now;
    this.heardNanos = now;
  }

  /**
   * Records the state of an attempt that did not arrive before.
   *
   * @return the state before the call; null when this object was removed from the memory
   */
  synchronized @Nullable AttemptState note(long counter, AttemptState becomes) {
    if (gone) {
      return null;
    }
    AttemptState known = state(counter);
    if (known != AttemptState.NEVER) {
      return known;
    }
    if (end == noted.length) {
      makeRoom();
      if (counter <= forgotten) {
        return AttemptState.FORGOTTEN;
      }
    }
    int place = place(counter);
    System.arraycopy(noted, place, noted, place + 1, end++ - place);
    noted[place] = packed(counter, becomes);
    newest = Math.max(newest, counter);
    return AttemptState.NEVER;
  }

  synchronized AttemptState state(long counter) {
    if (counter <= forgotten) {
      return AttemptState.FORGOTTEN;
    }
    int place = place(counter);
    return isAt(place, counter)
        ? STATES[(int) noted[place] & (1 << STATE_BITS) - 1]
        : AttemptState.NEVER;
  }

  /** Changes the recorded state of an attempt from GRANTED to REFUSED. */
  synchronized void markRefused(long counter) {
    int place = place(counter);
    if (isAt(place, counter)) {
      noted[place] = packed(counter, AttemptState.REFUSED);
    }
  }

  /**
   * Forgets the attempts recorded before the previous turn, if that turn is old enough. Called
   * periodically.
   *
   * @param rememberNanos minimum retention time of an attempt; the maximum is about twice as long
   * @param idleNanos time without a new attempt after which this object is removed
   * @return whether the caller must remove this object
   */
  synchronized boolean turn(long now, long rememberNanos, long idleNanos) {
    if (now - turnedNanos < rememberNanos) {
      return false;
    }
    forget(newestThen);
    if (newest != newestThen) {
      heardNanos = now;
    }
    newestThen = newest;
    turnedNanos = now;
    gone = first == end && now - heardNanos >= idleNanos;
    int ample = Math.max(MIN_PLACES, 4 * Integer.highestOneBit(size()));
    resize(gone ? 0 : Math.min(ample, noted.length));
    return gone;
  }

  synchronized int size() {
    return end - first;
  }

  /** Returns the index of an attempt, or the index at which to insert it. */
  private int place(long counter) {
    if (counter > newest) {
      return end; // the common case: attempts arrive in order
    }
    int place = Arrays.binarySearch(noted, first, end, counter << STATE_BITS);
    return place < 0 ? ~place : place;
  }

  private boolean isAt(int place, long counter) {
    return place < end && noted[place] >> STATE_BITS == counter;
  }

  private static long packed(long counter, AttemptState state) {
    return counter << STATE_BITS | state.ordinal();
  }

  /** Frees at least one entry at the end of the array: grows, forgets early or compacts. */
  private void makeRoom() {
    boolean mayGrow = first < noted.length / 4;
    if (mayGrow && memory.hasRoom(noted.length)) {
      resize(2 * noted.length);
      return;
    }
    if (mayGrow) {
      int fewer = size() / 8;
      memory.forgottenEarly.add(fewer);
      forget(noted[first + fewer - 1] >> STATE_BITS);
    }
    resize(noted.length);
  }

  /** Forgets all attempts with a counter up to {@code upTo}. */
  private void forget(long upTo) {
    if (upTo > forgotten) {
      first = upTo >= newest ? end : place(upTo + 1);
      forgotten = upTo;
    }
  }

  private void resize(int places) {
    memory.resized(places - noted.length);
    long[] into = places == noted.length ? noted : new long[places];
    System.arraycopy(noted, first, into, 0, size());
    end = size();
    first = 0;
    noted = into;
  }
}
