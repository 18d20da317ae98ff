package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker.Candidates;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * The points of replicas on a circle. Immutable. A change of the replicas costs the hashes of the
 * new ones, and a walk over the other points, which are sorted already.
 *
 * <p>Source: Karger 1997; the number of points is that of Ray Serve's ConsistentHashRouter, by the
 * hash of {@code id:number}.
 *
 * @param ids by replica index
 * @param points sorted; upper bits: hash, lower bits: index of the owner
 */
record HashRing(String[] ids, long[] points) {
  private static final int OWNER_BITS = 20; // more than the replicas of any deployment
  private static final long OWNER = (1L << OWNER_BITS) - 1;

  /** The ring without replicas. */
  static final HashRing EMPTY = new HashRing(new String[0], new long[0]);

  /** Returns the ring of these replicas, equal to one built from them at once. */
  HashRing over(Candidates replicas, int pointsEach) {
    String[] next = new String[replicas.size()];
    Map<String, Integer> joining = new HashMap<>();
    for (int index = 0; index < next.length; index++) {
      next[index] = replicas.replicaId(index);
      joining.put(next[index], index);
    }
    int[] moved = new int[ids.length]; // new index; -1 for a removed replica
    for (int index = 0; index < ids.length; index++) {
      Integer to = joining.remove(ids[index]);
      moved[index] = to == null ? -1 : to;
    }
    LongStream left =
        Arrays.stream(points)
            .filter(point -> moved[owner(point)] >= 0)
            .map(point -> point(point, moved[owner(point)]));
    LongStream joined =
        joining.entrySet().stream()
            .flatMapToLong(
                each ->
                    LongStream.range(0, pointsEach)
                        .map(i -> point(KeyHash.of(each.getKey() + ":" + i), each.getValue())));
    return new HashRing(next, LongStream.concat(left, joined).sorted().toArray());
  }

  private static long point(long hash, int owner) {
    return hash & ~OWNER | owner;
  }

  private static int owner(long point) {
    return (int) (point & OWNER);
  }

  /** Returns the number of points. */
  int size() {
    return points.length;
  }

  /** Returns the replica index of the point at a place. */
  int ownerAt(int place) {
    return owner(points[place]);
  }

  /** Returns the place of the first point after a key. The ring must not be empty. */
  int after(long key) {
    int found = Arrays.binarySearch(points, key | OWNER);
    int place = found < 0 ? ~found : found + 1;
    return place == points.length ? 0 : place;
  }
}
