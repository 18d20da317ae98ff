package dev.berth.config.batching;

import dev.berth.api.Deployment;
import dev.berth.config.keys.ChangeReach;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code berth.batching} of a deployment whose handler takes batches. */
public final class BatchingOptions {

  private static final Keys KEYS = new Keys(ChangeReach.REPLICA_LIVE);

  public static final ConfigKey<Integer> MAX_BATCH_SIZE =
      KEYS.key(
              "max_batch_size",
              Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests"),
              Deployment.BatchRules.DEFAULTS.maxBatchSize())
          .means(
              "Maximum of requests in a batch. A batch keeps the value at which its oldest request began to wait.");
  public static final ConfigKey<Duration> BATCH_WAIT_TIMEOUT_S =
      KEYS.key(
              "batch_wait_timeout_s",
              Types.SECONDS_OR_ZERO,
              Deployment.BatchRules.DEFAULTS.batchWaitTimeout())
          .means(
              "Maximum wait of a batch's oldest request for others. It ends earlier when the"
                  + " request's remaining time is the usual time of a batch.");
  public static final ConfigKey<Integer> MAX_CONCURRENT_BATCHES =
      KEYS.key(
              "max_concurrent_batches",
              Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "batches"),
              Deployment.BatchRules.DEFAULTS.maxConcurrentBatches())
          .means("Batches that a replica runs at a time.");
  public static final ConfigKey<Boolean> EAGER =
      KEYS.key("eager", Types.BOOL, false)
          .means(
              "Whether an idle replica starts a batch at once with the requests that wait; requests"
                  + " that arrive while it runs fill the next. false: Ray Serve's fixed wait.");
  public static final ConfigKey<Integer> MAX_BATCH_ITEMS =
      KEYS.optional("max_batch_items", Types.integer(1, Integer.MAX_VALUE, "items"))
          .means(
              "Maximum of the sizes of a batch's requests, by the handler's itemSize. A larger"
                  + " request gets 413.");
  public static final ConfigKey<Long> MAX_BATCH_BYTES =
      KEYS.optional("max_batch_bytes", Types.bytes(1, Integer.MAX_VALUE))
          .means("Maximum of the body bytes of a batch's requests. A larger request gets 413.");
  public static final ConfigKey<List<Integer>> PREFERRED_BATCH_SIZES =
      KEYS.key(
              "preferred_batch_sizes",
              Types.list(Types.integer(1, Deployment.MAX_ONGOING_REQUESTS_LIMIT, "requests")),
              List.of())
          .means(
              "Sizes of batches that start because their wait is over: the largest that the waiting"
                  + " requests fill; the others wait on. Fewer than the smallest start as they are.");
  public static final ConfigKey<List<String>> SAME =
      KEYS.key("same", Types.list(Types.HEADER_NAME), List.of())
          .means("Headers with equal values in all requests of a batch.");

  public static final Section SECTION = KEYS.section().check(BatchingOptions::check);

  /** Returns the section with the values of code; null for none. */
  public static @Nullable Settings of(Deployment.@Nullable BatchRules code) {
    return code == null
        ? null
        : SECTION
            .empty()
            .with(MAX_BATCH_SIZE, code.maxBatchSize())
            .with(BATCH_WAIT_TIMEOUT_S, code.batchWaitTimeout())
            .with(MAX_CONCURRENT_BATCHES, code.maxConcurrentBatches());
  }

  /** Returns the usual number of slots: enough for the batches, if there are any. */
  public static Integer usualSlots(@Nullable Settings batching) {
    return batching == null
        ? Deployment.DEFAULT_MAX_ONGOING_REQUESTS
        : (int) Math.min(slots(batching), Deployment.MAX_ONGOING_REQUESTS_LIMIT);
  }

  /**
   * Requires slots for the batches of a deployment, if there are any.
   *
   * @param of settings with the key of the slots
   * @param owners parts into which the slots are split
   * @throws IllegalArgumentException when there are fewer, unless the settings are of a file
   */
  public static void requireSlots(
      @Nullable Settings batching, Settings of, ConfigKey<Integer> key, int slots, int owners) {
    long least = batching == null ? 0 : slots(batching) * owners;
    if (slots < least) {
      String parts = owners == 1 ? "" : " x owners";
      of.problem(
          key,
          String.valueOf(slots),
          "at least max_batch_size x max_concurrent_batches" + parts + ", " + least);
    }
  }

  private static long slots(Settings batching) {
    Integer size = batching.find(MAX_BATCH_SIZE);
    Integer batches = batching.find(MAX_CONCURRENT_BATCHES);
    return size == null || batches == null ? 0 : (long) size * batches; // null if invalid
  }

  private static void check(Settings batching) {
    Integer most = batching.gives(MAX_BATCH_SIZE) ? batching.find(MAX_BATCH_SIZE) : null;
    List<Integer> preferred = batching.find(PREFERRED_BATCH_SIZES);
    for (int each : most == null || preferred == null ? List.<Integer>of() : preferred) {
      if (each > most) {
        batching.problem(
            PREFERRED_BATCH_SIZES, String.valueOf(each), "at most max_batch_size, " + most);
      }
    }
  }

  private BatchingOptions() {}
}
