package dev.berth.net.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.AsciiString;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.impl.VertxHttpRequestDecoder;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Strict decoder of HTTP/1 requests (RFC 9112). Netty is lenient where a proxy in front may see the
 * end of a request, or another request. This decoder refuses such requests, and reads nothing after
 * them. As in Netty, the decoder result of the message carries the refusal.
 *
 * <pre>
 *   {@link #createMessage}: the request line
 *   {@link #splitHeaderName}: each field
 *   {@link #isContentAlwaysEmpty}: the head is complete, the body is not yet determined
 *   {@link #decode}: the body
 * </pre>
 */
public final class RequestDecoder extends VertxHttpRequestDecoder {
  /** Name of Vert.x's decoder in the pipeline. */
  private static final String NAME = "httpDecoder";

  private static final AsciiString H2C = AsciiString.cached("h2c");
  private static final String HTTP_1_0 = "HTTP/1.0";
  private static final String HTTP_1_1 = "HTTP/1.1";
  private static final Pattern VERSION = Pattern.compile("HTTP/(\\d)\\.(\\d)");
  private static final Pattern ABSOLUTE = Pattern.compile("(?i:https?)://([^/?]+)([/?].*)?");

  private final boolean upgrades;
  private int hosts; // Host fields of the head so far
  private int lengths; // Content-Length fields of the head so far
  private boolean keyed; // the head has a Sec-WebSocket-Key1
  private boolean trailing = true; // the head is complete: fields are trailers
  private boolean between = true; // from the end of a request to the next complete head
  private @Nullable String authority; // of a target in absolute-form

  private RequestDecoder(HttpServerOptions options, boolean upgrades) {
    super(options);
    this.upgrades = upgrades;
  }

  /**
   * Replaces Vert.x's decoder, if a pipeline contains it.
   *
   * @param options limits of lines and heads
   * @param upgrades whether a request may upgrade its connection to HTTP/2
   */
  public static void install(
      ChannelPipeline pipeline, HttpServerOptions options, boolean upgrades) {
    if (pipeline.get(NAME) instanceof VertxHttpRequestDecoder before
        && !(before instanceof RequestDecoder)) {
      pipeline.replace(before, NAME, new RequestDecoder(options, upgrades));
    }
  }

  // --- request line: words, separated by one space ---

  @Override
  protected String splitFirstWordInitialLine(byte[] line, int start, int length) {
    if (start > 0) {
      throw RefusedRequest.malformed("request line: leading blank (expected: a method)");
    }
    return super.splitFirstWordInitialLine(line, start, length);
  }

  @Override
  protected String splitSecondWordInitialLine(byte[] line, int start, int length) {
    checkSpaceBefore(line, start);
    return super.splitSecondWordInitialLine(line, start, length);
  }

  @Override
  protected String splitThirdWordInitialLine(byte[] line, int start, int length) {
    checkSpaceBefore(line, start);
    return super.splitThirdWordInitialLine(line, start, length);
  }

  private static void checkSpaceBefore(byte[] line, int word) {
    if (word < 2 || line[word - 1] != ' ' || (line[word - 2] & 0xFF) <= ' ') {
      throw RefusedRequest.malformed("request line: other blanks (expected: single spaces)");
    }
  }

  @Override
  protected HttpMessage createMessage(String[] line) {
    hosts = 0;
    lengths = 0;
    keyed = false;
    trailing = false;
    authority = null;
    line[2] = servedAs(line[2]);
    RefusedRequest refused = RequestTarget.refusal(line[0], line[1]);
    if (refused != null) {
      line[1] = originForm(line[0], line[1], refused);
    }
    return super.createMessage(line);
  }

  /** Creates a substitute for a request with an unreadable line. The response has version 1.1. */
  @Override
  protected HttpMessage createInvalidMessage() {
    return new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, "/bad-request");
  }

  private static String servedAs(String version) {
    if (version.equals(HTTP_1_1) || version.equals(HTTP_1_0)) {
      return version;
    }
    Matcher parts = VERSION.matcher(version);
    if (!parts.matches()) {
      throw RefusedRequest.malformed("HTTP version: malformed (expected: HTTP/1.1)");
    }
    if (!parts.group(1).equals("1")) {
      throw RefusedRequest.unsupported(505, "HTTP version: unsupported (expected: HTTP/1.1)");
    }
    return HTTP_1_1;
  }

  /** Converts a target in absolute-form, which clients send to proxies, to origin-form. */
  private String originForm(String method, String target, RefusedRequest refused) {
    Matcher absolute = ABSOLUTE.matcher(target);
    if (refused.status != 400 || !absolute.matches() || !RequestTarget.isHost(absolute.group(1))) {
      throw refused;
    }
    authority = absolute.group(1);
    String rest = absolute.group(2);
    String path = rest == null && method.equals("OPTIONS") ? "*" : "/";
    if (rest != null) {
      path = rest.startsWith("/") ? rest : path + rest;
    }
    if (RequestTarget.refusal(method, path) != null) {
      throw refused;
    }
    return path;
  }

  // --- fields ---

  @Override
  protected AsciiString splitHeaderName(byte[] line, int start, int length) {
    if (length == 0) {
      throw RefusedRequest.malformed("field name: empty (expected: a token)");
    }
    AsciiString name = super.splitHeaderName(line, start, length);
    // Vert.x 5.0.12 accepts any letter for the L of Content-Length, and for the T of Content-Type.
    if ((length == 14 || length == 12) && ((name.byteAt(8) ^ line[start + 8]) & ~0x20) != 0) {
      name = new AsciiString(line, start, length, true);
    }
    if (trailing) {
      checkTrailer(name);
    } else if (length == 4 && HttpHeaderNames.HOST.contentEqualsIgnoreCase(name)) {
      hosts++;
    } else if (length == 14 && HttpHeaderNames.CONTENT_LENGTH.contentEqualsIgnoreCase(name)) {
      lengths++;
    } else if (length == 18 && HttpHeaderNames.SEC_WEBSOCKET_KEY1.contentEqualsIgnoreCase(name)) {
      keyed = true;
    }
    return name;
  }

  /** Refuses trailers that Netty would drop without checking their values. */
  private static void checkTrailer(AsciiString name) {
    if (HttpHeaderNames.CONTENT_LENGTH.contentEqualsIgnoreCase(name)
        || HttpHeaderNames.TRANSFER_ENCODING.contentEqualsIgnoreCase(name)
        || HttpHeaderNames.TRAILER.contentEqualsIgnoreCase(name)) {
      throw RefusedRequest.malformedBody();
    }
  }

  /**
   * Checks the complete head. Netty calls this method at that point; the result is always false.
   */
  @Override
  protected boolean isContentAlwaysEmpty(HttpMessage message) {
    trailing = true;
    between = false;
    HttpHeaders headers = message.headers();
    boolean old = message.protocolVersion() == HttpVersion.HTTP_1_0;
    String host = headers.get(HttpHeaderNames.HOST);
    if (hosts > 1 || (host == null ? !old : !RequestTarget.isHost(host))) {
      throw RefusedRequest.malformed("Host: none, several or malformed (expected: one)");
    }
    // Netty reads 8 bytes after such a head, as in a withdrawn draft of WebSocket.
    if (keyed
        && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY2)
        && ((HttpRequest) message).method().equals(HttpMethod.GET)) {
      throw RefusedRequest.malformed(
          "Sec-WebSocket-Key1 and -Key2: a body without a length (expected: not both)");
    }
    boolean coded = headers.contains(HttpHeaderNames.TRANSFER_ENCODING);
    if (lengths > (coded ? 0 : 1)) {
      throw RefusedRequest.malformed(
          "Content-Length: several, or with Transfer-Encoding (expected: one, alone)");
    }
    if (coded) {
      checkCodings(headers.getAll(HttpHeaderNames.TRANSFER_ENCODING));
    }
    if (authority != null) {
      headers.set(HttpHeaderNames.HOST, authority);
    }
    if (headers.contains(HttpHeaderNames.CONNECTION) // most have none, and lists are slow
        && headers.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true)
        && !headers.contains(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true)) {
      headers.add(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE); // Vert.x reads no lists
    }
    if (old) {
      headers.remove(HttpHeaderNames.EXPECT); // RFC 9110, 10.1.1: HTTP/1.0 has no 100
    }
    if (!upgrades && headers.contains(HttpHeaderNames.UPGRADE, H2C, true)) {
      headers.remove(HttpHeaderNames.UPGRADE);
    }
    return super.isContentAlwaysEmpty(message);
  }

  private static void checkCodings(List<String> fields) {
    List<String> codings =
        Stream.of(String.join(",", fields).toLowerCase(Locale.ROOT).split("[ \t]*,[ \t]*"))
            .filter(coding -> !coding.isEmpty())
            .toList();
    int last = codings.size() - 1;
    if (codings.indexOf("chunked") != last || last < 0) {
      throw RefusedRequest.malformed("Transfer-Encoding: not chunked (expected: chunked, last)");
    }
    if (last > 0) {
      throw RefusedRequest.unsupported(501, "Transfer-Encoding: others (expected: chunked alone)");
    }
  }

  /** Returns whether a head has begun and is incomplete. */
  public boolean isInHead() {
    return !trailing || (between && actualReadableBytes() > 0);
  }

  // --- body ---

  @Override
  protected void decode(ChannelHandlerContext context, ByteBuf in, List<Object> out)
      throws Exception {
    super.decode(context, in, out);
    if (out.isEmpty() || !(out.get(out.size() - 1) instanceof HttpContent content)) {
      return;
    }
    between = content instanceof LastHttpContent;
    if (!(content instanceof HttpRequest) && content.decoderResult().isFailure()) {
      ((HttpObject) content)
          .setDecoderResult(DecoderResult.failure(RefusedRequest.malformedBody()));
    }
  }
}
