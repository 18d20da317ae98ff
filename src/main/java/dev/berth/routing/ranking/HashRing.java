package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker.Candidates;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * The points of replicas on a circle, immutable. What a change of the replicas costs is the hashes
 * of those that join, and a walk over the points of the others, which are in order already.
 *
 * <p>Source: Karger 1997; as many points as Ray Serve's ConsistentHashRouter has, by the hash of
 * {@code id:number}.
 */
final class HashRing {
  private static final int OWNER_BITS = 20; // a deployment has fewer replicas than that counts
  private static final long OWNER = (1L << OWNER_BITS) - 1;

  /** Of no replica. */
  static final HashRing EMPTY = new HashRing(new String[0], new long[0]);

  private final String[] ids; // by index
  final long[]
      points; // sorted; the upper bits of each of its hash, the lower ones its owner's index

  private HashRing(String[] ids, long[] points) {
    this.ids = ids;
    this.points = points;
  }

  /** The ring of these replicas, equal to one that is made of them at once. */
  HashRing over(Candidates replicas, int pointsEach) {
    String[] next = new String[replicas.size()];
    Map<String, Integer> joining = new HashMap<>();
    for (int index = 0; index < next.length; index++) {
      next[index] = replicas.replicaId(index);
      joining.put(next[index], index);
    }
    int[] moved = new int[ids.length]; // to which index; -1 for one that left
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

  /** How many points there are. */
  int size() {
    return points.length;
  }

  /** Whose the point at a place is, an index. */
  int ownerAt(int place) {
    return owner(points[place]);
  }

  /** The place of the first point after a key, on a ring that has any. */
  int after(long key) {
    int found = Arrays.binarySearch(points, key | OWNER);
    int place = found < 0 ? ~found : found + 1;
    return place == points.length ? 0 : place;
  }
}
