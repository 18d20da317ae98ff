import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Whether the figures of {@link PacedClient} can be trusted: beside wrk on the same server where
 * both must see the same, and on a server that stands still, where the answer can be calculated.
 *
 * <p>Arguments: berth.jar, a work folder, rounds, seconds of each measurement.
 */
public final class OpenLoopCheck {
  private static final double STALL_SECONDS = 0.5;
  private static final double STALLED_RUN_SECONDS = 5;
  private static final double STALL_TOLERANCE_MILLIS = 30;

  /** Others on the machine may stop the server once more; then it is tried again. */
  private static final int STALLS = 3;

  /** What one client saw in one round. */
  private record Seen(double perSecond, double p50Millis, double p99Millis) {}

  private final int rounds;
  private final int seconds;
  private boolean passed = true;

  private OpenLoopCheck(int rounds, int seconds) {
    this.rounds = rounds;
    this.seconds = seconds;
  }

  public static void main(String[] args) throws Exception {
    Path work = Path.of(args[1]);
    OpenLoopCheck check = new OpenLoopCheck(Integer.parseInt(args[2]), Integer.parseInt(args[3]));
    Path headers = work.resolve("check-headers.txt");
    Path body = work.resolve("check-body.bin");
    Files.writeString(headers, "content-type: text/plain\ncontent-length: 32\n");
    Files.writeString(body, "0123456789abcdef0123456789abcdef");
    try (Servers servers = new Servers(Path.of(args[0]), work)) {
      Server server =
          servers.raw(
              "raw Vert.x",
              Optional.empty(),
              List.of("reply", "1", headers.toString(), body.toString()));
      Wrk.run(server.uri("/"), 64, 3);
      System.out.printf(
          Locale.ROOT,
          "load average %.1f; the best of %d rounds of %d s, alternating; one raw server%n%n",
          ProcessFigures.load(),
          check.rounds,
          check.seconds);
      System.out.println("| | client | requests/s | p50 ms | p99 ms |\n|---|---|---|---|---|");
      for (int connections : new int[] {1, 8, 64}) {
        check.closedLoop(server, connections);
      }
      check.stall(server);
    }
    System.out.println(check.passed ? "\npassed" : "\nFAILED");
    System.exit(check.passed ? 0 : 1);
  }

  /** In a closed loop both clients do the same, so they must see the same. */
  private void closedLoop(Server server, int connections) throws Exception {
    List<Seen> wrk = new ArrayList<>();
    List<Seen> ours = new ArrayList<>();
    try (PacedClient client = client(server, connections)) {
      URI uri = server.uri("/");
      OpenLoop.measure(client, uri, null, 0, 2); // compiles it
      for (int round = 0; round < rounds; round++) {
        for (int turn = 0; turn < 2; turn++) {
          if ((round + turn) % 2 == 0) {
            Wrk.Load load = Wrk.run(uri, connections, seconds);
            wrk.add(
                new Seen(
                    load.requests() / load.seconds(),
                    load.p50Micros() / 1e3,
                    load.p99Micros() / 1e3));
          } else {
            PacedRun run = OpenLoop.measure(client, uri, null, 0.2, seconds);
            ours.add(new Seen(run.achieved(), run.millis(50), run.millis(99)));
          }
        }
      }
      String row = connections + " in a closed loop";
      tell(row, "wrk", best(wrk));
      tell(row, "ours", best(ours));
      near(row + ", p50", best(ours).p50Millis, best(wrk).p50Millis);

      double rate = Math.rint(best(wrk).perSecond / 2);
      List<Seen> paced = new ArrayList<>();
      int late = 0;
      for (int round = 0; round < rounds; round++) {
        PacedRun run = OpenLoop.measure(client, uri, Pace.constant(rate), 0.2, seconds);
        late += run.valid() ? 0 : 1;
        paced.add(new Seen(run.achieved(), run.millis(50), run.millis(99)));
      }
      String half = "half of that rate, open loop";
      tell(half, late == 0 ? "ours" : "ours, late in " + late + " of " + rounds, best(paced));
      // Nobody waits longer at half the load than when all connections are always busy.
      if (best(paced).p50Millis > best(wrk).p50Millis * 1.25 + 0.03) {
        fail(half + ", p50 " + best(paced).p50Millis, "not above " + best(wrk).p50Millis);
      }
    }
  }

