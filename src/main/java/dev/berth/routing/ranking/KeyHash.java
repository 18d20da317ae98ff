package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker.Asker;

/**
 * What keys, replicas and sides are hashed by: FNV-1a over the text's characters, then the last
 * step of MurmurHash3, by which each bit depends on each. It allocates nothing.
 *
 * <p>Sources: Fowler, Noll and Vo, FNV-1a of 64 bits; Appleby, MurmurHash3's fmix64. Both are in
 * the public domain.
 */
public final class KeyHash {
  private static final long FNV_BASIS = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private KeyHash() {}

  /** The key of what belongs together by this text; none of the empty text. */
  public static long of(String text) {
    long hash = FNV_BASIS;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * FNV_PRIME;
    }
    long mixed = mix(hash);
    return text.isEmpty() ? Asker.NO_KEY : mixed == Asker.NO_KEY ? 1 : mixed;
  }

  /** Each bit of it depends on each. */
  public static long mix(long h) {
    long k = (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
    k = (k ^ k >>> 33) * 0xc4ceb9fe1a85ec53L;
    return k ^ k >>> 33;
  }
}
