package dev.berth.config;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Types;

/**
 * {@code berth.explain}: the selection of explained requests, and the number of retained records.
 */
public final class ExplainOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Double> SAMPLE_RATE =
      KEYS.key("sample_rate", Types.number(0, 1), 0.0)
          .means("Share of requests to explain without an X-Berth-Explain header.");
  public static final ConfigKey<Integer> RING_SIZE =
      KEYS.key("ring_size", Types.integer(0, 100_000, "records"), 1_000)
          .means(
              "Number of stored explanations; a new one replaces the oldest. One takes 1 KiB on"
                  + " average, at most about 12 KiB. 0 stores none.");
  public static final ConfigKey<Boolean> HEADER =
      KEYS.key("header", Types.BOOL, true)
          .means("Whether clients may request an explanation by X-Berth-Explain: 1.");

  static final Section SECTION = KEYS.section();

  private ExplainOptions() {}
}
