package dev.berth.controller.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.membership.Handshake;
import dev.berth.fakes.RecordShapes;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Who changes a command or an event changes the version that nodes compare, too. */
class JsonShapesTest {
  /** By the version that they came with. One is added; what was given out is left as it is. */
  private static final NavigableMap<Integer, String> SHAPES = new TreeMap<>();

  static {
    SHAPES.put(1, "212fc5908ff290d8");
    SHAPES.put(4, "403c6cd8a1d865be");
    SHAPES.put(5, "d2d31b00fc177b61");
    SHAPES.put(6, "45898e827b9dfcb8");
    SHAPES.put(7, "17d6441bea872db5");
  }

  @Test
  void aCommandOfAnotherShapeIsOfAnotherVersion() {
    List<Class<?>> all = new ArrayList<>(JsonForm.COMMANDS.kinds());
    all.addAll(JsonForm.EVENTS.kinds());
    assertThat(SHAPES.floorEntry(Handshake.VERSION).getValue())
        .as(
            "the shape of commands or events is another: raise Handshake.VERSION (%d), and add the"
                + " shape under it here",
            Handshake.VERSION)
        .isEqualTo(RecordShapes.digest(all));
  }
}
