package dev.berth.ingress;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * How long a request may take, in nanoseconds: the {@code request_timeout_s} of its deployment, its
 * application or the instance, unless the client says otherwise in {@code
 * x-request-timeout-seconds}.
 *
 * <p>Source: Ray Serve's proxy: a value that is not positive disables the timeout, one that is no
 * number is ignored.
 */
final class RequestTimeout {
  /** No bound. */
  static final long NONE = -1;

  /** Longer than this is no bound, and keeps sums of times from overflowing. */
  private static final double MAX_SECONDS = TimeUnit.DAYS.toSeconds(365);

  private RequestTimeout() {}

  static long nanos(@Nullable String header, long defaultNanos) {
    if (header == null) {
      return defaultNanos;
    }
    double seconds;
    try {
      seconds = Double.parseDouble(header.trim());
    } catch (NumberFormatException notANumber) {
      return defaultNanos;
    }
    if (Double.isNaN(seconds)) {
      return defaultNanos;
    }
    return seconds <= 0 || seconds > MAX_SECONDS ? NONE : Math.max(1, (long) (seconds * 1e9));
  }
}
