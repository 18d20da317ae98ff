package dev.berth.upstream;

import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.RelayedRequest;
import dev.berth.protocol.port.UpstreamGate;
import dev.berth.upstream.client.UpstreamClient;
import dev.berth.upstream.client.UpstreamFailure;
import dev.berth.upstream.client.UpstreamFailure.FailureEffect;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Closes and opens the gate of an upstream by its failures, its Retry-After and probes. Confined to
 * the replica's loop.
 *
 * <pre>
 *   CLOSED (at the start) --a probe succeeds--> OPEN
 *   OPEN --no connection, five failures in a row, a failed probe--> CLOSED, probed each second
 *   OPEN --Retry-After--> CLOSED, probed after that time
 * </pre>
 */
final class UpstreamWatch {
  /** Number of failed exchanges in a row that closes the upstream. */
  static final int MAX_FAILURES = 5;

  private static final long PROBE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long MAX_RETRY_AFTER_MS = TimeUnit.SECONDS.toMillis(60);

  private final UpstreamGate gate;
  private final LoopDependencies ports;
  private final UpstreamClient client;
  private UpstreamSettings settings;
  private Runnable stopTimer = () -> {};
  private boolean closed;
  private boolean isUnreachable; // valid while closed
  private boolean stopped;
  private long probeAt; // while closed, on the nano clock
  private long pauseAt; // end of the last Retry-After, on the nano clock
  private int failures; // in a row
  private int round; // of the pending timer or probe

  /** Starts closed, until the first probe succeeds. */
  UpstreamWatch(
      UpstreamGate gate, LoopDependencies ports, UpstreamClient client, UpstreamSettings settings) {
    this.gate = gate;
    this.ports = ports;
    this.client = client;
    this.settings = settings;
    pauseAt = ports.nanoClock().getAsLong();
    close("not probed yet", 0, false);
  }

  /** Continues with other settings, and probes at once or after the pause of a Retry-After. */
  void configure(UpstreamSettings next) {
    settings = next;
    after(closed ? Math.max(0, pauseAt - ports.nanoClock().getAsLong()) : 0);
  }

  /** Returns whether the upstream is closed since no connection or probe succeeds. */
  boolean isUnreachable() {
    return closed && isUnreachable;
  }

  void stop() {
    stopped = true;
    round++;
    stopTimer.run();
  }

  /**
   * Handles the head of a response.
   *
   * @param retryAfterMillis time for which the upstream refuses requests; negative for none
   * @param request the request, for the wall clock
   */
  void onResponse(int status, long retryAfterMillis, RelayedRequest request) {
    failures = 0;
    if ((status == 429 || status == 503) && retryAfterMillis > 0) {
      long millis = Math.min(retryAfterMillis, MAX_RETRY_AFTER_MS);
      Instant end = request.now().plusMillis(millis).truncatedTo(ChronoUnit.SECONDS);
      String reason = "status " + status + " with Retry-After, until " + end;
      close(reason, TimeUnit.MILLISECONDS.toNanos(millis), false);
      pauseAt = probeAt;
    }
  }

  /** Handles a failed exchange. A refusal of the peer is no failure. */
  void onFailed(UpstreamFailure failure) {
    failures += failure.effect() == FailureEffect.REFUSED ? 0 : 1;
    boolean unreachable = failure.effect() == FailureEffect.NOT_CONNECTED;
    if (unreachable || failures >= MAX_FAILURES) {
      close(failure.reason(), PROBE_NANOS, unreachable);
    }
  }

  private void close(String reason, long nanos, boolean unreachable) {
    long at = ports.nanoClock().getAsLong() + nanos;
    if (!stopped && (!closed || at - probeAt > 0)) {
      closed = true;
      probeAt = at;
      isUnreachable = unreachable;
      gate.close(reason, unreachable);
      after(nanos);
    }
  }

  private void after(long nanos) {
    stopTimer.run();
    int current = ++round;
    stopTimer = ports.timer().start(nanos, () -> probe(current));
  }

  private void probe(int current) {
    if (current == round) {
      settings.probe(client, reason -> onProbed(current, reason));
    }
  }

  private void onProbed(int current, @Nullable String reason) {
    if (current != round) {
      return;
    }
    UpstreamSettings.HealthProbe health = settings.health();
    if (reason != null) {
      closed = false; // replaces the reason
      close(reason, PROBE_NANOS, true);
      return;
    }
    failures = 0;
    if (closed) {
      closed = false;
      gate.open();
    }
    if (health != null) {
      after(health.intervalNanos());
    }
  }
}
