package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import java.time.Duration;
import java.util.List;

/** {@code backpressure_config}: the response to a client when the queue of a deployment is full. */
public final class Backpressure {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Integer> STATUS_CODE =
      KEYS.key("status_code", Types.choice(List.of(503, 429)), 503)
          .means("HTTP status of a request refused because the queue is full.");
  public static final ConfigKey<Duration> RETRY_AFTER_S =
      KEYS.optional("retry_after_s", Types.wholeSeconds(0, 86_400))
          .means("Retry-After header sent with it; null: computed from the queue and its rate.");

  static final Section SECTION = KEYS.section();

  /** Default settings: status 503 and a computed Retry-After. */
  public static final Settings DEFAULTS = SECTION.empty();

  private Backpressure() {}
}
