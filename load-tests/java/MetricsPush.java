import dev.berth.api.DeploymentId;
import dev.berth.controller.Controller;
import dev.berth.controller.ControllerPorts;
import dev.berth.controller.Epoch;
import dev.berth.metrics.HandleMetricSource;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.protocol.HandleMetricReport;
import dev.berth.protocol.NodeFigures;
import dev.berth.protocol.wire.WireCodec;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What telling the controller of many handles costs: the real pusher of each instance, the wire
 * form of its messages, and the real controller, on a clock that goes as fast as they can. Beside
 * it one message for each handle, as Ray Serve has it, by the same code. Sockets are in neither.
 *
 * <p>Usage: {@code MetricsPush FILE}, which the figures go to.
 */
public final class MetricsPush {
  private static final int APPLICATIONS = 1_000;
  private static final Duration RECORD = Duration.ofMillis(200);
  private static final Duration PUSH = Duration.ofSeconds(1);
  private static final int ROUNDS = 3;
  private static final int MOST_APART = 100_000; // messages a second
  private static final long WORK = 1_500_000; // samples of a round, about

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private static long now;

  private MetricsPush() {}

  /** A handle with a request or two under way, which come and go. */
  private static final class Handle implements HandleMetricSource {
    private final DeploymentId deployment;
    private final int number;
    private long reads;

    Handle(int number) {
      this.deployment =
          new DeploymentId(
              "application-" + number % APPLICATIONS, "deployment-" + number / APPLICATIONS);
      this.number = number;
    }

    @Override
    public DeploymentId deployment() {
      return deployment;
    }

    @Override
    public boolean autoscales() {
      return true;
    }

    @Override
    public int queued() {
      return (int) (number + reads++ & 1);
    }

    @Override
    public int running() {
      return 1;
    }

    @Override
    public int reserved() {
      return 0;
    }
  }

  /** One way to tell it, with so many handles on each of so many instances. */
  private static final class Fleet {
    final List<MetricsPusher> pushers = new ArrayList<>();
    final Controller controller;
    long pusherNanos;
    long controllerNanos;
    long messages;
    long bytes;

    private final boolean apart;
    private long sequence;

    /**
     * @param apart whether each handle has a message of its own
     */
    Fleet(int instances, int handles, boolean apart) {
      this.apart = apart;
      controller =
          new Controller(
              new ControllerPorts(
                  new Epoch(0, 1, "c"),
                  id -> id + "#1",
                  id -> 0,
                  () -> 0.5,
                  () -> 0,
                  PUSH.multipliedBy(10).toNanos(),
                  0,
                  all -> Map.of()));
      ReportIntervals rhythm = new ReportIntervals(RECORD, PUSH);
      for (int instance = 0; instance < instances; instance++) {
        MetricsPusher pusher =
            new MetricsPusher(
                "instance-" + instance,
                1,
                rhythm,
                rhythm,
                MetricsPusher.DEFAULT_MAX_REPORT_BYTES,
                () -> now);
        for (int number = 0; number < handles; number++) {
          pusher.register(new Handle(number));
        }
        pushers.add(pusher);
      }
    }

    /** So many push intervals. */
    void run(int seconds) {
      long steps = seconds * PUSH.dividedBy(RECORD);
      for (long step = 0; step < steps; step++) {
        now += RECORD.toNanos();
        for (MetricsPusher pusher : pushers) {
          long began = THREADS.getCurrentThreadCpuTime();
          HandleMetricBatch batch = pusher.tick();
          if (batch == null) {
            pusherNanos += THREADS.getCurrentThreadCpuTime() - began;
            continue;
          }
          pusherNanos += THREADS.getCurrentThreadCpuTime() - began;
          if (apart) {
            batch.handles().forEach(each -> send(alone(batch, each)));
          } else {
            send(batch);
          }
          began = THREADS.getCurrentThreadCpuTime();
          pusher.onSettled(batch.sequence(), 1);
          pusherNanos += THREADS.getCurrentThreadCpuTime() - began;
        }
      }
    }

    private HandleMetricBatch alone(HandleMetricBatch of, HandleMetricReport report) {
      return new HandleMetricBatch(
          of.node(),
          of.incarnation(),
          ++sequence,
          List.of(report),
          List.of(),
          List.of(),
          NodeFigures.NONE);
    }

    private void send(HandleMetricBatch message) {
      long began = THREADS.getCurrentThreadCpuTime();
      Buffer wire = Buffer.buffer();
      WireCodec.encode(message, wire);
      long sent = THREADS.getCurrentThreadCpuTime();
      controller.on((HandleMetricBatch) WireCodec.decode(0, wire), now);
      controllerNanos += THREADS.getCurrentThreadCpuTime() - sent;
      pusherNanos += sent - began;
      messages++;
      bytes += wire.length();
    }

    void forget() {
      pusherNanos = 0;
      controllerNanos = 0;
      messages = 0;
      bytes = 0;
    }
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  /** The percents of a core are of the median round. */
  private static JsonObject measure(int instances, int handles, boolean apart) {
    Fleet fleet = new Fleet(instances, handles, apart);
    int seconds = (int) Math.max(3, Math.min(200, WORK / (5L * instances * handles)));
    fleet.run(seconds + 2); // warm
    double[] pusher = new double[ROUNDS];
    double[] controller = new double[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
      fleet.forget();
      fleet.run(seconds);
      pusher[round] = fleet.pusherNanos / 1e7 / seconds / instances;
      controller[round] = fleet.controllerNanos / 1e7 / seconds;
    }
    JsonObject row =
        new JsonObject()
            .put("way", apart ? "one for each handle" : "one for each instance")
            .put("instances", instances)
            .put("handles", handles)
            .put("messages_per_s", (double) fleet.messages / seconds)
            .put("bytes_per_s", (double) fleet.bytes / seconds)
            .put("pusher_percent", median(pusher))
            .put("controller_percent", median(controller));
    System.out.printf(
        Locale.ROOT,
        "| %s | %d | %d | %,.0f | %,.0f | %.3f | %.3f |%n",
        row.getString("way"),
        instances,
        handles,
        row.getDouble("messages_per_s"),
        row.getDouble("bytes_per_s"),
        row.getDouble("pusher_percent"),
        row.getDouble("controller_percent"));
    return row;
  }

  public static void main(String[] args) throws Exception {
    measure(10, 100, false); // compiles it all
    measure(10, 100, true);
    JsonArray rows = new JsonArray();
    boolean held = true;
    System.out.println(
        "| messages | instances | handles on each | messages/s | bytes/s"
            + " | pusher, % of a core | controller, % of a core |");
    System.out.println("|---|---|---|---|---|---|---|");
    for (boolean apart : new boolean[] {false, true}) {
      for (int instances : new int[] {1, 10, 100}) {
        for (int handles : new int[] {1, 100, 1_000, 10_000}) {
          if (apart && instances * handles > MOST_APART) {
            continue; // more of the same, and long
          }
          JsonObject row = measure(instances, handles, apart);
          rows.add(row);
          held &= apart || row.getDouble("messages_per_s") == instances;
          // Others in one process are not alone with the cache, as an instance is.
          held &= apart || instances > 1 || row.getDouble("pusher_percent") <= 1;
        }
      }
    }
    Files.writeString(
        Path.of(args[0]), new JsonObject().put("fleets", rows).encodePrettily() + "\n");
    System.out.println(
        (held ? "held" : "NOT held")
            + ": one message a second from each instance, one pusher takes at most 1 % of a core");
    System.exit(held ? 0 : 1);
  }
}
