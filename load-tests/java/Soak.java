import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A server at half load for minutes, with handlers that fail, clients that die and reservations
 * that nobody uses; then everything must be back where it was. What is asked: load-tests/README.md.
 *
 * <p>Arguments: berth.jar, a work folder, the commit, seconds, the seed. Exit code 1 when something
 * is not as it must be.
 */
public final class Soak {
  static final int CONNECTIONS = 512;

  /** How long it looks for the rate to take half of, after a JVM has had time to compile. */
  private static final int FIND_SECONDS = 6;

  private static final int WARM_UP_SECONDS = 10;
  private static final int QUICK_WARM_UP_SECONDS = 2;

  private static final long PROGRESS_NANOS = 10_000_000_000L;
  private static final int REST_SECONDS = 30;

  /** Shorter than this, a JVM is still warming up and its memory is told, not judged. */
  private static final int JUDGED_SECONDS = 120;

  private static final double GROWTH = 0.05;
  private static final long GROWTH_KIB = 16 * 1024;

  /** Gauges of what is under way: each must be there, and 0. */
  private static final List<String> AT_REST =
      List.of(
          "serve_deployment_queued_queries",
          "serve_num_ongoing_http_requests",
          "serve_num_ongoing_requests_at_replicas",
          "serve_replica_processing_queries",
          "serve_request_router_queue_len",
          "serve_reserved_slots_active",
          "serve_zombie_requests",
          "berth_audit_mismatches",
          "berth_audits_failed_total",
          "berth_body_buffered_bytes",
          "berth_body_stream_bytes",
          "berth_event_loop_blocked",
          "berth_http_connections",
          "berth_pending_requests",
          "berth_queued_bytes",
          "berth_queued_requests",
          "berth_ranker_failures_total",
          "berth_replica_reserved_slots",
          "berth_router_deadlines",
          "berth_stream_bytes");

  private final SoakServer server;
  private final int seconds;
  private final long seed;
  private final SoakMix mix;
  private final SoakReservations reservations;
  private final List<Long> residentKib = new ArrayList<>();
  private final List<String> failures = new ArrayList<>();
  private final long begun = System.nanoTime();

  private Soak(SoakServer server, int seconds, long seed) {
    this.server = server;
    this.seconds = seconds;
    this.seed = seed;
    this.mix = new SoakMix("127.0.0.1:" + server.port, seed);
    this.reservations = new SoakReservations(server, seed);
  }

