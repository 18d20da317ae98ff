package dev.berth.net.http;

import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import org.jspecify.annotations.Nullable;

/** Refusal of a request before routing. Contains no data of the client, and has no stack trace. */
public final class RefusedRequest extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Methods that a handler may receive: any, except those for proxies. */
  private static final String ALLOWED = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

  /** Status of the response, which is the last one of its connection. */
  public final int status;

  /** True if the head was valid, but the body is malformed. */
  public final boolean ofBody;

  private RefusedRequest(int status, boolean ofBody, String why) {
    super(why, null, false, false);
    this.status = status;
    this.ofBody = ofBody;
  }

  static RefusedRequest malformed(String why) {
    return new RefusedRequest(400, false, why);
  }

  /** Creates a refusal of a well-formed head that requests an unsupported feature. */
  static RefusedRequest unsupported(int status, String why) {
    return new RefusedRequest(status, false, why);
  }

  /**
   * Creates a refusal of a chunk or trailer. The request may be in flight, and later bytes are
   * unreadable.
   */
  static RefusedRequest malformedBody() {
    return new RefusedRequest(
        400, true, "body: malformed (expected: chunks, as RFC 9112 has them)");
  }

  /** Returns a stable name of the reason, for programs. */
  public String code() {
    return switch (status) {
      case 405 -> "method_not_allowed";
      case 431 -> "headers_too_large";
      case 501 -> "not_implemented";
      case 505 -> "version_not_supported";
      default -> "bad_request";
    };
  }

  /** Sets the response headers that RFC 9110 requires for the status. */
  public void tell(HttpServerRequest request) {
    if (status == 405) {
      request.response().headers().set(HttpHeaders.ALLOW, ALLOWED);
    }
  }

  /** Returns the refusal of an undecodable request; null if there is another cause. */
  public static @Nullable RefusedRequest of(HttpServerRequest request) {
    return request.decoderResult().cause() instanceof RefusedRequest refused ? refused : null;
  }
}
