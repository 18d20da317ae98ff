package dev.berth.routing;

import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a loop waits for, by an id that crosses the bus and comes back: slot index in the low 32
 * bits, generation in the high. A late answer names an old generation and finds nothing. Bounded;
 * grows up to its bound by doubling. Confined to its loop.
 */
final class PendingTable<T> {
  /** Widest bound: replicas index their own tables by the slot. */
  static final int LIMIT = 65_536;

  /** Returned by {@link #add} when every slot is taken. */
  static final long FULL = -1;

  private final int capacity; // entries
  private final int firstGeneration;
  private @Nullable Object[] entries;
  private int[] generations;
  private int[] free; // a stack of slot indices
  private int freeSize;

  /**
   * @param capacity entries, 1 to 65 536
   * @param incarnation random bits of this start of the instance: generations begin there, so that
   *     an answer to a request of the one before, under the same address, finds nothing
   */
  PendingTable(int capacity, long incarnation) {
    if (capacity < 1 || capacity > LIMIT) {
      throw new IllegalArgumentException("capacity: " + capacity + " (expected: 1 to 65536)");
    }
    this.capacity = capacity;
    int initial = Math.min(256, capacity);
    entries = new Object[initial];
    generations = new int[initial];
    firstGeneration = (int) incarnation & Integer.MAX_VALUE; // keeps ids positive
    Arrays.fill(generations, firstGeneration);
    free = new int[initial];
    pushFree(0, initial);
  }

  private void pushFree(int from, int to) {
    for (int slot = to - 1; slot >= from; slot--) {
      free[freeSize++] = slot;
    }
  }

  /** Adds an entry; its id, or {@link #FULL}. */
  long add(T entry) {
    if (freeSize == 0 && !grow()) {
      return FULL;
    }
    int slot = free[--freeSize];
    entries[slot] = entry;
    return ((long) generations[slot] << 32) | slot;
  }

  private boolean grow() {
    int length = entries.length;
    if (length == capacity) {
      return false;
    }
    int wider = Math.min(capacity, 2 * length);
    entries = Arrays.copyOf(entries, wider);
    generations = Arrays.copyOf(generations, wider);
    Arrays.fill(generations, length, wider, firstGeneration);
    free = Arrays.copyOf(free, wider);
    pushFree(length, wider);
    return true;
  }

  /** The entry of an id, or null when it is over. */
  @SuppressWarnings("unchecked")
  @Nullable T get(long id) {
    int slot = (int) id;
    return slot >= 0 && slot < entries.length && generations[slot] == (int) (id >>> 32)
        ? (T) entries[slot]
        : null;
  }

  /** Puts another entry under an id that is not over. */
  void replace(long id, T entry) {
    assert get(id) != null : "id: " + id + " (expected: not over)";
    entries[(int) id] = entry;
  }

  /** Takes an entry out; null when it is over. */
  @Nullable T remove(long id) {
    T entry = get(id);
    if (entry != null) {
      int slot = (int) id;
      entries[slot] = null;
      generations[slot] = (generations[slot] + 1) & Integer.MAX_VALUE; // keeps ids positive
      free[freeSize++] = slot;
    }
    return entry;
  }

  /** Visits each entry; the visitor may remove entries. */
  @SuppressWarnings("unchecked")
  void forEach(Consumer<T> visitor) {
    for (Object entry : entries.clone()) {
      if (entry != null) {
        visitor.accept((T) entry);
      }
    }
  }

  boolean isFull() {
    return freeSize == 0 && entries.length == capacity;
  }

  int size() {
    return entries.length - freeSize;
  }
}
