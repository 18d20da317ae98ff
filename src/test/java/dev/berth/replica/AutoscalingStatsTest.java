package dev.berth.replica;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Answering;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.QueueExecutor;
import dev.berth.protocol.ReplicaStats;
import dev.berth.protocol.ReplicaStats.NamedStat;
import io.vertx.core.Future;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What handlers tell of themselves, and what is wrong with it. */
@Timeout(20)
class AutoscalingStatsTest {
  private static final long TIMEOUT = 1_000;

  private final ManualClock clock = new ManualClock();
  private final QueueExecutor threads = new QueueExecutor();
  private final ReplicaHooks hooks = ReplicaRig.hooks(threads, clock);
  private final AutoscalingStats stats = new AutoscalingStats("app#echo#1", hooks);
  private final Hang hang = new Hang();
  private Callable<Future<Map<String, Double>>> hook = () -> told(Map.of());
  private int calls;

  private final class Telling extends Answering {
    Telling() {
      super("ok");
    }

    @Override
    public Future<Map<String, Double>> recordAutoscalingStats() throws Exception {
      calls++;
      return hook.call();
    }
  }

  @BeforeEach
  void add() {
    hooks.add(new Telling());
  }

  @AfterEach
  void letGo() {
    hang.end();
  }

  private static Future<Map<String, Double>> told(Map<String, Double> figures) {
    return Future.succeededFuture(figures);
  }

  private void tell(Callable<Future<Map<String, Double>>> what) {
    hook = what;
    stats.sample(TIMEOUT);
    threads.runAll();
  }

  private void tell(double depth) {
    tell(() -> told(Map.of("depth", depth)));
  }

  private @Nullable Map<String, Double> taken() {
    ReplicaStats taken = stats.take();
    return taken == null
        ? null
        : taken.stats().stream().collect(Collectors.toMap(NamedStat::name, NamedStat::value));
  }

  @Test
  void itIsTheMeanSinceItWasTakenLast() {
    tell(2);
    tell(5);
    assertThat(taken()).isEqualTo(Map.of("depth", 3.5));
    assertThat(taken()).isNull();
    tell(7);
    tell(() -> told(Map.of("width", 1.0)));
    assertThat(taken()).as("other names begin anew").isEqualTo(Map.of("width", 1.0));
    assertThat(stats.times.count()).isEqualTo(4);
  }

  @Test
  void whatSeveralHandlersTellIsAddedUpAndOnesThatTellNothingAreNotAsked() {
    ReplicaHooks silent = ReplicaRig.hooks(threads, clock);
    silent.add(new Answering("ok"));
    assertThat(silent.tellsStats()).isFalse();
    assertThat(hooks.tellsStats()).isTrue();
    hooks.add(new Telling());
    tell(4);
    assertThat(taken()).isEqualTo(Map.of("depth", 8.0));
  }

  @Test
  @SuppressWarnings("unchecked")
  void whatThrowsOrIsNoneIsCountedAndChangesNothing() {
    Map<String, Double> many =
        IntStream.rangeClosed(0, ReplicaStats.MAX_STATS)
            .boxed()
            .collect(Collectors.toMap(i -> "n" + i, i -> 1.0));
    Map<String, Object> text = new HashMap<>(Map.of("depth", "deep"));
    List<Callable<Future<Map<String, Double>>>> wrong =
        List.of(
            () -> {
              throw new IllegalStateException("no figures");
            },
            () -> {
              throw new StackOverflowError();
            },
            () -> Future.failedFuture(new java.io.IOException("later")),
            () -> null,
            () -> told(null),
            () -> told(Map.of("depth", Double.NaN)),
            () -> told(Map.of("depth", Double.NEGATIVE_INFINITY)),
            () -> told(Map.of("depth", 1.1e12)),
            () -> told(Collections.singletonMap("depth", null)),
            () -> told((Map<String, Double>) (Map<String, ?>) text),
            () -> told(Map.of("", 1.0)),
            () -> told(Map.of("n".repeat(ReplicaStats.MAX_NAME_CHARS + 1), 1.0)),
            () -> told(many));
    tell(2);
    wrong.forEach(this::tell);
    assertThat(taken()).isEqualTo(Map.of("depth", 2.0));
    assertThat(stats.failures().values().stream().mapToLong(Long::longValue).sum())
        .isEqualTo(wrong.size());
    assertThat(stats.failures())
        .containsEntry("java.io.IOException", 1L)
        .containsEntry("java.lang.IllegalArgumentException", 6L);
  }

  @Test
  void oneThatHangsIsInterruptedAtItsTimeoutAndJoinedByNoOther() throws Exception {
    hook =
        () -> {
          hang.here(true);
          return told(Map.of());
        };
    stats.sample(TIMEOUT);
    clock.advanceNanos(10 * TIMEOUT); // it has no thread yet
    stats.sample(TIMEOUT);
    Thread thread = new Thread(threads::runAll);
    thread.start();
    hang.awaitBegun();
    clock.advanceNanos(TIMEOUT - 1);
    stats.sample(TIMEOUT);
    assertThat(stats.failures()).isEmpty();
    clock.advanceNanos(1);
    stats.sample(TIMEOUT);
    thread.join();
    assertThat(hang.isInterrupted()).isTrue();
    assertThat(calls).isEqualTo(1);
    assertThat(stats.failures()).isEqualTo(Map.of(TimeoutException.class.getName(), 1L));
    tell(3);
    assertThat(taken()).isEqualTo(Map.of("depth", 3.0));
  }

  @Test
  void whatHeedsNoInterruptCountsOnceAndWhatItTellsTooLateIsDropped() throws Exception {
    hook =
        () -> {
          hang.here(false);
          return told(Map.of("depth", 9.0));
        };
    stats.sample(TIMEOUT);
    Thread thread = new Thread(threads::runAll);
    thread.start();
    hang.awaitBegun();
    for (int i = 0; i < 5; i++) {
      clock.advanceNanos(TIMEOUT);
      stats.sample(TIMEOUT);
    }
    hang.awaitInterrupted();
    hang.end();
    thread.join();
    assertThat(taken()).isNull();
    assertThat(calls).isEqualTo(1);
    assertThat(stats.failures()).isEqualTo(Map.of(TimeoutException.class.getName(), 1L));
  }

  @Test
  void oneThatIsToRunWhenItsReplicaStopsDoesNot() {
    stats.sample(TIMEOUT);
    stats.end();
    threads.runAll();
    assertThat(calls).isZero();
  }
}
