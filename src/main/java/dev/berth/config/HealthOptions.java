package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;
import java.time.Duration;

/** {@code berth.health}: conditions under which the instance is not ready. */
public final class HealthOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Duration> BLOCKED_LOOP_UNREADY_S =
      KEYS.key("blocked_loop_unready_s", Types.SECONDS_OR_ZERO, Duration.ofSeconds(30))
          .means(
              "Time that a handler may block an event loop before /-/readyz fails, and replicas"
                  + " served by that loop alone are replaced on others. 0: never.");

  static final Section SECTION = KEYS.section();

  private HealthOptions() {}
}
