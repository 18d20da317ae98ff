package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Explained;
import dev.berth.view.ExplanationConsumer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlightRecordsTest {
  private final ExplanationConsumer records = FlightRecords.create();
  @TempDir Path folder;

  private List<RecordedEvent> whileRecording(boolean enabled) throws Exception {
    Path file = folder.resolve("flight.jfr");
    try (Recording recording = new Recording()) {
      if (enabled) {
        recording.enable("dev.berth.Request");
      } else {
        recording.disable("dev.berth.Request");
      }
      recording.start();
      records.explained(Explained.byHttp("recorded"));
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().equals("dev.berth.Request"))
        .toList();
  }

  @Test
  void anExplainedRequestIsAnEventOfARecording() throws Exception {
    records.explained(Explained.byHttp("before"));
    List<RecordedEvent> events = whileRecording(true);
    records.explained(Explained.byHttp("after"));
    assertThat(events).hasSize(1);
    RecordedEvent event = events.get(0);
    assertThat(event.getEventType().getCategoryNames()).containsExactly("Berth");
    assertThat(event.getString("requestId")).isEqualTo("recorded");
    assertThat(event.getString("deployment")).isEqualTo("shop#cart");
    assertThat(event.getString("parent")).isEmpty();
    assertThat(event.getString("replica")).isEqualTo("shop#cart#1abc");
    assertThat(event.getString("request")).isEqualTo("GET /shop/cart");
    assertThat(event.getInt("status")).isEqualTo(200);
    assertThat(event.getString("outcome")).isEqualTo("ok");
    assertThat(event.getDuration("queue")).isEqualTo(Duration.ofNanos(500_200));
    assertThat(event.getDuration("route")).isEqualTo(Duration.ofNanos(2_800));
    assertThat(event.getDuration("bus")).isEqualTo(Duration.ofNanos(17_000));
    assertThat(event.getDuration("handler")).isEqualTo(Duration.ofNanos(980_000));
    assertThat(event.getDuration("respond")).isEqualTo(Duration.ofNanos(12_345));
    assertThat(event.getDuration("total")).isEqualTo(Duration.ofNanos(1_512_345));
    assertThat(event.getDuration("overhead")).isEqualTo(Duration.ofNanos(532_345));
  }

  @Test
  void aRecordingThatDoesNotWantItGetsNone() throws Exception {
    assertThat(whileRecording(false)).isEmpty();
  }
}
