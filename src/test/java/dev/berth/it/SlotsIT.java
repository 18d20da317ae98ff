package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One slot, one place in the queue, and requests that stay in their handler until let go. */
class SlotsIT extends GatedServer {
  @BeforeAll
  static void start(@TempDir Path folder) throws IOException {
    server =
        Server.start(TestJar.config(folder, "max_ongoing_requests: 1, max_queued_requests: 1"));
  }

  @Test
  void aClientThatLeavesGivesItsSlotBackOnlyWhenTheHandlerHasSettled() throws Exception {
    Client leaving = client().get(gate.path("/gated", "leaving"));
    Gate.Visitor running = gate.next();
    leaving.leave();
    server.await("its call ended", () -> server.sum("serve_num_ongoing_requests_at_replicas") == 0);

    Client waiting = client().get(gate.path("/gated", "waiting"));
    awaitQueued(1);
    assertThat(gate.staysEmptyFor(200)).isTrue(); // the handler still runs

    running.release();
    Gate.Visitor next = gate.next();
    assertThat(next.name()).isEqualTo("waiting");
    next.release();
    assertThat(waiting.answer().status()).isEqualTo(200);
  }

  @Test
  void aWaitingClientThatLeavesMakesRoomInTheQueue() throws Exception {
    Client first = client().get(gate.path("/gated", "first"));
    Gate.Visitor running = gate.next();
    Client leaving = client().get(gate.path("/gated", "leaving"));
    awaitQueued(1);
    leaving.leave();
    awaitQueued(0);
    Client next = client().get(gate.path("/gated", "next"));
    awaitQueued(1);

    running.release();
    assertThat(first.answer().status()).isEqualTo(200);
    Gate.Visitor second = gate.next();
    assertThat(second.name()).isEqualTo("next");
    second.release();
    assertThat(next.answer().status()).isEqualTo(200);
  }
}
