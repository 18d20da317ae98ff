package dev.berth.cluster.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.membership.Handshake;
import dev.berth.fakes.RecordShapes;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Who changes what is said on a control link changes the version that nodes compare, too. */
class ControlShapesTest {
  /** By the version that they came with. One is added; what was given out is left as it is. */
  private static final NavigableMap<Integer, String> SHAPES = new TreeMap<>();

  static {
    SHAPES.put(1, "af16e494f3623d6d");
    SHAPES.put(2, "9a0cd71fbe64556b");
  }

  @Test
  void aMessageOfAnotherShapeIsOfAnotherVersion() {
    assertThat(SHAPES.floorEntry(Handshake.VERSION).getValue())
        .as(
            "the shape of what is said is another: raise Handshake.VERSION (%d), and add the shape"
                + " under it here",
            Handshake.VERSION)
        .isEqualTo(RecordShapes.digest(ControlForm.TYPES));
  }
}
