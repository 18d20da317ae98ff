package dev.berth.replica.slots;

import dev.berth.protocol.port.AttemptState;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What became of the attempts of one router loop at one replica, 8 bytes each. Its counters rise as
 * attempts are made, so all below one that came at least a while ago are older than that while:
 * they are forgotten together, and one number says up to which. So an attempt that is asked for too
 * late is known to be too late. Any thread.
 *
 * <p>Source: the lower edge of the anti-replay window of RFC 4303, section 3.4.3.
 */
final class RouterAttempts {
  /** Places for attempts that it has at least. */
  static final int LEAST_PLACES = 16;

  private static final AttemptState[] STATES = AttemptState.values();
  private static final int STATE_BITS = 2; // of those that are noted: the first four

  private final AttemptMemory memory;
  private long[] noted = new long[LEAST_PLACES]; // counter and state, ascending
  private int first; // of those noted
  private int end; // behind the last of them
  private long forgotten = Long.MIN_VALUE; // up to this counter nothing is known any more
  private long newest = Long.MIN_VALUE; // counter noted
  private long newestThen = Long.MIN_VALUE; // when turned
  private long turnedNanos;
  private long heardNanos; // a turn's, at the last one that found news
  private boolean gone;

  RouterAttempts(AttemptMemory memory, long now) {
    this.memory = memory;
    memory.resized(LEAST_PLACES);
    this.turnedNanos = now;
    this.heardNanos = now;
  }

  /**
   * Notes what becomes of an attempt that has not come before.
   *
   * @return what was known of it; null when this object itself is forgotten
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

  /** One that was noted as granted was refused after all. */
  synchronized void refused(long counter) {
    int place = place(counter);
    if (isAt(place, counter)) {
      noted[place] = packed(counter, AttemptState.REFUSED);
    }
  }

  /**
   * Forgets what is old enough.
   *
   * @param rememberNanos each is remembered for at least so long, and about twice that at most
   * @param idleNanos this object is forgotten when nothing came for so long
   * @return whether it is
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
    int ample = Math.max(LEAST_PLACES, 4 * Integer.highestOneBit(size()));
    resize(gone ? 0 : Math.min(ample, noted.length));
    return gone;
  }

  synchronized int size() {
    return end - first;
  }

  /** Where an attempt is noted, or would be. */
  private int place(long counter) {
    if (counter > newest) {
      return end; // as they come
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
