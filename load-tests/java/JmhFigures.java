import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What JMH measured, from the JSON file that it writes. The benchmarks are run apart, by Maven's
 * profile {@code jmh}.
 */
final class JmhFigures {
  private static final String WHAT = "cost of a routing decision, 10 -> 10 000 replicas";
  private static final String LIMIT = "<= 1.20x";
  private static final String BENCHMARK = ".DecisionBenchmark.decide";
  private static final double AT_MOST = 1.2;

  private final Path file;

  JmhFigures(Path file) {
    this.file = file;
  }

  /** Ranking and taking a slot, by the benchmark's parameter {@code replicas}. */
  Verdict decisions() {
    if (!Files.exists(file)) {
      return Verdict.notMeasured("decision", WHAT, LIMIT, "no " + file + "; mvn -Pjmh writes it");
    }
    Map<String, Double> scores = new LinkedHashMap<>();
    Map<String, Double> errors = new LinkedHashMap<>();
    try {
      for (Object entry : new JsonArray(Files.readString(file))) {
        JsonObject one = (JsonObject) entry;
        if (one.getString("benchmark", "").endsWith(BENCHMARK)) {
          String replicas = one.getJsonObject("params").getString("replicas");
          JsonObject score = one.getJsonObject("primaryMetric");
          scores.put(replicas, score.getDouble("score"));
          errors.put(
              replicas,
              score.getValue("scoreError") instanceof Number error
                  ? error.doubleValue()
                  : 0.0); // one sample has none
        }
      }
    } catch (IOException | RuntimeException unreadable) {
      return Verdict.notMeasured("decision", WHAT, LIMIT, file + ": " + unreadable);
    }
    Double few = scores.get("10");
    Double many = scores.get("10000");
    if (few == null || many == null) {
      return Verdict.notMeasured(
          "decision", WHAT, LIMIT, "no " + BENCHMARK + " at 10 and 10 000 replicas in " + file);
    }
    double ratio = many / few;
    double noise = errors.get("10") / few + errors.get("10000") / many;
    return new Verdict(
        "decision",
        WHAT,
        Spread.number(ratio, 2)
            + " ("
            + Spread.number(few, 0)
            + " -> "
            + Spread.number(many, 0)
            + " ns, JMH)",
        LIMIT,
        "+-" + Spread.number(ratio * noise, 2),
        ratio <= AT_MOST
            ? Verdict.State.MET
            : ratio - AT_MOST <= ratio * noise
                ? Verdict.State.NOT_ESTABLISHED
                : Verdict.State.MISSED,
        Optional.of(Spread.of(ratio)));
  }
}
