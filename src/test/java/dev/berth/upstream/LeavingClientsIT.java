package dev.berth.upstream;

import static dev.berth.upstream.UpstreamRig.deployment;
import static dev.berth.upstream.UpstreamRig.upstream;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import dev.berth.node.TestNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Clients that leave at random moments: an upstream never has more requests than its maximum, each
 * cancel reaches it, and every slot is returned.
 */
@Timeout(240)
class LeavingClientsIT {
  private static final int CLIENTS = Integer.getInteger("berth.upstream.clients", 10_000);
  private static final long SEED = Long.getLong("berth.upstream.seed", 33);
  private static final int AT_ONCE = 48;
  private static final int SMALL = 8;
  private static final int LARGE = 16;
  private static final long CANCEL_BOUND_MS = 1_000;

  private final Map<String, Long> left = new ConcurrentHashMap<>(); // nano time, by request id

  @Test
  void upstreamStaysWithinItsMaximumWhileClientsLeave() throws Exception {
    try (CountingUpstream small = new CountingUpstream();
        CountingUpstream large = new CountingUpstream();
        UpstreamRig rig =
            new UpstreamRig(
                "limits: {address_connection_rate: 0}", // all clients have one address
                deployment(
                    "models", "", upstream(small.url(), SMALL), upstream(large.url(), LARGE)))) {
      rig.awaitOpen(SMALL + LARGE);
      long began = System.nanoTime();
      int complete = run(rig);
      TestNode.until(() -> small.ongoing() + large.ongoing() == 0, () -> "upstreams at rest");
      rig.assertAtRest();

      List<Long> delays = new ArrayList<>();
      for (CountingUpstream each : List.of(small, large)) {
        assertThat(each.violations()).isEmpty();
        assertThat(left).containsKeys(each.cancelled().keySet().toArray(String[]::new));
        each.cancelled()
            .forEach((id, at) -> delays.add(TimeUnit.NANOSECONDS.toMicros(at - left.get(id))));
      }
      delays.sort(null);
      long p99 = delays.get(delays.size() * 99 / 100) / 1_000;
      System.out.printf(
          "seed %d: %d clients in %d s, %d read to the end, %d cancels reached an upstream,"
              + " p50 %d us, p99 %d ms; highest %d of %d and %d of %d; %d requests, %d connections%n",
          SEED,
          CLIENTS,
          TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - began),
          complete,
          delays.size(),
          delays.get(delays.size() / 2),
          p99,
          small.highest(),
          SMALL,
          large.highest(),
          LARGE,
          small.requests() + large.requests(),
          small.connections() + large.connections());
      assertThat(small.highest()).isBetween(SMALL / 2, SMALL);
      assertThat(large.highest()).isBetween(LARGE / 2, LARGE);
      assertThat(p99).isLessThan(CANCEL_BOUND_MS);
      assertThat(complete).isPositive();
    }
  }

  /** Runs all clients and returns the number of those that read their responses to the end. */
  private int run(UpstreamRig rig) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
    try {
      Random random = new Random(SEED);
      List<Callable<Boolean>> clients = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        long seed = random.nextLong();
        String id = "client-" + i;
        clients.add(() -> client(rig, id, new Random(seed)));
      }
      int complete = 0;
      for (Future<Boolean> each : threads.invokeAll(clients)) {
        complete += each.get() ? 1 : 0;
      }
      return complete;
    } finally {
      threads.shutdownNow();
    }
  }

  private boolean client(UpstreamRig rig, String id, Random random) throws IOException {
    try (UpstreamRig.ClientSocket client = rig.client()) {
      boolean stream = random.nextBoolean();
      int events = 1 + random.nextInt(6);
      String commands =
          stream
              ? "events=%d&every=%d".formatted(events, 1 + random.nextInt(20))
              : "wait=%d&size=%d".formatted(random.nextInt(100), 1 + random.nextInt(3_000));
      boolean whole = true;
      String lines = "x-request-id: " + id + "\r\nConnection: close";
      if (random.nextInt(4) == 0) { // a request body, perhaps one that never ends
        whole = random.nextBoolean();
        client.send(
            "POST /models/x?%s HTTP/1.1\r\nHost: t\r\n%s\r\ncontent-length: 200\r\n\r\n"
                .formatted(commands, lines));
        client.send("b".repeat(whole ? 200 : random.nextInt(200)));
      } else {
        client.get("/models/x?" + commands, lines);
      }
      switch (random.nextInt(whole ? 5 : 3)) {
        case 0 -> {} // leaves at once
        case 1, 2 -> LockSupport.parkNanos(random.nextInt(60_000_000));
        case 3 -> client.readUntil("\r\n\r\n");
        default -> {
          String all = client.readUntil("<the end>");
          assertThat(all)
              .startsWith("HTTP/1.1 200 ")
              .contains(stream ? " " + (events - 1) + "\n\n" : "x");
          return true;
        }
      }
      left.put(id, System.nanoTime());
      if (random.nextBoolean()) {
        client.reset();
      }
      return false;
    }
  }
}
