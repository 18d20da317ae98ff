package dev.berth.cluster.control;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cluster.membership.Handshake;
import dev.berth.cluster.membership.Handshake.HandshakeHello;
import dev.berth.fakes.RecordShapes;
import io.vertx.core.buffer.Buffer;
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
    SHAPES.put(3, "9cb831baa398c28d");
    SHAPES.put(5, "7c945bb8bf80487e");
    SHAPES.put(6, "cdaf4b3ec0ebc5b6");
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

  @Test
  void helloOfAnOlderVersionIsReadableSoThatItsRefusalNamesTheVersion() {
    String hello =
        "{\"version\": 2, \"messages\": 16, \"cluster\": \"prod\", \"registration\": 0,"
            + " \"leaving\": false, \"runs\": [], \"node\": {\"name\": \"n2\", \"process\": \"a\","
            + " \"control\": false, \"labels\": {}, \"host\": \"h\","
            + " \"ports\": {\"data\": 1, \"https\": 2, \"http\": 3}}}";
    Buffer form =
        Buffer.buffer().appendByte((byte) 0).appendInt(hello.length()).appendString(hello);
    assertThat(ControlForm.decode(form))
        .isInstanceOfSatisfying(
            HandshakeHello.class,
            read -> {
              assertThat(read.version()).isEqualTo(2);
              assertThat(read.node().bus()).isNull();
            });
  }
}
