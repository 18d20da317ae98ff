package dev.berth.ingress;

/** A file of {@code http_options.ssl_*} that cannot be used; the message names the key. */
final class TlsFileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TlsFileException(String key, Object value, String expected) {
    super(
        "http_options." + key + ": " + value + " (expected: " + expected + ")", null, true, false);
  }
}
