import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Measures the number of requests at an upstream behind gateways with the same limit, while clients
 * leave. Started by {@code upstream-limits.sh}.
 *
 * <p>Arguments: berth.jar, the work folder, the commit, the folder of the Python programs, the
 * seed, the gateways separated by commas, and {@code --quick} or nothing. Ends with exit code 1
 * when the upstream counted more than its limit behind Berth, or had a request 5 s after all
 * clients left.
 */
public final class UpstreamLimits {
  private static final int AFTER_SECONDS = 5;
  private static final int REST_SECONDS = 40;
  private static final int WARM_UP_SECONDS = 3;
  private static final int WARM_UP_CLIENTS = 32;
  private static final int WARM_UP_RESPONSES = 50;
  private static final int MAX_WARM_UPS = 8;
  private static final int LITELLM_WORKERS = 4;

  private final Vertx upstreamLoop = vertx();
  private final Vertx clientLoop = vertx();
  private final CountingUpstream upstream = new CountingUpstream();
  private final long seed;
  private final int seconds;
  private final List<Integer> clients;
  private final List<String> problems = new ArrayList<>();

  private UpstreamLimits(long seed, boolean quick) {
    this.seed = seed;
    this.seconds = quick ? 5 : 10;
    this.clients = quick ? List.of(256) : List.of(64, 128, 256);
  }

  public static void main(String[] args) {
    int code = 1;
    try {
      UpstreamLimits limits =
          new UpstreamLimits(Long.parseLong(args[4]), args.length > 6 && args[6].equals("--quick"));
      code = limits.run(args) ? 0 : 1;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    System.exit(code); // ends the gateways
  }

  private static Vertx vertx() {
    return Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1).setPreferNativeTransport(true));
  }

  private boolean run(String[] args) throws Exception {
    Path jar = Path.of(args[0]);
    Path work = Path.of(args[1]);
    Machine machine = Machine.here(args[2]);
    int port = upstream.start(upstreamLoop);
    Table table =
        new Table(
            "gateway",
            "clients",
            "highest count at the upstream",
            "time above " + CountingUpstream.CAPACITY,
            "count 5 s after all left",
            "responses per s",
            "their share of the capacity",
            "refused per s",
            "clients that left",
            "while they waited",
            "ran on at the upstream",
            "stopped there, p50 and p99 ms later",
            "errors",
            "cores in use by others");
    try (Servers servers = new Servers(jar, work)) {
      Gateways gateways = 
          new Gateways(
              jar,
              work,
              Path.of(args[3]),
              port,
              servers,
              CountingUpstream.CAPACITY,
              LITELLM_WORKERS);
      for (String name : args[5].split(",")) {
        System.out.println("starting " + name);
        Gateways.Gateway gateway = gateways.start(name);
        try {
          warm(gateway);
          for (int number : clients) {
            System.out.println(gateway.label() + ": " + number + " clients");
            List<String> row = row(gateway, number);
            System.out.println(String.join(" | ", row));
            table.line(row);
            rest();
          }
        } finally {
          gateway.end();
        }
      }
    }
    String report =
        "%s%n%s%nSeed %d; a limit of %d; %d s for each row.%n%s%n"
            .formatted(
                table.markdown(),
                String.join("\n", problems),
                seed,
                CountingUpstream.CAPACITY,
                seconds,
                machine.text());
    System.out.println("\n" + report);
    Files.writeString(work.resolve("upstreams/limits.md"), report);
    return problems.isEmpty();
  }

  /** Sends requests until the gateway completes them at a rate. */
  private void warm(Gateways.Gateway gateway) throws Exception {
    for (int i = 0; i < MAX_WARM_UPS; i++) {
      int complete = offer(gateway, WARM_UP_CLIENTS, WARM_UP_SECONDS).complete();
      rest();
      if (complete > WARM_UP_RESPONSES) {
        return;
      }
    }
  }

  private List<String> row(Gateways.Gateway gateway, int number) throws Exception {
    long machine = ProcessFigures.machineCpuMicros();
    long own = gateway.cpuMicros();
    LeavingClients.Figures figures = offer(gateway, number, seconds);
    own = gateway.cpuMicros() - own;
    machine = ProcessFigures.machineCpuMicros() - machine;
    double others = (machine - own) / (1e6 * seconds);
    int highest = upstream.highest();
    double above = upstream.shareAbove();
    TimeUnit.SECONDS.sleep(AFTER_SECONDS);
    int after = upstream.count();
    if (gateway.label().equals("Berth") && (highest > CountingUpstream.CAPACITY || after > 0)) {
      problems.add(
          "Berth, %d clients: at most %d at the upstream, %d after 5 s (expected: %d and 0)"
              .formatted(number, highest, after, CountingUpstream.CAPACITY));
    }
    Set<String> left = figures.leftAt().keySet();
    long reached = left.stream().filter(upstream.begun()::contains).count();
    long stopped = left.stream().filter(upstream.stopped()::containsKey).count();
    return List.of(
        gateway.label(),
        String.valueOf(number),
        String.valueOf(highest),
        Math.round(100 * above) + " %",
        String.valueOf(after),
        Spread.number(figures.complete() / (double) seconds, 1),
        Math.round(figures.workMs() / (10.0 * seconds * CountingUpstream.CAPACITY)) + " %",
        Spread.number(figures.refused() / (double) seconds, 1),
        String.valueOf(left.size()),
        String.valueOf(left.size() - reached),
        String.valueOf(reached - stopped),
        delays(figures.leftAt(), upstream.stopped()),
        figures.failed().isEmpty() ? "none" : figures.failed().toString(),
        Spread.number(others, 2));
  }

  private static String delays(Map<String, Long> leftAt, Map<String, Long> stopped) {
    long[] micros =
        leftAt.entrySet().stream()
            .filter(left -> stopped.containsKey(left.getKey()))
            .mapToLong(left -> (stopped.get(left.getKey()) - left.getValue()) / 1_000)
            .toArray();
    if (micros.length == 0) {
      return "0";
    }
    Arrays.sort(micros);
    return "%d: %.1f, %.1f"
        .formatted(
            micros.length,
            micros[micros.length / 2] / 1e3,
            micros[Math.min(micros.length - 1, micros.length * 99 / 100)] / 1e3);
  }

  private LeavingClients.Figures offer(Gateways.Gateway gateway, int number, int duration)
      throws Exception {
    upstream.reset();
    LeavingClients all = new LeavingClients(clientLoop, gateway.port(), Gateways.KEY, seed);
    onClients(
        () -> {
          all.begin(number);
          return null;
        });
    TimeUnit.SECONDS.sleep(duration);
    return onClients(all::leave);
  }

  /** Waits until the upstream has no request. */
  private void rest() throws InterruptedException {
    for (int i = 0; i < REST_SECONDS * 10 && upstream.count() > 0; i++) {
      TimeUnit.MILLISECONDS.sleep(100);
    }
  }

  private <T> T onClients(Callable<T> action) throws Exception {
    CompletableFuture<T> done = new CompletableFuture<>();
    clientLoop.runOnContext(
        none -> {
          try {
            done.complete(action.call());
          } catch (Exception failed) {
            done.completeExceptionally(failed);
          }
        });
    return done.get();
  }
}