  /**
   * The server is stopped for half a second of five. A tenth of the requests come in that time and
   * wait from 0 to 0.5 s, evenly, so 1 of 100 waits longer than 0.45 s. wrk sends 64 requests and
   * then nothing; it makes up for it by counting those that it would have sent at its mean rate.
   */
  private void stall(Server server) throws Exception {
    double rate = 2_000;
    double expected = STALL_SECONDS * (1 - 0.01 / (STALL_SECONDS / STALLED_RUN_SECONDS)) * 1e3;
    double furthest = Double.MAX_VALUE;
    Seen ours = null;
    for (int i = 0; i < STALLS && furthest > STALL_TOLERANCE_MILLIS; i++) {
      PacedRun run = stalled(server, rate);
      double off = Math.abs(run.millis(99) - expected);
      if (off < furthest) {
        furthest = off;
        ours = new Seen(run.achieved(), run.millis(50), run.millis(99));
      }
    }
    Thread stopping = new Thread(() -> stopFor(server.processes().get(0).pid()));
    stopping.start();
    Wrk.Load wrk = Wrk.run(server.uri("/"), 64, (int) STALLED_RUN_SECONDS);
    stopping.join();
    String row = "stopped for 0.5 s of 5 s";
    tell(
        row,
        "wrk",
        new Seen(wrk.requests() / wrk.seconds(), wrk.p50Micros() / 1e3, wrk.p99Micros() / 1e3));
    tell(row, "ours", ours);
    System.out.printf(Locale.ROOT, "| %s | calculated | | | %.0f |%n", row, expected);
    if (furthest > STALL_TOLERANCE_MILLIS) {
      fail(row + ", p99 " + ours.p99Millis, "within 30 ms of " + expected);
    }
  }

  private static PacedRun stalled(Server server, double rate) throws Exception {
    try (PacedClient client = client(server, 64)) {
      Thread stopping = new Thread(() -> stopFor(server.processes().get(0).pid()));
      stopping.start();
      PacedRun run =
          OpenLoop.measure(client, server.uri("/"), Pace.constant(rate), 0, STALLED_RUN_SECONDS);
      stopping.join();
      return run;
    }
  }

  private static void stopFor(long pid) {
    try {
      TimeUnit.MILLISECONDS.sleep(2_000);
      signal("-STOP", pid);
      TimeUnit.MILLISECONDS.sleep((long) (STALL_SECONDS * 1e3));
    } catch (Exception failed) {
      throw new IllegalStateException("the server could not be stopped", failed);
    } finally {
      signal("-CONT", pid);
    }
  }

  private static void signal(String name, long pid) {
    try {
      new ProcessBuilder("kill", name, String.valueOf(pid)).inheritIO().start().waitFor();
    } catch (Exception failed) {
      throw new IllegalStateException("kill " + name, failed);
    }
  }

  private static PacedClient client(Server server, int connections) throws Exception {
    return new PacedClient(
        new InetSocketAddress("127.0.0.1", server.port()), connections, connections);
  }

  // --- judging ---

  /** Within a quarter, or 0.03 ms. */
  private void near(String what, double ours, double wrk) {
    if (Math.abs(ours - wrk) > Math.max(wrk / 4, 0.03)) {
      fail(String.format(Locale.ROOT, "%s %.3f", what, ours), "within a quarter of " + wrk);
    }
  }

  private void fail(String what, String expected) {
    System.out.println("| FAILED: " + what + " (expected: " + expected + ") | | | | |");
    passed = false;
  }

  private static void tell(String row, String client, Seen seen) {
    System.out.printf(
        Locale.ROOT,
        "| %s | %s | %.0f | %.3f | %.3f |%n",
        row,
        client,
        seen.perSecond,
        seen.p50Millis,
        seen.p99Millis);
  }

  /** Of each figure the best round: others on the machine can only make it worse. */
  private static Seen best(List<Seen> all) {
    return new Seen(
        all.stream().mapToDouble(Seen::perSecond).max().orElseThrow(),
        all.stream().mapToDouble(Seen::p50Millis).min().orElseThrow(),
        all.stream().mapToDouble(Seen::p99Millis).min().orElseThrow());
  }
}
