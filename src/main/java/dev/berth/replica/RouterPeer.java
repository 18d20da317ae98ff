package dev.berth.replica;

import dev.berth.protocol.AttemptId;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RouterAddress;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One router loop that asks this replica loop, and its calls that still want an answer. A call id
 * is a place in the router's pending table (low 32 bits) and a generation (high 32), so an array
 * finds it without hashing or boxing. Belongs to the replica's loop.
 */
final class RouterPeer {
  /** Places a router's pending table may have. */
  static final int MAX_CALLS = 65_536;

  /** Calls of a router whose end is remembered; of more the oldest is forgotten. */
  static final int MAX_LAST_WORDS = 64;

  final RouterAddress address;
  final String busAddress; // made once: an answer must not build a string
  final boolean elsewhere; // on another instance, whose link may take nothing now
  private @Nullable Invocation[] calls = new Invocation[64];
  private int size;
  private final Map<Long, BusMessage.Answer> lastWords = new LinkedHashMap<>(); // by call id
  long incarnation; // of its start of its instance, if it ever asked for a lease; else 0

  RouterPeer(RouterAddress address, boolean elsewhere) {
    this.address = address;
    this.elsewhere = elsewhere;
    this.busAddress = address.busAddress();
  }

  static boolean hasPlace(long callId) {
    int index = (int) callId;
    return index >= 0 && index < MAX_CALLS;
  }

  /** The call of this id and generation; null when there is none. */
  @Nullable Invocation find(long callId) {
    int index = (int) callId;
    if (index < 0 || index >= calls.length) {
      return null;
    }
    Invocation call = calls[index];
    return call != null && call.callId == callId ? call : null;
  }

  /**
   * Whether a younger call of the same start of the router has the place of this one. Then the
   * router has forgotten this one, which comes late, and would cancel what is wanted if it ran.
   */
  boolean isOutdated(long callId, AttemptId attempt) {
    int index = (int) callId;
    Invocation call = index >= 0 && index < calls.length ? calls[index] : null;
    return call != null
        && call.attempt.incarnation() == attempt.incarnation()
        && generation(call.callId) - generation(callId) > 0;
  }

  /** Generations have 31 bits and wrap: shifted up by one they compare by their difference. */
  private static int generation(long callId) {
    return (int) (callId >>> 32) << 1;
  }

  /**
   * @return the call of an older generation that was in its place: its router has forgotten it
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

  /** Forgets a call; another that took its place stays. */
  void remove(Invocation call) {
    int index = (int) call.callId;
    if (index < calls.length && calls[index] == call) {
      calls[index] = null;
      size--;
    }
  }

  /** Remembers how a call of another instance ended without a whole answer. */
  void ended(BusMessage.Answer word) {
    if (elsewhere) {
      lastWords.put(word.callId(), word);
      if (lastWords.size() > MAX_LAST_WORDS) {
        lastWords.remove(lastWords.keySet().iterator().next());
      }
    }
  }

  /** How a call ended, if it is remembered. */
  BusMessage.@Nullable Answer lastWord(long callId) {
    return lastWords.get(callId);
  }

  boolean isEmpty() {
    return size == 0;
  }
}
