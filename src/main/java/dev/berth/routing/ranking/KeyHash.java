package dev.berth.routing.ranking;

import dev.berth.api.spi.ReplicaRanker.Asker;

/**
 * Hash of keys, replicas and traffic targets: FNV-1a over the text's characters, then the last step
 * of MurmurHash3, after which each bit depends on every input bit. Allocates nothing.
 *
 * <p>Sources: Fowler, Noll and Vo, FNV-1a of 64 bits; Appleby, MurmurHash3's fmix64. Both are in
 * the public domain.
 */
public final class KeyHash {
  private static final long FNV_BASIS = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private KeyHash() {}

  /** Returns the key of a text; {@link Asker#NO_KEY} for the empty text only. */
  public static long of(String text) {
    long hash = FNV_BASIS;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * FNV_PRIME;
    }
    long mixed = mix(hash);
    return text.isEmpty() ? Asker.NO_KEY : mixed == Asker.NO_KEY ? 1 : mixed;
  }

  /** Mixes a hash, so that each bit of the result depends on every input bit. */
  public static long mix(long h) {
    long k = (h ^ h >>> 33) * 0xff51afd7ed558ccdL;
    k = (k ^ k >>> 33) * 0xc4ceb9fe1a85ec53L;
    return k ^ k >>> 33;
  }
}
