package dev.berth.net.http;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The requests that a reader finds in the bytes of a connection.
 *
 * @param ended the whole ones, in order
 * @param rest the state of the bytes behind them
 */
record RequestEnds(List<Ended> ended, Rest rest) {

  /** A request that has ended, before the byte at an offset. */
  record Ended(int end, String method, String target, @Nullable String host, String body) {}

  enum Rest {
    /** Between two requests, or within a body. */
    OPEN,
    /** Within a head or a trailer, of which a reader may refuse what has come. */
    UNDECIDED,
    /** The next request is refused. */
    REFUSED,
    /** The last of the ended ones has a malformed part that moves no end: it may be refused. */
    DOUBTFUL
  }

  /** Fails unless the decoder ends and refuses the requests of a connection as RFC 9112 does. */
  static void compare(String bytes, DecodedRequests by) {
    RequestEnds strict = StrictParser.read(bytes);
    RequestEnds decoded = by.read(bytes, bytes.length());
    if (!strict.allows(decoded)) {
      throw new AssertionError(
          "%s%nstrict  %s%ndecoder %s".formatted(visible(bytes), strict, decoded));
    }
    if (strict.rest == Rest.REFUSED && decoded.rest != Rest.REFUSED) {
      String whole = bytes + "\r\n\r\n"; // the decoder waits for the end of a line
      if (by.read(whole, whole.length()).rest != Rest.REFUSED) {
        throw new AssertionError("not refused: " + visible(bytes));
      }
    }
    int split = Math.floorMod(bytes.hashCode(), bytes.length() + 1);
    RequestEnds inTwo = by.read(bytes, split);
    if (!inTwo.bare().equals(decoded.bare())) {
      throw new AssertionError(
          "%s%nin one read    %s%nbroken at %5d %s"
              .formatted(visible(bytes), decoded, split, inTwo));
    }
  }

  /** Without the ends, which are known of one read alone. */
  private RequestEnds bare() {
    return new RequestEnds(
        ended.stream()
            .map(one -> new Ended(0, one.method, one.target, one.host, one.body))
            .toList(),
        rest);
  }

  private boolean allows(RequestEnds decoded) {
    if (rest == Rest.DOUBTFUL) {
      int sure = ended.size() - 1;
      return decoded.ended.size() > sure
          ? decoded.ended.subList(0, sure + 1).equals(ended)
          : decoded.ended.equals(ended.subList(0, sure)) && decoded.rest == Rest.REFUSED;
    }
    return ended.equals(decoded.ended) && (rest != Rest.OPEN || decoded.rest == Rest.OPEN);
  }

  /** As a test would write it. */
  static String visible(String bytes) {
    StringBuilder shown = new StringBuilder();
    for (char c : bytes.toCharArray()) {
      shown.append(c >= ' ' && c < 0x7f ? c : "\\x%02x".formatted((int) c));
    }
    return shown.toString().replace("\\x0d\\x0a", "\u23ce");
  }
}
