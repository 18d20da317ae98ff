package dev.berth.net.http;

import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import org.jspecify.annotations.Nullable;

/**
 * Why a request is refused before it is routed. It says nothing of what the client sent, and costs
 * no stack.
 */
public final class RefusedRequest extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** What a handler may be asked for: any method, but for those that are meant for proxies. */
  private static final String ALLOWED = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

  private final int status;
  private final boolean ofBody;

  private RefusedRequest(int status, boolean ofBody, String why) {
    super(why, null, false, false);
    this.status = status;
    this.ofBody = ofBody;
  }

  static RefusedRequest malformed(String why) {
    return new RefusedRequest(400, false, why);
  }

  /** A head that is well-formed, and asks for what is not done here. */
  static RefusedRequest unsupported(int status, String why) {
    return new RefusedRequest(status, false, why);
  }

  /** A chunk or a trailer: the request may be under way, and nothing after it can be read. */
  static RefusedRequest malformedBody() {
    return new RefusedRequest(
        400, true, "body: malformed (expected: chunks, as RFC 9112 has them)");
  }

  /** The status of its answer, which is the last one of its connection. */
  public int status() {
    return status;
  }

  /** Stable name of the reason, for programs. */
  public String code() {
    return switch (status) {
      case 405 -> "method_not_allowed";
      case 431 -> "headers_too_large";
      case 501 -> "not_implemented";
      case 505 -> "version_not_supported";
      default -> "bad_request";
    };
  }

  /** Whether its head was well, and what came of its body is not. */
  public boolean ofBody() {
    return ofBody;
  }

  /** Says in the answer what RFC 9110 wants said with its status. */
  public void tell(HttpServerRequest request) {
    if (status == 405) {
      request.response().headers().set(HttpHeaders.ALLOW, ALLOWED);
    }
  }

  /** That of an undecodable request; null when it is not one of these. */
  public static @Nullable RefusedRequest of(HttpServerRequest request) {
    return request.decoderResult().cause() instanceof RefusedRequest refused ? refused : null;
  }
}
