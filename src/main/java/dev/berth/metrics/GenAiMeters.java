package dev.berth.metrics;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.DoubleStream;

/**
 * Measurements of the requests for one model with one API key on one event loop. The loop writes,
 * and any thread reads.
 *
 * <p>Source: names and bounds are those of OpenTelemetry's conventions for generative AI.
 */
public final class GenAiMeters {
  private static final double INFINITE = Double.POSITIVE_INFINITY;
  private static final double[] TOKENS = // 1 to 64 Mi
      DoubleStream.concat(
              DoubleStream.iterate(1, each -> 4 * each).limit(14), DoubleStream.of(INFINITE))
          .toArray();
  private static final double[] FIRST_TOKEN_S = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, INFINITE
  };
  private static final double[] OUTPUT_TOKEN_S = {
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, INFINITE
  };
  private static final double NANOS_PER_S = 1e9;

  /**
   * Labels of a request.
   *
   * @param operation such as {@code chat}
   * @param apiKey id of the client's key; empty without keys
   */
  record GenAiLabels(String model, String operation, String apiKey) {
    MetricSeries in(MetricSeries all) {
      return all.with(
          "gen_ai_request_model", model, "gen_ai_operation_name", operation, "api_key", apiKey);
    }
  }

  private final ValueBuckets input = new ValueBuckets(TOKENS, 1);
  private final ValueBuckets output = new ValueBuckets(TOKENS, 1);
  private final ValueBuckets first = new ValueBuckets(FIRST_TOKEN_S, NANOS_PER_S);
  private final ValueBuckets each = new ValueBuckets(OUTPUT_TOKEN_S, NANOS_PER_S);

  GenAiMeters() {}

  /** Records the tokens that a response states; negative for none. */
  public void recordTokens(long inputTokens, long outputTokens) {
    input.add(inputTokens);
    output.add(outputTokens);
  }

  /**
   * Records the times of a streamed response.
   *
   * @param firstNanos from the arrival of the request to the first event
   * @param restNanos from the first event to the end
   * @param outputTokens negative if unknown
   */
  public void recordStream(long firstNanos, long restNanos, long outputTokens) {
    first.add(firstNanos);
    if (outputTokens > 1) {
      each.add(restNanos / (outputTokens - 1));
    }
  }

  void collect(MetricSeries into) {
    String tokens = "gen_ai_client_token_usage";
    input.collect(into.with("gen_ai_token_type", "input"), tokens);
    output.collect(into.with("gen_ai_token_type", "output"), tokens);
    first.collect(into, "gen_ai_server_time_to_first_token_seconds");
    each.collect(into, "gen_ai_server_time_per_output_token_seconds");
  }

  /** Histogram with bounds of its own. */
  private static final class ValueBuckets {
    private final double[] bounds;
    private final double scale; // value of the bound 1
    private final AtomicLongArray cells; // the last is the sum

    ValueBuckets(double[] bounds, double scale) {
      this.bounds = bounds;
      this.scale = scale;
      this.cells = new AtomicLongArray(bounds.length + 1);
    }

    void add(long value) {
      if (value < 0) {
        return;
      }
      int found = Arrays.binarySearch(bounds, value / scale);
      int bucket = found < 0 ? -found - 1 : found;
      cells.setRelease(bucket, cells.getPlain(bucket) + 1);
      cells.setRelease(bounds.length, cells.getPlain(bounds.length) + value);
    }

    void collect(MetricSeries into, String name) {
      long[] counts = new long[bounds.length];
      Arrays.setAll(counts, cells::getAcquire);
      if (Arrays.stream(counts).sum() > 0) {
        into.histogram(name, bounds, counts, cells.getAcquire(bounds.length) / scale);
      }
    }
  }
}
