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
 * The desired state, as derived from the entries of the log, identical on every node. A change is
 * one entry, or several consecutive entries when it is large; the change takes effect with its last
 * entry.
 *
 * <pre>
 *   entry = part(4, from 0) parts(4) bytes
 *   all bytes of a change = a file of {@link StateStoreRecords}
 * </pre>
 *
 * Confined to one thread, except for {@link #state}.
 */
final class ReplicatedState {
  /** Maximum size of a part in bytes. An entry over 4 MiB deposes the leader. */
  static final int MAX_PART_BYTES = 1 << 20;

  private static final int HEAD = 8;

  volatile DesiredState state;
  private ByteArrayOutputStream parts = new ByteArrayOutputStream();
  private int next; // index of the expected part

  ReplicatedState(DesiredState state) {
    this.state = state;
  }

  /** Returns whether no part is pending. */
  boolean isWhole() {
    return next == 0;
  }

  /** Returns a change as entries of the log. */
  static List<byte[]> entries(DesiredChange change) {
    byte[] whole = StateStoreRecords.file(change);
    int most = MAX_PART_BYTES - HEAD;
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
   * Applies the next entry of the log. No change is applied by a part before the last, by a part
   * without its predecessor, or when the change belongs to another state than the last.
   *
   * @return whether the entry completes a change that was applied
   * @throws IOException when this version does not know the entry's form
   */
  boolean apply(ByteBuffer entry) throws IOException {
    int part = entry.getInt();
    int count = entry.getInt();
    if (part == 0) {
      parts = new ByteArrayOutputStream(); // earlier parts belong to an abandoned change
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
    DesiredState before = state;
    // the first change of a log may be a whole state with its own index
    if (before.index() > 0 && change.index() != before.index() + 1) {
      return false;
    }
    state = before.with(List.of(change));
    return true;
  }
}
