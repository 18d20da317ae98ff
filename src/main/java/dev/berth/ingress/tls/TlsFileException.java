package dev.berth.ingress.tls;

/** A file of {@code http_options.ssl_*} that cannot be used; the message names the key. */
final class TlsFileException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  TlsFileException(String key, Object value, String expected) {
    super("http_options." + key + ": " + value + " (expected: " + expected + ")");
  }

  /** Expected, and where it was found says nothing: none. */
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
