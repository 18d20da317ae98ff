package dev.berth.web;

import dev.berth.api.Headers;
import dev.berth.api.Response;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.Cookie;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.impl.CookieJar;
import io.vertx.core.http.impl.ServerCookie;
import io.vertx.core.net.HostAndPort;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The head of a Router's response: status, headers and cookies, until the first byte is sent. The
 * methods that the ingress does not offer are here too. The object is its lock.
 */
abstract class RouterResponseHead implements HttpServerResponse {
  private final RouterRequest request;
  final MultiMap headers = HttpHeaders.headers();
  HttpResponseStatus status = HttpResponseStatus.OK;
  private @Nullable String statusMessage;
  private @Nullable CookieJar cookies;
  boolean headWritten;
  long length = -1; // of the body, as the head states
  private @Nullable Handler<Void> headersEndHandler;

  RouterResponseHead(RouterRequest request) {
    this.request = request;
  }

  // --- the head ---

  @Override
  public int getStatusCode() {
    return status.code();
  }

  /** Takes the status and the headers of a response, which replace those of the same name. */
  final void replaceHead(Response typed) {
    setStatusCode(typed.status());
    typed.headers().forEach((name, value) -> headers.remove(name));
    typed.headers().forEach(headers::add);
  }

  @Override
  public synchronized HttpServerResponse setStatusCode(int code) {
    requireHead();
    status =
        statusMessage == null
            ? HttpResponseStatus.valueOf(code)
            : new HttpResponseStatus(code, statusMessage);
    return this;
  }

  @Override
  public String getStatusMessage() {
    return status.reasonPhrase();
  }

  @Override
  public synchronized HttpServerResponse setStatusMessage(String message) {
    requireHead();
    statusMessage = message;
    status = new HttpResponseStatus(status.code(), message);
    return this;
  }

  @Override
  public synchronized HttpServerResponse setChunked(boolean chunked) {
    requireHead();
    if (chunked) {
      headers.set(HttpHeaders.TRANSFER_ENCODING, HttpHeaders.CHUNKED);
    } else {
      headers.remove(HttpHeaders.TRANSFER_ENCODING);
    }
    return this;
  }

  @Override
  public synchronized boolean isChunked() {
    return headers.contains(HttpHeaders.TRANSFER_ENCODING, HttpHeaders.CHUNKED, true);
  }

  @Override
  public MultiMap headers() {
    return headers;
  }

  @Override
  public synchronized HttpServerResponse putHeader(String name, String value) {
    requireHead();
    headers.set(name, value);
    return this;
  }

  @Override
  public synchronized HttpServerResponse putHeader(CharSequence name, CharSequence value) {
    requireHead();
    headers.set(name, value);
    return this;
  }

  @Override
  public synchronized HttpServerResponse putHeader(String name, Iterable<String> values) {
    requireHead();
    headers.set(name, values);
    return this;
  }

  @Override
  public synchronized HttpServerResponse putHeader(
      CharSequence name, Iterable<CharSequence> values) {
    requireHead();
    headers.set(name, values);
    return this;
  }

  final void requireHead() {
    if (headWritten) {
      throw new IllegalStateException("Response head already sent");
    }
  }

  // --- cookies ---

  synchronized CookieJar cookies() {
    if (cookies == null) {
      String sent = request.cookieHeader();
      cookies = sent == null ? new CookieJar() : new CookieJar(sent);
    }
    return cookies;
  }

  @Override
  public synchronized HttpServerResponse addCookie(Cookie cookie) {
    requireHead();
    cookies().add((ServerCookie) cookie);
    return this;
  }

  @Override
  public synchronized @Nullable Cookie removeCookie(String name, boolean invalidate) {
    requireHead();
    return cookies().removeOrInvalidate(name, invalidate);
  }

  @Override
  public synchronized @Nullable Cookie removeCookie(
      String name, String domain, String path, boolean invalidate) {
    requireHead();
    return cookies().removeOrInvalidate(name, domain, path, invalidate);
  }

  @Override
  @SuppressWarnings({"unchecked", "rawtypes"}) // as in Vert.x
  public synchronized Set<Cookie> removeCookies(String name, boolean invalidate) {
    requireHead();
    return (Set) cookies().removeOrInvalidateAll(name, invalidate);
  }

  /** Completes the head, after which it cannot change. */
  final Headers takeHead() {
    if (headersEndHandler != null) {
      headersEndHandler.handle(null);
    }
    if (cookies != null) {
      for (ServerCookie cookie : cookies) {
        if (cookie.isChanged()) {
          headers.add(HttpHeaders.SET_COOKIE, cookie.encode());
        }
      }
    }
    headWritten = true;
    length = declaredLength();
    List<String> pairs = new ArrayList<>(2 * headers.size() + 2);
    for (Map.Entry<String, String> header : headers) {
      pairs.add(header.getKey());
      pairs.add(header.getValue());
    }
    String template = request.template();
    if (template != null && !headers.contains(TypedRoute.ROUTE_HEADER)) {
      pairs.add(TypedRoute.ROUTE_HEADER);
      pairs.add(template);
    }
    return Headers.of(pairs.toArray(String[]::new));
  }

  private long declaredLength() {
    String declared = headers.get(HttpHeaders.CONTENT_LENGTH);
    try {
      return declared == null ? -1 : Long.parseLong(declared);
    } catch (NumberFormatException malformed) {
      return -1;
    }
  }

  final boolean isBodiless() {
    int code = status.code();
    return request.method() == HttpMethod.HEAD || code == 204 || code == 304;
  }

  @Override
  public synchronized HttpServerResponse headersEndHandler(@Nullable Handler<Void> handler) {
    headersEndHandler = handler;
    return this;
  }

  @Override
  public synchronized boolean headWritten() {
    return headWritten;
  }

  // --- what the ingress does itself, or does not offer ---

  /** Returns at once: the ingress has sent {@code 100 Continue} when the replica was called. */
  @Override
  public Future<Void> writeContinue() {
    return Future.succeededFuture();
  }

  @Override
  public int streamId() {
    return -1;
  }

  @Override
  public Future<Void> writeEarlyHints(MultiMap hints) {
    throw RouterRequest.unsupported("early hints");
  }

  @Override
  public MultiMap trailers() {
    throw RouterRequest.unsupported("trailers");
  }

  @Override
  public HttpServerResponse putTrailer(String name, String value) {
    throw RouterRequest.unsupported("trailers");
  }

  @Override
  public HttpServerResponse putTrailer(CharSequence name, CharSequence value) {
    throw RouterRequest.unsupported("trailers");
  }

  @Override
  public HttpServerResponse putTrailer(String name, Iterable<String> values) {
    throw RouterRequest.unsupported("trailers");
  }

  @Override
  public HttpServerResponse putTrailer(CharSequence name, Iterable<CharSequence> values) {
    throw RouterRequest.unsupported("trailers");
  }

  @Override
  public Future<HttpServerResponse> push(
      HttpMethod method, HostAndPort authority, String path, MultiMap fields) {
    throw RouterRequest.unsupported("push of HTTP/2");
  }

  @Override
  public Future<Void> writeCustomFrame(int type, int flags, Buffer payload) {
    throw RouterRequest.unsupported("frames of HTTP/2");
  }
}
