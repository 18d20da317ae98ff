package dev.berth.web;

import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.http.Cookie;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpFrame;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.http.StreamPriority;
import io.vertx.core.http.impl.HttpUtils;
import io.vertx.core.internal.ContextInternal;
import io.vertx.core.internal.http.HttpServerRequestInternal;
import io.vertx.core.net.HostAndPort;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.SocketAddress;
import java.lang.reflect.Proxy;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.Set;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * The head of a Router's request: the message of Berth in the form of Vert.x. Its addresses and its
 * connection state the origin of the client.
 */
abstract class RouterRequestHead extends HttpServerRequestInternal {
  /** Address in place of an unknown one. */
  private static final SocketAddress UNKNOWN = SocketAddress.inetSocketAddress(0, "0.0.0.0");

  final Request message;
  final RequestContext berth;
  final ContextInternal context;
  final RouterResponse response;
  private final String uri;
  boolean empty; // without a body
  private @Nullable MultiMap headers;
  private @Nullable MultiMap params;
  private boolean semicolons; // of params
  private Charset paramsCharset = StandardCharsets.UTF_8;

  RouterRequestHead(Request message, RequestContext berth, ContextInternal context) {
    this.message = message;
    this.berth = berth;
    this.context = context;
    this.uri = message.query() == null ? message.path() : message.path() + '?' + message.query();
    this.response = new RouterResponse((RouterRequest) this);
  }

  @Override
  public HttpVersion version() {
    return HttpVersion.HTTP_1_1;
  }

  @Override
  public HttpMethod method() {
    return HttpMethod.valueOf(message.method());
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public String path() {
    return message.path();
  }

  @Override
  public @Nullable String query() {
    return message.query();
  }

  @Override
  public MultiMap headers() {
    MultiMap known = headers;
    if (known == null) {
      MultiMap made = HttpHeaders.headers();
      message.headers().forEach(made::add);
      if (!empty
          && !made.contains(HttpHeaders.CONTENT_LENGTH)
          && !made.contains(HttpHeaders.TRANSFER_ENCODING)) { // HTTP/2 states neither
        made.set(HttpHeaders.TRANSFER_ENCODING, HttpHeaders.CHUNKED);
      }
      headers = made;
      known = made;
    }
    return known;
  }

  private @Nullable String header(CharSequence name) {
    return headers == null ? message.headers().get(name.toString()) : headers.get(name);
  }

  @Override
  public boolean isValidAuthority() {
    String host = header(HttpHeaderNames.HOST);
    return host == null || HostAndPort.parseAuthority(host, -1) != null;
  }

  @Override
  public @Nullable HostAndPort authority() {
    return HostAndPort.parseAuthority(berth.host(), -1);
  }

  @Override
  public @Nullable HostAndPort authority(boolean real) {
    return real ? null : authority();
  }

  @Override
  public String scheme() {
    return berth.scheme();
  }

  @Override
  public boolean isSSL() {
    return scheme().equals("https");
  }

  @Override
  public String absoluteURI() {
    return scheme() + "://" + authority() + uri;
  }

  @Override
  public HttpServerRequest setParamsCharset(String charset) {
    paramsCharset = Charset.forName(charset);
    params = null;
    return this;
  }

  @Override
  public String getParamsCharset() {
    return paramsCharset.name();
  }

  @Override
  public MultiMap params(boolean semicolonIsNormalChar) {
    MultiMap known = params;
    if (known == null || semicolons != semicolonIsNormalChar) {
      known = HttpUtils.params(uri, paramsCharset, semicolonIsNormalChar);
      params = known;
      semicolons = semicolonIsNormalChar;
    }
    return known;
  }

  @Override
  public RouterResponse response() {
    return response;
  }

  @Override
  public DecoderResult decoderResult() {
    return DecoderResult.SUCCESS; // the ingress refuses other requests
  }

  // --- cookies ---

  @Override
  public @Nullable Cookie getCookie(String name) {
    return response.cookies().get(name);
  }

  @Override
  public @Nullable Cookie getCookie(String name, String domain, String path) {
    return response.cookies().get(name, domain, path);
  }

  @Override
  public Set<Cookie> cookies(String name) {
    return new LinkedHashSet<>(response.cookies().getAll(name));
  }

  @Override
  @SuppressWarnings({"unchecked", "rawtypes"}) // removing from it removes the cookie, as in Vert.x
  public Set<Cookie> cookies() {
    return (Set) response.cookies();
  }

  @Nullable String cookieHeader() {
    return header(HttpHeaderNames.COOKIE);
  }

  // --- the connection ---

  @Override
  public ContextInternal context() {
    return context;
  }

  /** Returns this request, which wrappers of vertx-web do not reveal otherwise. */
  @Override
  public Object metric() {
    return this;
  }

  @Override
  public SocketAddress remoteAddress() {
    String client = berth.clientAddress();
    return client.isEmpty() ? UNKNOWN : SocketAddress.inetSocketAddress(0, client);
  }

  @Override
  public SocketAddress localAddress() {
    return UNKNOWN;
  }

  /** Returns a view of the client's connection, which knows its addresses and its encryption. */
  @Override
  public HttpConnection connection() {
    return (HttpConnection)
        Proxy.newProxyInstance(
            HttpConnection.class.getClassLoader(),
            new Class<?>[] {HttpConnection.class},
            (view, method, arguments) ->
                switch (method.getName()) {
                  case "remoteAddress" -> remoteAddress();
                  case "localAddress" -> localAddress();
                  case "isSsl" -> isSSL();
                  default -> throw unsupported("connection." + method.getName());
                });
  }

  @Override
  public SSLSession sslSession() {
    throw unsupported("TLS session");
  }

  @Override
  public Future<NetSocket> toNetSocket() {
    throw unsupported("socket");
  }

  @Override
  public Future<ServerWebSocket> toWebSocket() {
    throw unsupported("WebSocket");
  }

  @Override
  public boolean canUpgradeToWebSocket() {
    return false;
  }

  @Override
  public HttpServerRequest customFrameHandler(@Nullable Handler<HttpFrame> frames) {
    throw unsupported("frames of HTTP/2");
  }

  @Override
  public HttpServerRequest streamPriorityHandler(@Nullable Handler<StreamPriority> priorities) {
    throw unsupported("priorities of HTTP/2");
  }

  static UnsupportedOperationException unsupported(String what) {
    return new UnsupportedOperationException(
        what + ": not available behind the ingress (expected: a method in docs/guide/web.md)");
  }
}
