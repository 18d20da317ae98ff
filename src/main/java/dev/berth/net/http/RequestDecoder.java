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
 * Reads HTTP/1 requests as RFC 9112 has them. Netty reads past what a proxy in front may take for
 * the end of a request, or for another request; such a one is refused here, and nothing that came
 * after it is read. What it finds it says in the result of the message, as Netty does.
 *
 * <pre>
 *   {@link #createMessage}: the request line
 *   {@link #splitHeaderName}: each field
 *   {@link #isContentAlwaysEmpty}: the head is whole, and not yet said what follows
 *   {@link #decode}: what follows
 * </pre>
 */
public final class RequestDecoder extends VertxHttpRequestDecoder {
  /** What Vert.x calls its own. */
  private static final String NAME = "httpDecoder";

  private static final AsciiString H2C = AsciiString.cached("h2c");
  private static final String HTTP_1_0 = "HTTP/1.0";
  private static final String HTTP_1_1 = "HTTP/1.1";
  private static final Pattern VERSION = Pattern.compile("HTTP/(\\d)\\.(\\d)");
  private static final Pattern ABSOLUTE = Pattern.compile("(?i:https?)://([^/?]+)([/?].*)?");

  private final boolean upgrades;
  private int hosts; // fields of the head so far
  private int lengths; // likewise
  private boolean keyed; // Sec-WebSocket-Key1 is among them
  private boolean trailing = true; // the head is whole: fields are trailers
  private boolean between = true; // a request and the next
  private @Nullable String authority; // of a target in absolute-form

  private RequestDecoder(HttpServerOptions options, boolean upgrades) {
    super(options);
    this.upgrades = upgrades;
  }

  /**
   * Takes the place of Vert.x's, if that is in a pipeline.
   *
   * @param options how long lines and heads may be
   * @param upgrades whether a request may turn its connection into HTTP/2
   */
  public static void install(
      ChannelPipeline pipeline, HttpServerOptions options, boolean upgrades) {
    if (pipeline.get(NAME) instanceof VertxHttpRequestDecoder before
        && !(before instanceof RequestDecoder)) {
      pipeline.replace(before, NAME, new RequestDecoder(options, upgrades));
    }
  }

  // --- the request line: words, and one space between them ---

  @Override
  protected String splitFirstWordInitialLine(byte[] line, int start, int length) {
    if (start > 0) {
      throw RefusedRequest.malformed("request line: blank first (expected: a method)");
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

  /** Stands for a request whose line is not known; its answer has our version. */
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
      throw RefusedRequest.unsupported(505, "HTTP version: another (expected: HTTP/1.1)");
    }
    return HTTP_1_1;
  }

  /** Of a target in absolute-form, as clients send it to proxies. */
  private String originForm(String method, String target, RefusedRequest refused) {
    Matcher absolute = ABSOLUTE.matcher(target);
    if (refused.status() != 400
        || !absolute.matches()
        || !RequestTarget.isHost(absolute.group(1))) {
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

  // --- the fields ---

  @Override
  protected AsciiString splitHeaderName(byte[] line, int start, int length) {
    if (length == 0) {
      throw RefusedRequest.malformed("field name: empty (expected: a token)");
    }
    AsciiString name = super.splitHeaderName(line, start, length);
    // Vert.x 5.0.12 takes any letter for the L of Content-Length, and for the T of Content-Type.
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

  /** Netty drops these without a look at their values. */
  private static void checkTrailer(AsciiString name) {
    if (HttpHeaderNames.CONTENT_LENGTH.contentEqualsIgnoreCase(name)
        || HttpHeaderNames.TRANSFER_ENCODING.contentEqualsIgnoreCase(name)
        || HttpHeaderNames.TRAILER.contentEqualsIgnoreCase(name)) {
      throw RefusedRequest.malformedBody();
    }
  }

  /** Netty asks when the head is whole. The answer is no. */
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
    // Netty reads 8 bytes behind such a head, as a withdrawn draft of WebSocket had it.
    if (keyed
        && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY2)
        && ((HttpRequest) message).method().equals(HttpMethod.GET)) {
      throw RefusedRequest.malformed(
          "Sec-WebSocket-Key1 and -Key2: a body without a length (expected: not both)");
    }
    boolean coded = headers.contains(HttpHeaderNames.TRANSFER_ENCODING);
    if (lengths > (coded ? 0 : 1)) {
      throw RefusedRequest.malformed(
          "Content-Length: several, or beside Transfer-Encoding (expected: one, alone)");
    }
    if (coded) {
      checkCodings(headers.getAll(HttpHeaderNames.TRANSFER_ENCODING));
    }
    if (authority != null) {
      headers.set(HttpHeaderNames.HOST, authority);
    }
    if (headers.contains(HttpHeaderNames.CONNECTION) // most have none, and a list takes a walk
        && headers.containsValue(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true)
        && !headers.contains(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE, true)) {
      headers.add(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE); // Vert.x reads no lists
    }
    if (old) {
      headers.remove(HttpHeaderNames.EXPECT); // RFC 9110, 10.1.1: it does not know 100
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

  /** Returns whether a head has begun and is not whole. */
  public boolean isInHead() {
    return !trailing || (between && actualReadableBytes() > 0);
  }

  // --- what follows them ---

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
