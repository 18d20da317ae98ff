package dev.berth.config;

/**
 * {@code berth.log_ring}: how much of the log is kept in memory, for {@code berth logs}.
 *
 * @param lines kept at most; 0 keeps none
 * @param bytes of memory they may take
 */
public record LogRingOptions(int lines, long bytes) {

  static final Key<Integer> LINES =
      Key.of(
          "lines",
          Types.integer(0, 100_000, "lines"),
          Defaults.LOG_RING_LINES,
          "Lines of the log that are kept in memory for berth logs; a new one takes the place of"
              + " the oldest. 0 keeps none.");
  static final Key<Long> BYTES =
      Key.of(
          "bytes",
          Types.bytes(1 << 16, 1 << 30),
          Defaults.LOG_RING_BYTES,
          "Memory that the kept lines may take; beyond it the oldest go.");

  static final Section SECTION = Section.of(LINES, BYTES);

  /** Checks each value against its key. */
  public LogRingOptions {
    LINES.require(lines);
    BYTES.require(bytes);
  }

  static LogRingOptions from(Values values) {
    return new LogRingOptions(values.get(LINES), values.get(BYTES));
  }
}
