package dev.berth.net.tls;

/** A file that TLS needs and cannot use; the message names the key. */
public final class TlsFileException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Path of the key in the configuration. */
  public final String key;

  /** File, and what is wrong with it. */
  public final String value;

  public final String expected;

  TlsFileException(String key, String value, String expected) {
    super(key + ": " + value + " (expected: " + expected + ")");
    this.key = key;
    this.value = value;
    this.expected = expected;
  }

  /** Expected, and where it was found says nothing: none. */
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
