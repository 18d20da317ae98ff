package dev.berth.net.tls;

/** Failure to use a TLS file. The message names the configuration key. */
public final class TlsFileException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Path of the key in the configuration. */
  public final String key;

  /** File and problem. */
  public final String value;

  public final String expected;

  TlsFileException(String key, String value, String expected) {
    super(key + ": " + value + " (expected: " + expected + ")");
    this.key = key;
    this.value = value;
    this.expected = expected;
  }

  /** Omits the stack trace, since the failure is expected and its origin is irrelevant. */
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
