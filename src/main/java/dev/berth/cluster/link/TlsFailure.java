package dev.berth.cluster.link;

import io.netty.handler.ssl.NotSslRecordException;
import java.nio.channels.ClosedChannelException;
import java.security.GeneralSecurityException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.util.Locale;
import java.util.Objects;

/** The description of a failed TLS handshake, in one line for operators. */
public final class TlsFailure {
  private TlsFailure() {}

  /** Returns the root cause; the outer exceptions only report a failed handshake. */
  static Throwable cause(Throwable failed) {
    Throwable cause = failed;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /**
   * Returns the difference between the two peers; for a failure without relation to TLS its own
   * message.
   */
  public static String describe(Throwable failed) {
    Throwable cause = cause(failed);
    String told = Objects.requireNonNullElse(cause.getMessage(), cause.toString());
    String upper = told.toUpperCase(Locale.ROOT);
    if (cause instanceof NotSslRecordException) {
      return "it does not use TLS (expected: TLS 1.3, by berth.cluster.tls here)";
    }
    if (cause instanceof CertificateExpiredException
        || cause instanceof CertificateNotYetValidException) {
      return "its certificate is not valid now: " + told;
    }
    boolean untrusted = cause instanceof GeneralSecurityException; // no path to a trusted CA
    if (untrusted || upper.contains("CERTIFICATE_VERIFY_FAILED")) {
      return "its certificate is signed by another CA than those of berth.cluster.tls.ca_file";
    }
    if (upper.contains("ALERT")) {
      return "it rejects our certificate (expected: a valid one of its CA)";
    }
    return cause instanceof ClosedChannelException || upper.contains("HANDSHAKE WAS IN PROGRESS")
        ? "closed during the handshake (expected: TLS 1.3, by berth.cluster.tls here)"
        : told;
  }
}
