package dev.berth.routing;

import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Table of the operations of one loop that await a reply. The id of an entry crosses the bus and
 * returns: index in the low 32 bits, generation in the high 32. A late reply has an old generation
 * and finds no entry. Bounded; doubles up to its limit. Confined to its loop.
 */
final class PendingTable<T> {
  /** Maximum capacity in entries; replicas index their own tables by the entry index. */
  static final int LIMIT = 65_536;

  /** Result of {@link #add} on a full table. */
  static final long FULL = -1;

  private final int capacity; // in entries
  private final int firstGeneration;
  private @Nullable Object[] entries;
  private int[] generations;
  private int[] free; // a stack of free indices
  private int freeSize;

  /**
   * @param capacity maximum entries, 1 to 65 536
   * @param incarnation random bits of this start of the instance. Generations begin there, so that
   *     a reply to the previous process at the same address finds no entry
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

  /** Adds an entry and returns its id, or {@link #FULL}. */
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

  /** Returns the entry of an id; null if it has been removed. */
  @SuppressWarnings("unchecked")
  @Nullable T get(long id) {
    int slot = (int) id;
    return slot >= 0 && slot < entries.length && generations[slot] == (int) (id >>> 32)
        ? (T) entries[slot]
        : null;
  }

  /** Replaces the entry of an id that has not been removed. */
  void replace(long id, T entry) {
    assert get(id) != null : "id: " + id + " (expected: not over)";
    entries[(int) id] = entry;
  }

  /** Removes and returns an entry; null if it has been removed. */
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
