package dev.berth.config.admin;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;
import java.time.Duration;

/** {@code berth.admin.play}: requests that operators try out, {@code POST /api/v1/play}. */
public final class PlayOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Integer> MAX_CONCURRENT =
      KEYS.key("max_concurrent", Types.integer(0, 256, "requests"), 8)
          .means("Tried requests in progress; a further one gets 503. 0 permits none.");
  public static final ConfigKey<Long> MAX_RESPONSE_BYTES =
      KEYS.key("max_response_bytes", Types.bytes(1, 1L << 30), 8L << 20)
          .means("Bytes of a response that are shown; then the request is cancelled.");
  public static final ConfigKey<Duration> TIMEOUT_S =
      KEYS.key("timeout_s", Types.SECONDS, Duration.ofMinutes(5))
          .means("Time from the start of a tried request to the end of its response.");

  public static final Section SECTION = KEYS.section();

  private PlayOptions() {}
}
