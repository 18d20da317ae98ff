package dev.berth.replica;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RouterAddress;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A router loop that sends requests to this replica loop, with its calls that await a response. A
 * call id consists of an index in the router's pending table (low 32 bits) and a generation (high
 * 32), so that an array finds it without hashing or boxing. Confined to the replica's loop.
 */
final class RouterSession {
  /** Maximum size of a router's pending table. */
  static final int MAX_CALLS = 65_536;

  /**
   * Maximum of ended calls of a router whose last message is retained; the oldest is removed first.
   */
  static final int MAX_LAST_WORDS = 64;

  final RouterAddress address;
  final String busAddress; // cached: a reply must not build a string
  final boolean elsewhere; // on another instance, whose link may refuse a message
  private @Nullable Invocation[] calls = new Invocation[64];
  private int size;
  private final Map<Long, BusMessage.Answer> lastWords = new LinkedHashMap<>(); // by call id
  long incarnation; // of its instance if it ever reserved; else 0

  RouterSession(RouterAddress address, boolean elsewhere) {
    this.address = address;
    this.elsewhere = elsewhere;
    this.busAddress = address.busAddress();
  }

  static boolean hasPlace(long callId) {
    int index = (int) callId;
    return index >= 0 && index < MAX_CALLS;
  }

  /** Returns the call of this index and generation; null for none. */
  @Nullable Invocation find(long callId) {
    int index = (int) callId;
    if (index < 0 || index >= calls.length) {
      return null;
    }
    Invocation call = calls[index];
    return call != null && call.callId == callId ? call : null;
  }

  /**
   * Returns whether a newer call of the same router incarnation uses this call's index. Then the
   * router has dropped this call, which arrives late, and running it would cancel the newer one.
   */
  boolean isOutdated(long callId, AttemptId attempt) {
    int index = (int) callId;
    Invocation call = index >= 0 && index < calls.length ? calls[index] : null;
    return call != null
        && call.attempt.incarnation() == attempt.incarnation()
        && generation(call.callId) - generation(callId) > 0;
  }

  /**
   * Returns a generation shifted left by one. Generations have 31 bits and wrap, so that shifted
   * ones compare by their difference.
   */
  private static int generation(long callId) {
    return (int) (callId >>> 32) << 1;
  }

  /**
   * Adds a call.
   *
   * @return the call of an older generation at its index, which its router has dropped
   */
  @Nullable Invocation put(Invocation call) {
    int index = (int) call.callId;
    if (index >= calls.length) {
      calls = Arrays.copyOf(calls, Math.max(2 * calls.length, Integer.highestOneBit(index) * 2));
    }
    Invocation before = calls[index];
    calls[index] = call;
    if (before == null) {
      size++;
    }
    return before;
  }

  /** Removes a call. A newer call at its index stays. */
  void remove(Invocation call) {
    int index = (int) call.callId;
    if (index < calls.length && calls[index] == call) {
      calls[index] = null;
      size--;
    }
  }

  /** Records the last message of a remote router's call that ended without a whole response. */
  void recordEnd(BusMessage.Answer word) {
    if (elsewhere) {
      lastWords.put(word.callId(), word);
      if (lastWords.size() > MAX_LAST_WORDS) {
        lastWords.remove(lastWords.keySet().iterator().next());
      }
    }
  }

  /** Returns the last message of a call; null when none is retained. */
  BusMessage.@Nullable Answer lastWord(long callId) {
    return lastWords.get(callId);
  }

  boolean isEmpty() {
    return size == 0;
  }
}
