package dev.berth.net.tls;

/** Failure to use a file of TLS or of secrets. The message names the key or the file. */
public final class TlsFileException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** Path of the key in the configuration; the name of a file of secrets. */
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
