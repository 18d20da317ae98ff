package dev.berth.protocol.port;

import dev.berth.api.BerthException;
import dev.berth.protocol.NotRunReason;
import java.util.Objects;
import java.util.OptionalInt;

/**
 * The failure of a request that its upstream certainly did not run: no connection, or a response
 * that guarantees it. Another replica may run the request. Carries no stack trace, because it is an
 * expected outcome.
 */
public final class UpstreamNotRun extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final long retryAfterMillis;
  private final boolean mayWait;

  /**
   * @param reason one line, for people
   * @param retryAfterMillis time in milliseconds after which the upstream may run the request;
   *     negative when unknown
   */
  public UpstreamNotRun(String reason, long retryAfterMillis) {
    this(reason, retryAfterMillis, false);
  }

  private UpstreamNotRun(String reason, long retryAfterMillis, boolean mayWait) {
    super(reason, null, true, false);
    this.retryAfterMillis = retryAfterMillis;
    this.mayWait = mayWait;
  }

  /** Returns the failure of a request beyond a limit of its replica, which may wait for it. */
  public static UpstreamNotRun beyondLimit(String reason) {
    return new UpstreamNotRun(reason, -1, true);
  }

  /** Returns the reason as the router receives it. */
  public NotRunReason reason() {
    return new NotRunReason(
        Objects.requireNonNullElse(getMessage(), ""),
        mayWait ? NotRunReason.MAY_WAIT : retryAfterSeconds().orElse(-1));
  }

  /** Returns the failure of a request whose body cannot be sent again. */
  public BerthException asBackPressure() {
    return new BerthException.BackPressure(getMessage(), retryAfterSeconds());
  }

  /** Returns the delay before a retry in seconds, rounded up; empty when unknown. */
  public OptionalInt retryAfterSeconds() {
    return retryAfterMillis < 0
        ? OptionalInt.empty()
        : OptionalInt.of((int) Math.min(Integer.MAX_VALUE, (retryAfterMillis + 999) / 1_000));
  }
}
