package dev.berth.ingress;

import org.jspecify.annotations.Nullable;

/**
 * Names the requests of one event loop: the client's {@code X-Request-ID} when it can be passed on
 * as it is, else one of ours, which is unique, cheap and no secret. Confined to its loop.
 */
final class RequestIds {
  /** Longest id taken from a client, in characters. */
  static final int MAX_LENGTH = 128;

  private final String prefix;
  private long made;

  /**
   * @param random another number for each loop of each start, which keeps the ids of two apart
   */
  RequestIds(long random) {
    this.prefix = Long.toHexString(random) + "-";
  }

  /** The client's id if it is 1 to 128 visible ASCII characters, else a new one. */
  String idFor(@Nullable String fromClient) {
    return fromClient != null && isValid(fromClient) ? fromClient : next();
  }

  private String next() {
    return prefix + Long.toHexString(++made);
  }

  private static boolean isValid(String id) {
    if (id.isEmpty() || id.length() > MAX_LENGTH) {
      return false;
    }
    for (int i = 0; i < id.length(); i++) {
      char c = id.charAt(i);
      if (c <= ' ' || c > '~') {
        return false; // would let a client write into logs, or split a header
      }
    }
    return true;
  }
}
