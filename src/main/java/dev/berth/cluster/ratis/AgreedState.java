package dev.berth.cluster.ratis;

import dev.berth.desired.DesiredChange;
import dev.berth.desired.DesiredState;
import dev.berth.desired.StateStoreRecords;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What the entries of the log have made of the desired state, on every node alike. A change is one
 * entry, or several where it is large: the last counts, directly behind the others.
 *
 * <pre>
 *   entry = part(4, from 0) parts(4) bytes
 *   all bytes of a change = a file of {@link StateStoreRecords}
 * </pre>
 *
 * One thread, but for {@link #state}.
 */
final class AgreedState {
  /** Bytes of a part: a larger entry than 4 MiB deposes the leader. */
  static final int MOST_PART_BYTES = 1 << 20;

  private static final int HEAD = 8;

  private volatile DesiredState state;
  private ByteArrayOutputStream parts = new ByteArrayOutputStream();
  private int next; // part

  AgreedState(DesiredState state) {
    this.state = state;
  }

  DesiredState state() {
    return state;
  }

  /** Whether no part waits for the next. */
  boolean isWhole() {
    return next == 0;
  }

  /** A change, as entries of the log. */
  static List<byte[]> entries(DesiredChange change) {
    byte[] whole = StateStoreRecords.file(change);
    int most = MOST_PART_BYTES - HEAD;
    int count = (whole.length + most - 1) / most;
    List<byte[]> entries = new ArrayList<>();
    for (int part = 0; part < count; part++) {
      int length = Math.min(most, whole.length - part * most);
      ByteBuffer entry = ByteBuffer.allocate(HEAD + length).putInt(part).putInt(count);
      entries.add(entry.put(whole, part * most, length).array());
    }
    return entries;
  }

  /**
   * The next entry of the log.
   *
   * @return whether a change is applied by it: false for a part that others follow, for one whose
   *     part before is not there, and for a change of another state than the last
   * @throws IOException when it is none that this version knows
   */
  boolean apply(ByteBuffer entry) throws IOException {
    int part = entry.getInt();
    int count = entry.getInt();
    if (part == 0) {
      parts = new ByteArrayOutputStream(); // those before belong to one that was given up
    } else if (part != next) {
      return false;
    }
    byte[] bytes = new byte[entry.remaining()];
    entry.get(bytes);
    parts.writeBytes(bytes);
    next = part + 1 == count ? 0 : part + 1;
    if (next > 0) {
      return false;
    }
    DesiredChange change = StateStoreRecords.change(parts.toByteArray());
    parts = new ByteArrayOutputStream();
    return apply(change);
  }

  /** The first of a log may be a whole state, which has its own number. */
  private boolean apply(DesiredChange change) {
    DesiredState before = state;
    if (before.index() > 0 && change.index() != before.index() + 1) {
      return false;
    }
    state = before.with(List.of(change));
    return true;
  }
}