  public static void main(String[] args) throws Exception {
    Path work = Path.of(args[1]);
    int seconds = Integer.parseInt(args[3]);
    long seed = Long.parseLong(args[4]);
    System.out.printf("%s%nseed %d, %d s%n%n", Machine.here(args[2]).text(), seed, seconds);
    JsonObject result;
    boolean passed;
    try (Servers servers = new Servers(Path.of(args[0]), work)) {
      Soak soak = new Soak(new SoakServer(servers, Path.of(args[0]), work), seconds, seed);
      result = soak.run();
      passed = soak.failures.isEmpty();
    }
    result
        .put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString())
        .put("commit", args[2])
        .put("machine", Machine.here(args[2]).json());
    Path file = work.resolve("soak.json");
    Files.writeString(file, result.encodePrettily() + "\n");
    System.out.printf("%nAs JSON: %s%n%s%n", file, passed ? "passed" : "FAILED");
    System.exit(passed ? 0 : 1);
  }

  private JsonObject run() throws Exception {
    InetSocketAddress address = new InetSocketAddress("127.0.0.1", server.port);
    PacedRun run;
    double rate;
    long heapBefore;
    int warmUp = seconds < JUDGED_SECONDS ? QUICK_WARM_UP_SECONDS : WARM_UP_SECONDS;
    try (PacedClient client = new PacedClient(address, CONNECTIONS, seed, false)) {
      PacedRun most =
          client.run(null, mix::next, this::answered, nanos(warmUp), nanos(FIND_SECONDS), nanos(5));
      rate = Math.rint(most.achieved() / 2);
      say("saturation %.0f/s, half of it for %d s", most.achieved(), seconds);
      heapBefore = server.liveHeapBytes();
      Progress progress = new Progress();
      Thread watch = started(progress, "watch");
      Thread reserving = started(reservations, "reservations");
      run =
          client.run(
              Pace.poisson(rate, seed),
              mix::next,
              (request, status, latency, counted) -> {
                answered(request, status, latency, counted);
                progress.answers++;
              },
              0,
              nanos(seconds),
              nanos(10));
      for (Thread thread : List.of(reserving, watch)) {
        thread.interrupt();
        thread.join();
      }
    }
    say(
        "offered %.0f/s, achieved %.0f/s, p50 %.2f ms, p99 %.2f ms; unanswered %d, never sent %d",
        rate, run.achieved(), run.millis(50), run.millis(99), run.unanswered, run.unsent);
    must(run.unanswered == 0, "%d requests were never answered", run.unanswered);
    must(run.unsent == 0, "%d requests could not be sent", run.unsent);
    JsonObject result =
        new JsonObject()
            .put("seed", seed)
            .put("seconds", seconds)
            .put("offered_per_s", rate)
            .put("achieved_per_s", Math.rint(run.achieved()))
            .put("answered", run.answered)
            .put("p50_ms", run.millis(50))
            .put("p99_ms", run.millis(99))
            .put("kinds", kinds());
    atRest(result);
    long heapAfter = server.liveHeapBytes();
    result.put("live_heap_kib_before", heapBefore / 1024).put("live_heap_kib", heapAfter / 1024);
    memory(result, heapBefore, heapAfter);
    must(server.stop(), "the server did not stop in order");
    log(result);
    failures.forEach(failure -> System.out.println("FAILED: " + failure));
    return result.put("failures", new JsonArray(new ArrayList<>(failures)));
  }

  private static Thread started(Runnable what, String name) {
    Thread thread = new Thread(what, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void answered(PacedRequest request, int status, long latencyNanos, boolean counted) {
    mix.answered(request, status);
  }

  // --- while it runs ---

  /** Looks each second, and says each ten seconds how it stands. */
  private final class Progress implements Runnable {
    volatile long answers;

    @Override
    public void run() {
      long before = 0;
      try {
        for (int second = 1; ; second++) {
          TimeUnit.SECONDS.sleep(1);
          residentKib.add(server.residentKib());
          if (second % TimeUnit.NANOSECONDS.toSeconds(PROGRESS_NANOS) == 0) {
            JsonObject total = server.ledger().getJsonObject("total");
            long now = answers;
            say(
                "%3d s: %.0f answers/s, RSS %d KiB, running %d, reserved %d, zombies %d",
                second,
                (now - before) / 10.0,
                residentKib.get(residentKib.size() - 1),
                total.getInteger("running"),
                total.getInteger("reserved"),
                total.getInteger("zombies"));
            before = now;
          }
        }
      } catch (InterruptedException ended) {
        // The load is over.
      } catch (IOException failed) {
        failures.add("the admin port: " + failed);
      }
    }
  }

  // --- what must be true in the end ---

  private JsonArray kinds() {
    JsonArray all = new JsonArray();
    for (SoakMix.Kind kind : mix.kinds()) {
      String name = kind.request.name();
      say("  %-28s %9d as expected, %d not", name, kind.right.get(), kind.wrong.get());
      must(kind.right.get() > 0, "%s: none was as expected", name);
      must(
          kind.wrong.get() == 0,
          "%s: %d were not as expected, the last with %d",
          name,
          kind.wrong.get(),
          kind.lastWrongStatus);
      all.add(kind(name, kind.right.get(), kind.wrong.get()));
    }
    reservations
        .counts()
        .forEach(
            (name, counts) -> {
              say("  %-28s %9d as expected, %d not", name, counts[0], counts[1]);
              must(
                  counts[0] > 0 && counts[1] == 0,
                  "%s: %d were not as expected; what was not: %s",
                  name,
                  counts[1],
                  reservations.wrong());
              all.add(kind(name, counts[0], counts[1]));
            });
    return all;
  }

  private static JsonObject kind(String name, long right, long wrong) {
    return new JsonObject().put("kind", name).put("as_expected", right).put("not", wrong);
  }

  /** Every slot back, every count right, every gauge zero, once the leases have run out. */
  private void atRest(JsonObject result) throws IOException, InterruptedException {
    List<String> moving = List.of();
    for (int second = 0; second < REST_SECONDS; second++) {
      moving = moving();
      if (moving.isEmpty()) {
        say("at rest after %d s", second);
        break;
      }
      TimeUnit.SECONDS.sleep(1);
    }
    must(moving.isEmpty(), "not at rest after %d s: %s", REST_SECONDS, moving);
    long granted = 0;
    long expired = 0;
    long released = 0;
    for (Object each : server.replicas()) {
      JsonObject replica = (JsonObject) each;
      String name = replica.getString("replica");
      long ended =
          replica.getLong("completed") + replica.getLong("released") + replica.getLong("expired");
      must(
          replica.getLong("granted") == ended,
          "%s: granted %d (expected: the %d that ended)",
          name,
          replica.getLong("granted"),
          ended);
      must(replica.getString("audit").equals("clean"), "%s: %s", name, replica);
      granted += replica.getLong("granted");
      expired += replica.getLong("expired");
      released += replica.getLong("released");
    }
    must(expired > 0, "no reservation expired");
    say("slots granted %d, of them expired %d, released %d", granted, expired, released);
    result.put("granted", granted).put("expired", expired).put("released", released);
  }

  private List<String> moving() throws IOException, InterruptedException {
    List<String> moving = new ArrayList<>();
    JsonObject total = server.ledger().getJsonObject("total");
    for (String name : List.of("running", "reserved", "zombies", "audit_mismatches")) {
      if (total.getLong(name) != 0) {
        moving.add(name + " " + total.getLong(name));
      }
    }
    Map<String, Double> metrics = server.metrics();
    for (String gauge : AT_REST) {
      Double value = metrics.get(gauge);
      if (value == null || value != 0) {
        moving.add(gauge + " " + value);
      }
    }
    return moving;
  }

  /** Flat: the last fifth is not above the second fifth, by the median, and no heap was kept. */
  private void memory(JsonObject result, long heapBefore, long heapAfter) {
    int fifth = residentKib.size() / 5;
    long early = median(residentKib.subList(fifth, 2 * fifth));
    long late = median(residentKib.subList(residentKib.size() - fifth, residentKib.size()));
    long most = early + Math.max((long) (early * GROWTH), GROWTH_KIB);
    say(
        "RSS KiB: median of the second fifth %d, of the last %d (expected: at most %d)",
        early, late, most);
    say("live heap KiB: %d before, %d after", heapBefore / 1024, heapAfter / 1024);
    result
        .put("resident_kib_second_fifth", early)
        .put("resident_kib_last_fifth", late)
        .put("resident_kib", new JsonArray(new ArrayList<>(residentKib)));
    if (seconds < JUDGED_SECONDS) {
      say("too short to judge memory by");
      return;
    }
    must(late <= most, "RSS grew from %d to %d KiB", early, late);
    must(
        heapAfter <= heapBefore + GROWTH_KIB * 1024,
        "the live heap grew from %d to %d bytes",
        heapBefore,
        heapAfter);
  }

  private void log(JsonObject result) throws IOException {
    SoakLog log = new SoakLog(server.log);
    log.expected.forEach((kind, count) -> say("log: %d lines: %s", count, kind));
    log.unexpected.stream().limit(20).forEach(line -> say("log: %s", line));
    must(log.unexpected.isEmpty(), "%d unexpected lines in the log", log.unexpected.size());
    result.put("log_expected", new JsonObject(Map.copyOf(log.expected)));
    result.put("log_unexpected", new JsonArray(new ArrayList<>(log.unexpected)));
  }

  private void must(boolean holds, String otherwise, Object... values) {
    if (!holds) {
      failures.add(String.format(Locale.ROOT, otherwise, values));
    }
  }

  private void say(String format, Object... values) {
    System.out.printf(
        Locale.ROOT,
        "%5.0f s  %s%n",
        (System.nanoTime() - begun) / 1e9,
        String.format(Locale.ROOT, format, values));
  }

  private static long median(List<Long> values) {
    return values.stream().sorted().skip(values.size() / 2).findFirst().orElse(0L);
  }

  private static long nanos(int seconds) {
    return TimeUnit.SECONDS.toNanos(seconds);
  }
}
