package dev.berth.admin.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.ManualClock;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LiveFeedTest {
  private static final Duration SECOND = Duration.ofNanos(LiveFeed.INTERVAL_NANOS);
  private static final LiveTopic OVERVIEW = new LiveTopic("overview", Map.of());
  private static final LiveTopic NODES = new LiveTopic("nodes", Map.of());

  private final ManualClock clock = new ManualClock();
  private final Map<String, Object> entries = new LinkedHashMap<>();
  private int reads;
  private Duration readTime = Duration.ZERO;
  private boolean fails;
  private final LiveFeed feed =
      new LiveFeed(
          new LiveFeed.TopicReader() {
            @Override
            public void begin() {}

            @Override
            public Future<Supplier<Map<String, ?>>> read(LiveTopic topic) {
              reads++;
              if (fails) {
                throw CommandRejectedException.unavailable("controller: none");
              }
              Map<String, Object> copy = new LinkedHashMap<>(entries);
              return Future.succeededFuture(
                  () -> {
                    clock.advance(readTime);
                    return copy;
                  });
            }
          },
          new LiveFeed.SlowWork() {
            @Override
            public <T> Future<T> call(Callable<T> work) {
              try {
                return Future.succeededFuture(work.call());
              } catch (Exception thrown) {
                return Future.failedFuture(thrown);
              }
            }
          },
          clock,
          () -> 1_000);

  /** Connection that takes events only while its client reads. */
  private static final class FakeSink implements LiveViewer.EventSink {
    final List<String> events = new ArrayList<>();
    int keepAlives;
    boolean reading = true;
    boolean closed;
    long unread;

    @Override
    public boolean isFull() {
      return !reading && unread >= 64 << 10;
    }

    @Override
    public void write(Buffer event) {
      unread += reading ? 0 : event.length();
      if (event.toString().equals(": keep-alive\n\n")) {
        keepAlives++;
      } else {
        events.add(event.toString());
      }
    }

    @Override
    public void close() {
      closed = true;
    }

    JsonObject data(int index) {
      String data =
          events.get(index).lines().filter(each -> each.startsWith("data")).toList().get(0);
      return new JsonObject(data.substring("data: ".length()));
    }

    List<String> names() {
      return events.stream().map(each -> each.lines().findFirst().orElseThrow()).toList();
    }
  }

  private LiveViewer open(FakeSink sink, LiveTopic... topics) {
    LiveViewer viewer =
        new LiveViewer(new LinkedHashSet<>(List.of(topics)), sink, clock.getAsLong());
    feed.open(viewer);
    feed.tick();
    return viewer;
  }

  private void seconds(int count) {
    for (int i = 0; i < count; i++) {
      clock.advance(SECOND);
      feed.tick();
    }
  }

  @Test
  void viewerGetsASnapshotAndThenTheChanges() {
    entries.put("a", 1);
    entries.put("b", new JsonObject().put("text", "<img onerror=1>\n"));
    FakeSink sink = new FakeSink();
    open(sink, OVERVIEW);
    assertThat(sink.names()).containsExactly("event: snapshot");
    assertThat(sink.data(0).getJsonObject("entries").getInteger("a")).isEqualTo(1);
    entries.put("c", 3);
    entries.remove("a");
    seconds(3);
    assertThat(sink.names()).containsExactly("event: snapshot", "event: delta");
    assertThat(sink.data(1).getJsonObject("changed")).isEqualTo(new JsonObject().put("c", 3));
    assertThat(sink.data(1).getJsonArray("removed")).hasToString("[\"a\"]");
    assertThat(sink.data(1).getLong("seq")).isEqualTo(sink.data(0).getLong("seq") + 1);
    assertThat(sink.events.get(1)).endsWith("\n\n").doesNotContain("\r");
  }

  @Test
  void nothingIsReadWithoutViewers() {
    seconds(3_600);
    assertThat(reads).isZero();
    assertThat(feed.tick()).isNegative();
    LiveViewer viewer = open(new FakeSink(), OVERVIEW);
    seconds(5);
    assertThat(reads).isEqualTo(6);
    feed.close(viewer);
    seconds(3_600);
    assertThat(reads).isEqualTo(6);
    assertThat(feed.tick()).isNegative();
  }

  @Test
  void onlyViewedTopicsAreReadOnceForAllViewers() {
    List<FakeSink> sinks = Stream.generate(FakeSink::new).limit(64).toList();
    sinks.forEach(each -> open(each, OVERVIEW));
    FakeSink other = new FakeSink();
    LiveViewer last = open(other, NODES);
    clock.advance(SECOND);
    feed.tick();
    reads = 0;
    seconds(10);
    assertThat(reads).isEqualTo(20);
    feed.close(last);
    reads = 0;
    seconds(10);
    assertThat(reads).isEqualTo(10);
    sinks.forEach(each -> assertThat(each.names()).containsExactly("event: snapshot"));
  }

  @Test
  void readsThatTakeLongAreRarerUpToFiveSeconds() {
    readTime = Duration.ofMillis(2); // 1000 times of it are 2 s
    open(new FakeSink(), OVERVIEW);
    seconds(100);
    assertThat(reads).isBetween(33, 51);
    readTime = Duration.ofMillis(400);
    seconds(5);
    reads = 0;
    seconds(100);
    assertThat(reads).isBetween(16, 21);
  }

  @Test
  void newViewersDoNotRaiseTheRateAboveFivePerSecond() {
    for (int i = 0; i < 1_000; i++) {
      LiveViewer viewer = open(new FakeSink(), OVERVIEW);
      clock.advance(Duration.ofMillis(10));
      feed.tick();
      feed.close(viewer);
    }
    assertThat(reads).isLessThanOrEqualTo(51);
  }

  @Test
  void slowViewerCostsNoMemoryAndLearnsTheNumberOfSkippedDeltas() {
    FakeSink fast = new FakeSink();
    FakeSink slow = new FakeSink();
    open(fast, OVERVIEW);
    open(slow, OVERVIEW);
    seconds(1);
    slow.reading = false;
    slow.unread = 64 << 10;
    int before = slow.events.size();
    for (int i = 1; i <= 25; i++) {
      entries.put("a", i);
      seconds(1);
    }
    assertThat(slow.events).as("events for a full connection").hasSize(before);
    assertThat(slow.unread).isEqualTo(64 << 10);
    assertThat(fast.events.size()).isGreaterThan(25);
    slow.reading = true;
    seconds(1);
    assertThat(slow.names().subList(before, slow.events.size()))
        .containsExactly("event: skipped", "event: snapshot");
    assertThat(slow.data(before).getInteger("skipped")).isEqualTo(25);
    assertThat(slow.data(before + 1).getJsonObject("entries").getInteger("a")).isEqualTo(25);
    assertThat(feed.skipped()).isEqualTo(25);
    entries.put("a", 26);
    seconds(1);
    assertThat(slow.names()).last().isEqualTo("event: delta");
  }

  /** Each view that a slow or fast client ends with is that of the sampled entries. */
  @Test
  void anyPatternOfSlowReadsEndsWithTheSameEntries() {
    Random random = new Random(Long.getLong("live.seed", 1));
    List<FakeSink> sinks = Stream.generate(FakeSink::new).limit(8).toList();
    sinks.forEach(each -> open(each, OVERVIEW));
    for (int i = 0; i < 2_000; i++) {
      String key = "k" + random.nextInt(20);
      if (random.nextInt(3) == 0) {
        entries.remove(key);
      } else {
        entries.put(key, i);
      }
      FakeSink one = sinks.get(random.nextInt(sinks.size()));
      one.reading = !one.reading;
      one.unread = random.nextBoolean() ? 64 << 10 : 0;
      if (random.nextInt(10) == 0) {
        fails = !fails;
      }
      sinks.forEach(each -> each.reading |= random.nextInt(20) == 0); // before it counts as stalled
      seconds(1);
    }
    fails = false;
    sinks.forEach(each -> each.reading = true);
    seconds(2);
    Set<Map<String, Object>> views = new LinkedHashSet<>();
    sinks.stream().filter(each -> !each.closed).forEach(each -> views.add(viewOf(each)));
    assertThat(views).containsExactly(entries);
  }

  private static Map<String, Object> viewOf(FakeSink sink) {
    Map<String, Object> view = new LinkedHashMap<>();
    long seq = 0;
    for (int i = 0; i < sink.events.size(); i++) {
      String event = sink.events.get(i);
      if (event.startsWith("event: snapshot")) {
        view.clear();
        view.putAll(sink.data(i).getJsonObject("entries").getMap());
        seq = sink.data(i).getLong("seq");
      } else if (event.startsWith("event: delta")) {
        assertThat(sink.data(i).getLong("seq")).isEqualTo(++seq);
        view.putAll(sink.data(i).getJsonObject("changed", new JsonObject()).getMap());
        sink.data(i).getJsonArray("removed", new JsonArray()).forEach(view::remove);
      }
    }
    return view;
  }

  @Test
  void viewerThatReadsNothingIsClosedAfterThirtySeconds() {
    FakeSink sink = new FakeSink();
    open(sink, OVERVIEW);
    sink.reading = false;
    sink.unread = 64 << 10;
    seconds(29);
    assertThat(sink.closed).isFalse();
    seconds(2);
    assertThat(sink.closed).isTrue();
    assertThat(feed.viewers()).isZero();
    assertThat(feed.tick()).isNegative();
  }

  @Test
  void idleViewerGetsAKeepAliveEveryFifteenSeconds() {
    FakeSink sink = new FakeSink();
    open(sink, OVERVIEW);
    seconds(61);
    assertThat(sink.keepAlives).isEqualTo(4);
  }

  @Test
  void failureIsReportedOnceAndASnapshotFollows() {
    FakeSink sink = new FakeSink();
    fails = true;
    open(sink, OVERVIEW);
    seconds(5);
    assertThat(sink.names()).containsExactly("event: unavailable");
    assertThat(sink.data(0).getString("code")).isEqualTo("unavailable");
    assertThat(sink.data(0).getString("message")).isEqualTo("controller: none");
    fails = false;
    seconds(1);
    assertThat(sink.names()).containsExactly("event: unavailable", "event: snapshot");
  }

  @Test
  void changeOfOneReplicaOfTenThousandIsASmallDelta() {
    for (int i = 0; i < 10_000; i++) {
      entries.put("replica/" + i, new JsonObject().put("running", 0));
    }
    FakeSink sink = new FakeSink();
    open(sink, OVERVIEW);
    entries.put("replica/77", new JsonObject().put("running", 1));
    seconds(6);
    assertThat(sink.events.get(0).length()).isGreaterThan(200_000);
    assertThat(sink.events.get(1).length()).isLessThan(150);
  }
}
