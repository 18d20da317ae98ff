package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;

/** {@code berth.log_ring}: the bounds of the log in memory, for {@code berth logs}. */
public final class LogRingOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Integer> LINES =
      KEYS.key("lines", Types.integer(0, 100_000, "lines"), 2_000)
          .means(
              "Log lines stored in memory for berth logs; a new one replaces the oldest of the"
                  + " application with the most lines. 0 stores none.");
  public static final ConfigKey<Long> BYTES =
      KEYS.key("bytes", Types.bytes(1 << 16, 1 << 30), 4L << 20)
          .means("Memory of the stored lines; beyond it the oldest are removed.");

  static final Section SECTION = KEYS.section();

  private LogRingOptions() {}
}
