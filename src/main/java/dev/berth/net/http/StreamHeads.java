package dev.berth.net.http;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderValidationUtil;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameListener;
import io.netty.handler.codec.http2.Http2FrameListenerDecorator;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks the heads of an HTTP/2 connection before Vert.x reads them. Vert.x or Netty would close
 * the connection for some heads. These are made readable here and then refused by the server, so
 * that only their stream ends. Confined to the event loop.
 */
public final class StreamHeads extends Http2FrameListenerDecorator {
  /**
   * Factor from the limit of a head to the list size in a server's initial settings. Netty enforces
   * this size: a longer list gets 431 without a body, and a block over 1.25 times the size ends the
   * connection.
   */
  public static final int READ_LIMITS = 4;

  private static final int FIELD_BYTES = 32; // RFC 9113, 6.5.2

  private final long maxBytes; // of names and values
  private @Nullable RefusedRequest refusal; // of the head in progress

  private StreamHeads(Http2FrameListener listener, long maxBytes) {
    super(listener);
    this.maxBytes = maxBytes;
  }

  /**
   * Installs the checks on a new connection, and announces the limit to its client.
   *
   * @param context of Vert.x's handler
   * @param maxBytes limit of a head
   */
  public static StreamHeads install(ChannelHandlerContext context, int maxBytes) {
    Http2ConnectionHandler handler = (Http2ConnectionHandler) context.handler();
    StreamHeads heads = new StreamHeads(handler.decoder().frameListener(), maxBytes);
    handler.decoder().frameListener(heads);
    // Bypasses the encoder, which would enforce settings once they are acknowledged.
    Http2Settings limit = new Http2Settings().maxHeaderListSize(maxBytes);
    handler.encoder().frameWriter().writeSettings(context, limit, context.newPromise());
    context.flush();
    return heads;
  }

  /** Returns the refusal of the request in progress; null if it is valid. */
  public @Nullable RefusedRequest refusal() {
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
    CharSequence method = head.method();
    refusal = method == null ? null : refusalOf(head, method.toString()); // trailers have none
    if (refusal != null) {
      makeReadable(head);
    }
    try {
      super.onHeadersRead(context, stream, head, dependsOn, weight, exclusive, padding, end);
    } catch (RuntimeException unread) {
      throw Http2Exception.streamError(
          stream, Http2Error.PROTOCOL_ERROR, unread, "a malformed head");
    } finally {
      refusal = null;
    }
  }

  private @Nullable RefusedRequest refusalOf(Http2Headers head, String method) {
    long bytes = 0;
    for (Map.Entry<CharSequence, CharSequence> field : head) {
      bytes += field.getKey().length() + field.getValue().length() + FIELD_BYTES;
    }
    if (bytes > maxBytes) {
      return RefusedRequest.unsupported(431, "Request Header Fields Too Large");
    }
    if (!isToken(method)) {
      return RefusedRequest.malformed("method: not a token (expected: GET, POST, ...)");
    }
    CharSequence scheme = head.scheme(); // CONNECT has none
    if (scheme != null
        && !HttpScheme.HTTP.name().contentEqualsIgnoreCase(scheme)
        && !HttpScheme.HTTPS.name().contentEqualsIgnoreCase(scheme)) {
      return RefusedRequest.malformed("scheme: unsupported (expected: http or https)");
    }
    CharSequence host = head.authority() == null ? head.get("host") : head.authority();
    if (host != null && !RequestTarget.isHost(host.toString())) {
      return RefusedRequest.malformed("authority: malformed (expected: as in Host)");
    }
    CharSequence path = head.path(); // without a path, Vert.x resets all but CONNECT
    return path == null && !method.equals("CONNECT")
        ? null
        : RequestTarget.refusal(method, String.valueOf(path));
  }

  private static boolean isToken(CharSequence method) {
    return method.length() > 0 && HttpHeaderValidationUtil.validateToken(method) < 0;
  }

  /** Completes a head for Vert.x, which makes no request without method, path and scheme. */
  private static void makeReadable(Http2Headers head) {
    if (head.path() == null) {
      head.method("GET").path("/").scheme("http");
    } else if (!isToken(head.method())) {
      head.method("GET");
    }
  }
}
