package dev.berth.ingress.edge;

import dev.berth.config.edge.EdgeOptions;
import dev.berth.config.keys.Settings;
import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Choice of compressed responses.
 *
 * @param types media types; of a family as {@code text/*}
 * @param minBytes smallest compressed response
 */
record CompressionRules(Set<String> types, int minBytes, int level) {
  static CompressionRules of(Settings compression) {
    return new CompressionRules(
        Set.copyOf(compression.get(EdgeOptions.TYPES)),
        compression.get(EdgeOptions.MIN_BYTES),
        compression.get(EdgeOptions.LEVEL));
  }

  /**
   * Decides on a response with a complete head, and adapts the head.
   *
   * @param accepted values of {@code Accept-Encoding}
   * @param length in bytes; negative if unknown
   * @return null for no compression
   */
  @Nullable ContentCoding choose(List<String> accepted, MultiMap response, long length) {
    if ((length >= 0 && length < minBytes)
        || !isListed(response.get(HttpHeaders.CONTENT_TYPE))
        || response.contains(HttpHeaders.CONTENT_ENCODING)
        || response.contains(HttpHeaders.CONTENT_RANGE)
        || String.join(",", response.getAll(HttpHeaders.CACHE_CONTROL))
            .toLowerCase(Locale.ROOT)
            .contains("no-transform")) {
      return null;
    }
    EdgeRules.addVary(response, "Accept-Encoding");
    return ContentCoding.preferred(accepted);
  }

  /** Adapts the head of a response that is compressed. */
  BodyCompressor compressor(ContentCoding coding, MultiMap response) {
    response.set(HttpHeaders.CONTENT_ENCODING, coding.token);
    String tag = response.get(HttpHeaders.ETAG);
    if (tag != null && !tag.startsWith("W/")) {
      response.set(HttpHeaders.ETAG, "W/" + tag); // the bytes are others
    }
    response.remove(HttpHeaders.ACCEPT_RANGES);
    return new BodyCompressor(coding, level);
  }

  private boolean isListed(@Nullable String contentType) {
    if (contentType == null) {
      return false;
    }
    int end = contentType.indexOf(';');
    String type =
        (end < 0 ? contentType : contentType.substring(0, end)).strip().toLowerCase(Locale.ROOT);
    int slash = type.indexOf('/');
    return types.contains(type)
        || (slash > 0
            && !type.equals("text/event-stream")
            && types.contains(type.substring(0, slash) + "/*"));
  }
}
