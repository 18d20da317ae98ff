package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.vertx.core.buffer.Buffer;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Heads and trailers of HTTP/2, from and to validated parts. */
final class StreamFields {
  /** Pseudo-header of a response's status. */
  private static final String STATUS = ":status";

  private StreamFields() {}

  /**
   * Returns the head of a request.
   *
   * @param whole the complete body; null if the body is streamed
   * @throws IllegalArgumentException if a part has an illegal character
   */
  static Http2Headers request(
      UpstreamRequest request, @Nullable Buffer whole, UpstreamTarget target) {
    MessageFields.check(request.method(), MessageFields.TOKEN, "method");
    MessageFields.check(request.pathAndQuery(), RequestEncoder.VISIBLE, "target");
    RequestEncoder.checkOrigin(request.method(), request.pathAndQuery());
    Http2Headers head = new DefaultHttp2Headers(false, request.headers().size() + 8);
    head.method(request.method())
        .scheme(target.tls() == null ? "http" : "https")
        .authority(target.authority())
        .path(request.pathAndQuery());
    request.headers().forEach((name, value) -> add(head, name.toLowerCase(Locale.ROOT), value));
    long body = whole == null ? request.bodyLength() : whole.length();
    if (body > 0 || (body == 0 && RequestEncoder.expectsBody(request.method()))) {
      head.add("content-length", Long.toString(body));
    }
    return head;
  }

  /** Adds a field, unless it is one of the client's own. The relay drops the others of one hop. */
  private static void add(Http2Headers head, String name, String value) {
    if (!RequestEncoder.isOwn(name)) {
      MessageFields.check(name, MessageFields.TOKEN, "field name");
      MessageFields.check(value, RequestEncoder.TEXT, "field value");
      head.add(name, value);
    }
  }

  /**
   * Returns the status of a response.
   *
   * @throws MalformedResponse unless it is a number of three digits, and not 101
   */
  static int status(Http2Headers head) {
    String text = String.valueOf(head.status());
    if (!text.matches("[1-9][0-9]{2}") || text.equals("101")) {
      throw new MalformedResponse("status: malformed");
    }
    return Integer.parseInt(text);
  }

  /**
   * Returns the fields of a head or of trailers.
   *
   * @throws MalformedResponse if a field has an illegal character
   */
  static Headers fields(Http2Headers from) {
    String[] pairs = new String[2 * from.size()];
    int count = 0;
    for (Map.Entry<CharSequence, CharSequence> each : from) {
      String name = each.getKey().toString();
      String value = each.getValue().toString();
      if (!name.equals(STATUS)) {
        if (MessageFields.illegalAt(name, MessageFields.TOKEN) >= 0
            || MessageFields.illegalAt(value, RequestEncoder.TEXT) >= 0) {
          throw new MalformedResponse("field: illegal character");
        }
        pairs[count++] = name;
        pairs[count++] = value.strip();
      }
    }
    return Headers.of(Arrays.copyOf(pairs, count));
  }

  /**
   * Returns the length that a response states, -1 for none.
   *
   * @throws MalformedResponse if it has two different ones
   */
  static long length(Headers fields) {
    long length = -1;
    for (String each : fields.all("content-length")) {
      long next = ResponseParser.lengthOf(each);
      if (length >= 0 && length != next) {
        throw new MalformedResponse("content-length: two different values");
      }
      length = next;
    }
    return length;
  }
}
