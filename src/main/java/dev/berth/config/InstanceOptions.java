package dev.berth.config;

import java.time.Duration;
import java.util.List;

/**
 * {@code berth}: what holds for the whole instance and has no name in Ray Serve.
 *
 * @param admin where the admin server listens
 * @param eventLoops event loops that serve requests; the control event loop is one more
 * @param limits bounds of the instance
 * @param metrics rhythm of the metrics path
 * @param explain which requests are explained
 * @param logRing how much of the log is kept in memory
 * @param reservations slots held for clients by tokens
 * @param blockedLoopAfter how long an event loop may leave a task before it counts as blocked
 * @param shutdownTimeout how long the instance may take to drain when it is told to stop
 * @param messages what carries messages between the event loops
 * @param haltOnFullHeap whether the process ends when its heap stays full
 * @param state where what is declared is kept
 */
public record InstanceOptions(
    AdminOptions admin,
    int eventLoops,
    LimitOptions limits,
    MetricsOptions metrics,
    ExplainOptions explain,
    LogRingOptions logRing,
    ReservationOptions reservations,
    Duration blockedLoopAfter,
    Duration shutdownTimeout,
    MessageCarrier messages,
    boolean haltOnFullHeap,
    StateOptions state) {

  static final Key<Values> ADMIN =
      Key.of(
          "admin", AdminOptions.SECTION, Values.empty(AdminOptions.SECTION), "The admin server.");
  static final Key<Integer> EVENT_LOOPS =
      Key.of(
              "event_loops",
              Types.integer(1, 1024, "event loops"),
              Defaults.eventLoops(),
              "Event loops that serve requests. The control event loop is one more.")
          .fallbackText("one per core");
  static final Key<Values> LIMITS =
      Key.of(
          "limits",
          LimitOptions.SECTION,
          Values.empty(LimitOptions.SECTION),
          "Bounds that keep the instance's memory finite, whatever clients do.");
  static final Key<Values> METRICS =
      Key.of(
          "metrics",
          MetricsOptions.SECTION,
          Values.empty(MetricsOptions.SECTION),
          "Rhythm of the metrics path.");
  static final Key<Values> EXPLAIN =
      Key.of(
          "explain",
          ExplainOptions.SECTION,
          Values.empty(ExplainOptions.SECTION),
          "Which requests are explained: why they went where they went, and where their time was"
              + " spent.");
  static final Key<Values> LOG_RING =
      Key.of(
          "log_ring",
          LogRingOptions.SECTION,
          Values.empty(LogRingOptions.SECTION),
          "How much of the log is kept in memory, for berth logs.");
  static final Key<Values> RESERVATIONS =
      Key.of(
          "reservations",
          ReservationOptions.SECTION,
          Values.empty(ReservationOptions.SECTION),
          "Slots held for clients by tokens, over HTTP.");
  static final Key<Duration> BLOCKED_LOOP_AFTER_MS =
      Key.of(
          "blocked_loop_after_ms",
          Types.millis(20, 60_000),
          Defaults.BLOCKED_LOOP_AFTER,
          "How long an event loop may leave a task before it counts as blocked by a handler. New"
              + " requests then avoid the replicas on it while there are others.");
  static final Key<Duration> SHUTDOWN_TIMEOUT_S =
      Key.of(
          "shutdown_timeout_s",
          Types.seconds(),
          Defaults.SHUTDOWN_TIMEOUT,
          "How long the instance may take to drain on SIGTERM or SIGINT before it stops anyway.");

  static final Key<MessageCarrier> MESSAGES =
      Key.of(
          "messages",
          Types.choice(List.of(MessageCarrier.DIRECT, MessageCarrier.EVENT_BUS)),
          Defaults.MESSAGES,
          "What carries messages between the event loops of the instance: queues of its own, or the"
              + " event bus of Vert.x, which costs more and shows them to its interceptors and"
              + " metrics.");
  static final Key<Boolean> HALT_ON_FULL_HEAP =
      Key.of(
          "halt_on_full_heap",
          Types.bool(),
          Defaults.HALT_ON_FULL_HEAP,
          "Whether the process ends, with exit code 5 and one line of the log, when collections"
              + " find more than 95 % of the heap's oldest pool in use for 10 s, or take 98 % of the"
              + " time for as long. It would live on and answer nobody.");

  static final Section SECTION =
      Section.of(
          ADMIN,
          EVENT_LOOPS,
          LIMITS,
          METRICS,
          EXPLAIN,
          LOG_RING,
          RESERVATIONS,
          BLOCKED_LOOP_AFTER_MS,
          SHUTDOWN_TIMEOUT_S,
          MESSAGES,
          HALT_ON_FULL_HEAP,
          StateOptions.STATE_DIR,
          StateOptions.EPHEMERAL,
          StateOptions.DECLARE);

  /** Checks each value against its key. */
  public InstanceOptions {
    EVENT_LOOPS.require(eventLoops);
    BLOCKED_LOOP_AFTER_MS.require(blockedLoopAfter);
    SHUTDOWN_TIMEOUT_S.require(shutdownTimeout);
  }

  /** What a file that says nothing gives. */
  public static InstanceOptions defaults() {
    return from(Values.empty(SECTION));
  }

  static InstanceOptions from(Values values) {
    return new InstanceOptions(
        AdminOptions.from(values.get(ADMIN)),
        values.get(EVENT_LOOPS),
        LimitOptions.from(values.get(LIMITS)),
        MetricsOptions.from(values.get(METRICS)),
        ExplainOptions.from(values.get(EXPLAIN)),
        LogRingOptions.from(values.get(LOG_RING)),
        ReservationOptions.from(values.get(RESERVATIONS)),
        values.get(BLOCKED_LOOP_AFTER_MS),
        values.get(SHUTDOWN_TIMEOUT_S),
        values.get(MESSAGES),
        values.get(HALT_ON_FULL_HEAP),
        StateOptions.from(values));
  }

  /** These options with another admin server address. */
  public InstanceOptions withAdmin(AdminOptions admin) {
    return new InstanceOptions(
        admin,
        eventLoops,
        limits,
        metrics,
        explain,
        logRing,
        reservations,
        blockedLoopAfter,
        shutdownTimeout,
        messages,
        haltOnFullHeap,
        state);
  }
}
