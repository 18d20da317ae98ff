package dev.berth.controller.autoscaling;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Three ways to follow a load on the same traces: ours, Ray Serve's loop and Knative's, written
 * from what they do.
 *
 * <p>Usage: {@code Compared FILE SEED...}, of which the second half was chosen when the rules were
 * fixed.
 */
public final class Compared {
  private static final int STRETCH = 4; // a trace of a quarter of an hour over an hour
  private static final double START_S = 20;
  private static final int MAX = 100;
  private static final int PICTURE = 100; // steps between two points of one
  private static final List<Trace> DRAWN = List.of(Trace.STEP, Trace.SPIKES, Trace.DIURNAL);

  /** The defaults of the keys, which are Ray Serve's, but for the bounds. */
  private static final String KEYS = "min_replicas=0 max_replicas=" + MAX;

  private static final ScalingRules RULES = Rules.of(KEYS);
  private static final ScalingRules PANIC = Rules.of(KEYS + " panic_window_s=6");
  private static final ScalingRules QUICK =
      Rules.of(KEYS + " panic_window_s=6 downscale_delay_s=60");

  private static final List<Supplier<Scaler>> SCALERS =
      List.of(
          () -> new BerthScaler("Berth", RULES, 3),
          () -> new BerthScaler("Berth, panic window", PANIC, 3),
          () -> new BerthScaler("Berth, panic window, 60 s down", QUICK, 3),
          () -> new RayScaler(RULES),
          () -> new KnativeScaler(RULES));

  private Compared() {}

  /** Sums over the seeds of a group. */
  private static final class Sum {
    double replicaSeconds;
    double wastedSeconds;
    double late;
    double behindSeconds;
    double overshoot;
  }

  public static void main(String[] args) throws Exception {
    List<Long> seeds = new ArrayList<>();
    for (int i = 1; i < args.length; i++) {
      seeds.add(Long.parseLong(args[i]));
    }
    int half = seeds.size() / 2;
    JsonArray rows = new JsonArray();
    for (Trace trace : Trace.values()) {
      for (Supplier<Scaler> scaler : SCALERS) {
        rows.add(row(trace, scaler, "before", seeds.subList(0, half)));
        rows.add(row(trace, scaler, "after", seeds.subList(half, seeds.size())));
      }
    }
    JsonArray pictures = new JsonArray();
    for (Trace trace : DRAWN) {
      for (Supplier<Scaler> scaler : SCALERS) {
        pictures.add(picture(trace, scaler.get(), seeds.get(half)));
      }
    }
    JsonObject all =
        new JsonObject()
            .put("seeds_before", new JsonArray(List.copyOf(seeds.subList(0, half))))
            .put("seeds_after", new JsonArray(List.copyOf(seeds.subList(half, seeds.size()))))
            .put("start_s", START_S)
            .put("compared", rows)
            .put("pictures", pictures);
    Files.writeString(Path.of(args[0]), all.encodePrettily() + "\n");
  }

  private static double[] rates(Trace trace, long seed) {
    double[] quarter = trace.rates(seed);
    double[] rates = new double[quarter.length * STRETCH];
    for (int i = 0; i < rates.length; i++) {
      rates[i] = quarter[i / STRETCH];
    }
    return rates;
  }

  /** By Little's law. */
  private static double needed(double rate) {
    return Math.min(MAX, rate * ScalingWorld.SERVICE_S / RULES.target());
  }

  private static JsonObject row(
      Trace trace, Supplier<Scaler> scaler, String group, List<Long> seeds) {
    Sum sum = new Sum();
    for (long seed : seeds) {
      add(sum, rates(trace, seed), scaler.get());
    }
    int of = seeds.size();
    return new JsonObject()
        .put("trace", trace.name().toLowerCase(java.util.Locale.ROOT))
        .put("scaler", scaler.get().name())
        .put("seeds", group)
        .put("replica_s", Math.round(sum.replicaSeconds / of))
        .put("wasted_replica_s", Math.round(sum.wastedSeconds / of))
        .put("late_percent", Math.round(1e4 * sum.late / of) / 100.0)
        .put("behind_s", Math.round(10 * sum.behindSeconds / of) / 10.0)
        .put("overshoot", Math.round(100 * sum.overshoot / of) / 100.0);
  }

  private static void add(Sum sum, double[] rates, Scaler scaler) {
    ScalingWorld.Run run = ScalingWorld.run(scaler, rates, START_S, 1);
    double behind = 0;
    double longest = 0;
    double most = 0;
    for (int i = 0; i < rates.length; i++) {
      double needed = needed(rates[i]);
      double over = run.running().get(i) - needed;
      sum.wastedSeconds += Math.max(0, over) * ScalingWorld.STEP_S;
      behind = over < 0 ? behind + ScalingWorld.STEP_S : 0;
      longest = Math.max(longest, behind);
      most = Math.max(most, needed);
    }
    sum.replicaSeconds += run.replicaSeconds();
    sum.late += run.late();
    sum.behindSeconds += longest;
    sum.overshoot += run.most() / Math.ceil(most);
  }

  private static JsonObject picture(Trace trace, Scaler scaler, long seed) {
    double[] rates = rates(trace, seed);
    ScalingWorld.Run run = ScalingWorld.run(scaler, rates, START_S, 1);
    JsonArray needed = new JsonArray();
    JsonArray running = new JsonArray();
    JsonArray waits = new JsonArray();
    for (int i = 0; i < rates.length; i += PICTURE) {
      needed.add(Math.round(100 * needed(rates[i])) / 100.0);
      running.add(run.running().get(i));
      waits.add(Math.round(100 * run.waits().get(i)) / 100.0);
    }
    return new JsonObject()
        .put("trace", trace.name().toLowerCase(java.util.Locale.ROOT))
        .put("scaler", scaler.name())
        .put("every_s", PICTURE * ScalingWorld.STEP_S)
        .put("needed", needed)
        .put("running", running)
        .put("wait_s", waits);
  }
}
