package dev.berth.protocol.wire;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.protocol.BusMessage;
import dev.berth.protocol.LoadReport;
import io.vertx.core.buffer.Buffer;
import org.junit.jupiter.api.Test;

class BusMessageCodecTest {
  private final BusMessageCodec codec = new BusMessageCodec();
  private final BusMessage message = new BusMessage.CallAccepted(7, LoadReport.of(1, 5, 3));

  @Test
  void insideAnInstanceAMessageIsPassedByIdentity() {
    assertThat(codec.transform(message)).isSameAs(message);
  }

  @Test
  void betweenInstancesAMessageIsReadFromWhereItWasWritten() {
    Buffer frame = Buffer.buffer("frame");
    codec.encodeToWire(frame, message);
    assertThat(codec.decodeFromWire(5, frame)).isEqualTo(message);
  }

  @Test
  void itIsAUserCodecNamedBerth() {
    assertThat(codec.name()).isEqualTo("berth");
    assertThat(codec.systemCodecID()).isEqualTo((byte) -1);
  }
}
