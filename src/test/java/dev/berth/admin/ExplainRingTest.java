package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Explained;
import dev.berth.metrics.Meters;
import dev.berth.view.RequestExplanation;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ExplainRingTest {

  private static RequestExplanation record(String id, int number) {
    return Explained.with(id, "GET /", number);
  }

  private static List<Long> numbers(List<RequestExplanation> records) {
    return records.stream().map(each -> each.phases().total()).toList();
  }

  private static List<String> metrics(ExplainRing ring) {
    Meters meters = new Meters("n", "a", "", false);
    ring.show(meters);
    return meters.scrape("text/plain").lines().toList();
  }

  @Test
  void itKeepsTheLastAndNoMoreThanItsSize() {
    ExplainRing ring = new ExplainRing(3);
    assertThat(ring.latest(10)).isEmpty();
    assertThat(metrics(ring)).contains("berth_explanations 0.0");
    for (int i = 1; i <= 8; i++) {
      ring.explained(record("a", i));
      assertThat(metrics(ring)).contains("berth_explanations " + Math.min(i, 3) + ".0");
    }
    assertThat(numbers(ring.latest(10))).containsExactly(8L, 7L, 6L);
    assertThat(numbers(ring.latest(2))).containsExactly(8L, 7L);
    assertThat(metrics(ring))
        .contains("berth_explained_requests_total 8.0", "berth_explanations_dropped_total 5.0");
  }

  @Test
  void allRecordsOfAnIdAreFoundTheNewestFirst() {
    ExplainRing ring = new ExplainRing(4);
    ring.explained(record("a", 1));
    ring.explained(record("b", 2));
    ring.explained(record("a", 3));
    assertThat(numbers(ring.explanations("a"))).containsExactly(3L, 1L);
    assertThat(ring.explanations("c")).isEmpty();
    ring.explained(record("b", 4));
    ring.explained(record("b", 5));
    assertThat(numbers(ring.explanations("a"))).containsExactly(3L);
  }

  @Test
  void oneOfSizeZeroKeepsNothingAndCounts() {
    ExplainRing ring = new ExplainRing(0);
    ring.explained(record("a", 1));
    assertThat(ring.explanations("a")).isEmpty();
    assertThat(ring.latest(1)).isEmpty();
    assertThat(metrics(ring))
        .contains(
            "berth_explanations 0.0",
            "berth_explained_requests_total 1.0",
            "berth_explanations_dropped_total 1.0");
  }

  @Test
  void threadsThatAddWhileOthersLookLoseNoneOfTheLast() throws Exception {
    int threads = 4;
    int each = 20_000;
    ExplainRing ring = new ExplainRing(64);
    CountDownLatch start = new CountDownLatch(1);
    AtomicReference<Throwable> failed = new AtomicReference<>();
    List<Thread> running = new ArrayList<>();
    for (int t = 0; t < threads; t++) {
      int thread = t;
      running.add(
          new Thread(
              () -> {
                try {
                  start.await();
                  RequestExplanation mine = record("thread-" + thread, thread);
                  for (int i = 0; i < each; i++) {
                    ring.explained(mine);
                    if (i % 100 == 0) {
                      assertThat(ring.latest(1_000)).hasSizeLessThanOrEqualTo(64);
                      ring.explanations("thread-" + thread)
                          .forEach(found -> assertThat(found).isSameAs(mine));
                    }
                  }
                } catch (Throwable thrown) {
                  failed.compareAndSet(null, thrown);
                }
              }));
    }
    running.forEach(Thread::start);
    start.countDown();
    for (Thread thread : running) {
      thread.join();
    }
    assertThat(failed).hasValue(null);
    assertThat(metrics(ring)).contains("berth_explained_requests_total " + (double) threads * each);
    for (int i = 0; i < 64; i++) {
      ring.explained(record("last", i));
    }
    assertThat(numbers(ring.latest(64)))
        .as("no earlier record stands in a later one's place")
        .containsExactlyElementsOf(
            java.util.stream.LongStream.range(0, 64).map(i -> 63 - i).boxed().toList());
  }
}
