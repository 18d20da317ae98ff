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

  public static final ConfigKey<Duration> STARTUP_S =
      KEYS.key("startup_s", Types.SECONDS_OR_NEVER, Duration.ZERO)
          .means(
              "Time from the start of the HTTP server after which /-/healthz no longer fails for"
                  + " missing routes, and /-/readyz for missing replicas. For balancers that would"
                  + " otherwise leave out all nodes because of one application, and restart nodes"
                  + " without any. never: they fail as long as one is missing.");

  static final Section SECTION = KEYS.section();

  private HealthOptions() {}
}
