package dev.berth.ingress.access;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.LogEncoding;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class AccessLogTest {
  private final ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();

  private static void request(AccessLog log, String path) {
    AccessRoute route = new AccessRoute(log, LogEncoding.TEXT, "/", "app", "web");
    new AccessEntry(route, "GET", path, "HTTP/1.1", "", "r", 0).complete(200, 0, 0, 0);
  }

  private AccessLog log(int capacity, Consumer<String> out) {
    return new AccessLog(capacity, () -> 0, out);
  }

  @Test
  void whatIsClosedWritesWhatWaitsAndEnds() {
    AccessLog log = log(8, lines::add);
    request(log, "/1");
    request(log, "/2");
    log.close();
    log.run();
    assertThat(lines).hasSize(2).first().asString().contains("path=/1 ");
    assertThat(log.dropped.sum()).isZero();
  }

  @Test
  void beyondItsBoundALineIsDroppedAndCounted() {
    AccessLog log = log(2, lines::add);
    for (int i = 0; i < 5; i++) {
      request(log, "/" + i);
    }
    assertThat(log.dropped.sum()).isEqualTo(3);
    log.close();
    log.run();
    assertThat(lines).hasSize(2);
  }

  @Test
  void aLineThatCannotBeWrittenCostsNoOther() {
    AccessLog log =
        log(
            8,
            line -> {
              if (line.contains("path=/bad")) {
                throw new IllegalStateException("disk full");
              }
              lines.add(line);
            });
    request(log, "/bad");
    request(log, "/good");
    log.close();
    log.run();
    assertThat(lines).hasSize(1);
    assertThat(log.dropped.sum()).isOne();
  }

  @Test
  void aWriterThatRestsWakesForEveryLine() throws Exception {
    int loops = 3;
    int each = 2_000;
    CountDownLatch all = new CountDownLatch(loops * each);
    AccessLog log = log(loops * each, line -> all.countDown());
    Thread writer = new Thread(log, "writer");
    writer.start();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < loops; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int k = 0; k < each; k++) {
                  request(log, "/");
                  if (k % 16 == 0) {
                    Thread.yield(); // so that the writer comes to rest now and then
                  }
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertThat(all.await(10, TimeUnit.SECONDS)).as("all are written, none waits").isTrue();
    log.close();
    writer.join();
    assertThat(log.dropped.sum()).isZero();
  }

  @Test
  void errorEndsNeitherTheThreadNorTheNextLine() {
    AccessLog log =
        log(
            8,
            line -> {
              if (line.contains("path=/bad")) {
                throw new NoClassDefFoundError("only in this test");
              }
              lines.add(line);
            });
    request(log, "/bad");
    request(log, "/good");
    log.close();
    log.run();
    assertThat(lines).hasSize(1);
    assertThat(log.dropped.sum()).isEqualTo(1);
  }
}
