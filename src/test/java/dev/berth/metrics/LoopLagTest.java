package dev.berth.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class LoopLagTest {
  private final Meters meters = new Meters("n1", "127.0.0.1", "", false);
  private final LoopLag lag = new LoopLag("serving", "3");

  private List<String> lines() {
    return meters.scrape("text/plain").lines().toList();
  }

  @Test
  void lagsAreAHistogramOfEachLoop() {
    meters.add(lag::collect);
    String labels = "component=\"instance\",loop=\"3\",loop_type=\"serving\"";
    lag.add(TimeUnit.MICROSECONDS.toNanos(500));
    lag.add(TimeUnit.SECONDS.toNanos(5));
    assertThat(lines())
        .contains(
            "serve_event_loop_scheduling_latency_ms_bucket{" + labels + ",le=\"1.0\"} 1",
            "serve_event_loop_scheduling_latency_ms_bucket{" + labels + ",le=\"2000.0\"} 1",
            "serve_event_loop_scheduling_latency_ms_bucket{" + labels + ",le=\"5000.0\"} 2",
            "serve_event_loop_scheduling_latency_ms_sum{" + labels + "} 5000.5",
            "serve_event_loop_monitoring_iterations_total{" + labels + "} 2.0");
  }

  @Test
  void aBlockIsSeenWhileItLastsAndCountedAfterwards() {
    meters.add(lag::collect);
    assertThat(lines())
        .contains(
            "berth_event_loop_blocked{loop=\"3\"} 0.0",
            "berth_event_loop_blocks_total{loop=\"3\"} 0.0");
    lag.blocked(true);
    assertThat(lines()).contains("berth_event_loop_blocked{loop=\"3\"} 1.0");
    lag.blocked(false);
    assertThat(lines())
        .contains(
            "berth_event_loop_blocked{loop=\"3\"} 0.0",
            "berth_event_loop_blocks_total{loop=\"3\"} 1.0");
  }
}
