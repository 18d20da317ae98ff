package dev.berth.protocol.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.RecordShapes;
import dev.berth.protocol.BusMessage;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Who changes what crosses between instances changes its version, too: nodes compare it. */
class MessageShapesTest {
  /** By the version that they came with. One is added; what was given out is left as it is. */
  private static final NavigableMap<Integer, String> SHAPES = new TreeMap<>();

  static {
    SHAPES.put(15, "d75275ff2f365104");
    SHAPES.put(16, "21e93631696d7584");
    SHAPES.put(17, "65397d4dc81bfe9d");
    SHAPES.put(18, "a8444d432862fd1c");
    SHAPES.put(19, "8c71f791c4efaa5c");
    SHAPES.put(20, "020c62b8d2b1e898");
    SHAPES.put(21, "11f1a7029ff3fc0d");
    SHAPES.put(22, "ed50e63d20da909d");
  }

  @Test
  void aMessageOfAnotherShapeIsOfAnotherVersion() {
    assertThat(SHAPES.floorEntry(WireCodec.VERSION).getValue())
        .as(
            "the shape of messages is another: raise WireCodec.VERSION (%d), and add the shape"
                + " under it here",
            WireCodec.VERSION)
        .isEqualTo(RecordShapes.digest(List.of(BusMessage.class)));
  }
}
