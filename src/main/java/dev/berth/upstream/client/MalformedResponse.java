package dev.berth.upstream.client;

/** Bytes that are not an HTTP/1 response, or exceed a limit. Has no stack trace. */
final class MalformedResponse extends RuntimeException {
  private static final long serialVersionUID = 1;

  MalformedResponse(String reason) {
    super(reason, null, false, false);
  }
}
