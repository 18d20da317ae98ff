import java.util.Locale;
import org.HdrHistogram.Histogram;

/** What one run of a {@link PacedClient} saw. Times are in nanoseconds. */
final class PacedRun {
  private static final long LARGEST = 600_000_000_000L;

  final long begin;
  final long counted; // from when on requests count
  final long end;
  private final PacedClient.Observer observer;

  /** From due to the last byte of the answer, of each request due in the time counted. */
  final Histogram latency = new Histogram(LARGEST, 3);

  /** How late this client sent what it could have sent: its own share of the latencies. */
  final Histogram lag = new Histogram(LARGEST, 3);

  long sent;
  long underWay;
  long answered;
  long answeredInTime;
  long wrongStatus;
  long lost;
  long unanswered;
  long unsent;
  long killed;
  double cpuShare;

  PacedRun(long begin, long counted, long end, PacedClient.Observer observer) {
    this.begin = begin;
    this.counted = counted;
    this.end = end;
    this.observer = observer;
  }

  void sent(long due, long couldBeSent) {
    sent++;
    underWay++;
    if (due >= counted) {
      lag.recordValue(Math.max(0, System.nanoTime() - couldBeSent));
    }
  }

  void answered(PacedRequest request, int status, long due, long now) {
    underWay--;
    boolean counts = due >= counted && due < end;
    if (counts) {
      answered++;
      latency.recordValue(now - due);
      if (status != request.expected()) {
        wrongStatus++;
      }
    }
    if (now >= counted && now < end) {
      answeredInTime++;
    }
    observer.answered(request, status, now - due, counts);
  }

  void killed(PacedRequest request) {
    underWay--;
    killed++;
    observer.answered(request, 0, 0, false);
  }

  /** The server closed the connection before the end of an answer. */
  void lost(PacedRequest request, long due, long now) {
    underWay--;
    boolean counts = due >= counted && due < end;
    if (counts) {
      latency.recordValue(now - due);
      if (request.expected() != PacedRequest.CUT) {
        lost++;
      }
    }
    observer.answered(request, PacedRequest.CUT, now - due, counts);
  }

  void unanswered(long due, long now) {
    underWay--;
    if (due >= counted && due < end) {
      unanswered++;
      latency.recordValue(now - due);
    }
  }

  void unsent(long due, long now) {
    if (due >= counted && due < end) {
      unsent++;
      latency.recordValue(now - due);
    }
  }

  // --- what it says ---

  double seconds() {
    return (end - counted) / 1e9;
  }

  /** Answers per second of the time counted. */
  double achieved() {
    return answeredInTime / seconds();
  }

  long errors() {
    return wrongStatus + lost + unanswered;
  }

  double millis(double percentile) {
    return latency.getValueAtPercentile(percentile) / 1e6;
  }

  double lagMillis(double percentile) {
    return lag.getValueAtPercentile(percentile) / 1e6;
  }

  /**
   * Whether the figures are the server's. They are not when this client was late: by more than a
   * millisecond at its own p99, or by a third of the p99 that it measured and more than 0.1 ms.
   */
  boolean valid() {
    double late = lagMillis(99);
    return late <= 1 && (late <= 0.1 || late <= millis(99) / 3);
  }

  String json(double offered) {
    return String.format(
        Locale.ROOT,
        "{\"offered_per_s\": %.1f, \"achieved_per_s\": %.1f, \"p50_ms\": %.4f, \"p90_ms\": %.4f,"
            + " \"p99_ms\": %.4f, \"p999_ms\": %.4f, \"max_ms\": %.4f, \"answered\": %d,"
            + " \"errors\": %d, \"wrong_status\": %d, \"lost\": %d, \"unanswered\": %d,"
            + " \"unsent\": %d, \"client_lag_p50_ms\": %.4f, \"client_lag_p99_ms\": %.4f,"
            + " \"client_lag_max_ms\": %.4f, \"client_cpu\": %.3f, \"valid\": %b}",
        offered,
        achieved(),
        millis(50),
        millis(90),
        millis(99),
        millis(99.9),
        latency.getMaxValue() / 1e6,
        answered,
        errors(),
        wrongStatus,
        lost,
        unanswered,
        unsent,
        lagMillis(50),
        lagMillis(99),
        lag.getMaxValue() / 1e6,
        cpuShare,
        valid());
  }
}
