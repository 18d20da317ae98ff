package dev.berth.config;

/**
 * {@code berth.explain}: which requests are explained, and how many explanations are kept.
 *
 * @param sampleRate the share of requests explained without being asked to, 0 to 1
 * @param ringSize explanations kept, of the last requests explained
 * @param header whether a client may ask for one by {@code X-Berth-Explain: 1}
 */
public record ExplainOptions(double sampleRate, int ringSize, boolean header) {

  static final Key<Double> SAMPLE_RATE =
      Key.of(
          "sample_rate",
          Types.number(0, 1),
          Defaults.EXPLAIN_SAMPLE_RATE,
          "Share of requests that are explained without being asked to.");
  static final Key<Integer> RING_SIZE =
      Key.of(
          "ring_size",
          Types.integer(0, 100_000, "records"),
          Defaults.EXPLAIN_RING_SIZE,
          "Records of explained requests that are kept; a new one takes the place of the oldest. A"
              + " record takes 1 KiB as a rule, at most about 12 KiB. 0 keeps none.");
  static final Key<Boolean> HEADER =
      Key.of(
          "header",
          Types.bool(),
          Defaults.EXPLAIN_HEADER,
          "Whether a client may have its request explained by X-Berth-Explain: 1.");

  static final Section SECTION = Section.of(SAMPLE_RATE, RING_SIZE, HEADER);

  /** Checks each value against its key. */
  public ExplainOptions {
    SAMPLE_RATE.require(sampleRate);
    RING_SIZE.require(ringSize);
    HEADER.require(header);
  }

  static ExplainOptions from(Values values) {
    return new ExplainOptions(values.get(SAMPLE_RATE), values.get(RING_SIZE), values.get(HEADER));
  }
}
