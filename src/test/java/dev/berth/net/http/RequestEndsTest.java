package dev.berth.net.http;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Shrinkable;
import net.jqwik.api.ShrinkingDistance;

/**
 * The decoder ends and refuses the requests of a connection where a strict parser does. A failure
 * prints its seed; {@code @Property(seed = "…")} runs it again.
 */
class RequestEndsTest {
  private static final int MAX_CHOICES = 96;

  private final DecodedRequests decoded = new DecodedRequests();

  @Property
  void decoderEndsRequestsWhereAStrictParserDoes(@ForAll("choices") byte[] choices) {
    RequestEnds.compare(RequestGrammar.of(choices), decoded);
  }

  /** Arrays by a generator of their own: that of jqwik takes ten times as long as the check. */
  @Provide
  Arbitrary<byte[]> choices() {
    return Arbitraries.fromGenerator(RequestEndsTest::random);
  }

  private static Shrinkable<byte[]> random(Random random) {
    byte[] choices = new byte[random.nextInt(MAX_CHOICES + 1)];
    random.nextBytes(choices);
    return new Choices(choices);
  }

  /** A simpler connection makes fewer choices, and ordinary ones. */
  private record Choices(byte[] value) implements Shrinkable<byte[]> {

    @Override
    public Stream<Shrinkable<byte[]>> shrink() {
      return Stream.concat(
          IntStream.of(value.length / 2, value.length - 1)
              .filter(length -> length >= 0 && length < value.length)
              .mapToObj(length -> new Choices(Arrays.copyOf(value, length))),
          IntStream.range(0, value.length).filter(at -> value[at] != 0).mapToObj(this::ordinary));
    }

    private Shrinkable<byte[]> ordinary(int at) {
      byte[] simpler = value.clone();
      simpler[at] = 0;
      return new Choices(simpler);
    }

    @Override
    public ShrinkingDistance distance() {
      long odd = IntStream.range(0, value.length).filter(at -> value[at] != 0).count();
      return ShrinkingDistance.of(value.length, odd);
    }
  }
}
