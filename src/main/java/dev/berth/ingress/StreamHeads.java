package dev.berth.ingress;

import dev.berth.protocol.port.HttpFailure;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderValidationUtil;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the heads of an HTTP/2 connection before Vert.x reads them. A head that Vert.x or Netty
 * answers with the end of the connection is made readable and refused by {@link IngressLoop}, so
 * that only its stream ends. Confined to the connection's loop.
 */
final class StreamHeads extends Http2FrameListenerDecorator {
  /** Limit of Netty's in those of a request; a block over 1.25 times that ends the connection. */
  static final int READ_LIMITS = 4;

  private static final int FIELD_BYTES = 32; // RFC 9113, 6.5.2

  private final long maxBytes; // of names and values
  private @Nullable HttpFailure refusal; // of the head that is being passed on

  StreamHeads(Http2FrameListener listener, long maxBytes) {
    super(listener);
    this.maxBytes = maxBytes;
  }

  /** Returns why the request that is being handled is refused; null when it is not. */
  @Nullable HttpFailure refusal() {
    return refusal;
  }

  @Override
  public void onHeadersRead(
      ChannelHandlerContext context,
      int stream,
      Http2Headers head,
      int dependsOn,
      short weight,
      boolean exclusive,
      int padding,
      boolean end)
      throws Http2Exception {
    refusal = head.method() == null ? null : refusalOf(head); // trailers have none
    if (refusal != null) {
      head.method("GET"); // any that Vert.x reads
    }
    try {
      super.onHeadersRead(context, stream, head, dependsOn, weight, exclusive, padding, end);
    } catch (RuntimeException unread) {
      throw Http2Exception.streamError(
          stream, Http2Error.PROTOCOL_ERROR, unread, "a head that cannot be read");
    } finally {
      refusal = null;
    }
  }

  private @Nullable HttpFailure refusalOf(Http2Headers head) {
    long bytes = 0;
    for (Map.Entry<CharSequence, CharSequence> field : head) {
      bytes += field.getKey().length() + field.getValue().length() + FIELD_BYTES;
    }
    if (bytes > maxBytes) {
      return ErrorResponses.headersTooLarge();
    }
    CharSequence method = head.method();
    if (method.length() == 0 || HttpHeaderValidationUtil.validateToken(method) >= 0) {
      return ErrorResponses.badRequest("method: no token (expected: GET, POST, ...)");
    }
    CharSequence scheme = head.scheme(); // CONNECT has none
    return scheme == null
            || HttpScheme.HTTP.name().contentEqualsIgnoreCase(scheme)
            || HttpScheme.HTTPS.name().contentEqualsIgnoreCase(scheme)
        ? null
        : ErrorResponses.badRequest("scheme: another (expected: http or https)");
  }
}
