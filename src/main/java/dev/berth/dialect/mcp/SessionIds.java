package dev.berth.dialect.mcp;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * Session ids for clients: the hash of an upstream, a message authentication code, and the
 * upstream's own id. Every node with the same key routes such an id without a table, and no client
 * can make one. Thread-safe.
 */
public final class SessionIds {
  private static final int HASH_BYTES = 12;
  private static final int CODE_BYTES = 16;
  private static final int HASH_CHARS = 16; // in Base64
  private static final int CODE_CHARS = 22;
  private static final int MAX_KNOWN_HASHES = 4_096;
  private static final Pattern FORM = Pattern.compile("b1-[A-Za-z0-9_-]{38}-[!-~]{1,1024}");
  private static final Base64.Encoder ENCODER = Base64.getUrlEncoder().withoutPadding();

  private final Map<String, String> hashes = new ConcurrentHashMap<>(); // by upstream
  private volatile byte[] key;

  /**
   * A session, whose id is authentic.
   *
   * @param upstream hash of its upstream
   * @param id id of the session at the upstream
   */
  public record SessionId(String upstream, String id) {}

  /**
   * @param key random bytes; ids of an earlier process are then unknown
   */
  public SessionIds(byte[] key) {
    this.key = key.clone();
  }

  /**
   * Uses a key that all nodes of a cluster derive from its id. The id is random, and no client
   * receives it.
   */
  public void useCluster(String clusterId) {
    key = mac(clusterId.getBytes(StandardCharsets.UTF_8), "berth mcp sessions");
  }

  /** Returns the hash of an upstream, by its key. */
  public String hash(String upstream) {
    if (hashes.size() > MAX_KNOWN_HASHES) {
      hashes.clear(); // of removed upstreams
    }
    return hashes.computeIfAbsent(upstream, SessionIds::digest);
  }

  /**
   * Returns the id for clients of a session at an upstream. Null for an upstream's id that is not
   * of 1 to 1 024 visible ASCII characters.
   */
  public @Nullable String wrap(String upstream, String id) {
    String wrapped = "b1-" + hash(upstream) + code(hash(upstream), id) + "-" + id;
    return FORM.matcher(wrapped).matches() ? wrapped : null;
  }

  /** Reads an id that a client presents; null for one that this cluster did not make. */
  public @Nullable SessionId read(String presented) {
    if (!FORM.matcher(presented).matches()) {
      return null;
    }
    int codeAt = 3 + HASH_CHARS;
    String hash = presented.substring(3, codeAt);
    String id = presented.substring(codeAt + CODE_CHARS + 1);
    byte[] expected = code(hash, id).getBytes(StandardCharsets.US_ASCII);
    byte[] given =
        presented.substring(codeAt, codeAt + CODE_CHARS).getBytes(StandardCharsets.US_ASCII);
    return MessageDigest.isEqual(expected, given) ? new SessionId(hash, id) : null;
  }

  private String code(String hash, String id) {
    return ENCODER.encodeToString(Arrays.copyOf(mac(key, hash + id), CODE_BYTES));
  }

  private static byte[] mac(byte[] key, String text) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key, "HmacSHA256"));
      return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    } catch (GeneralSecurityException missing) {
      throw new IllegalStateException("HmacSHA256: missing (expected: in every JDK)", missing);
    }
  }

  private static String digest(String upstream) {
    try {
      byte[] all =
          MessageDigest.getInstance("SHA-256").digest(upstream.getBytes(StandardCharsets.UTF_8));
      return ENCODER.encodeToString(Arrays.copyOf(all, HASH_BYTES));
    } catch (GeneralSecurityException missing) {
      throw new IllegalStateException("SHA-256: missing (expected: in every JDK)", missing);
    }
  }
}
