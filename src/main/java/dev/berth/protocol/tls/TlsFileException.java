package dev.berth.protocol.tls;

/** A file that TLS needs and cannot use; the message names the key. */
public final class TlsFileException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  TlsFileException(String section, String key, Object value, String expected) {
    super(section + "." + key + ": " + value + " (expected: " + expected + ")");
  }

  /** Expected, and where it was found says nothing: none. */
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
