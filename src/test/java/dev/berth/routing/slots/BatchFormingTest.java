package dev.berth.routing.slots;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import dev.berth.fakes.ManualClock;
import dev.berth.fakes.Replicas;
import dev.berth.protocol.BatchGroup;
import dev.berth.protocol.BatchSettings;
import dev.berth.protocol.ReplicaAddress;
import dev.berth.protocol.ReplicaInfo;
import dev.berth.protocol.RoutingSnapshot;
import dev.berth.replica.batch.Batch;
import dev.berth.replica.batch.BatchEntry;
import dev.berth.replica.batch.BatchPorts;
import dev.berth.replica.batch.BatchProbe;
import dev.berth.replica.batch.BatchTable;
import dev.berth.replica.slots.Ledgers;
import dev.berth.replica.slots.SlotLedger;
import dev.berth.routing.ranking.PowerOfTwoRanker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Batches that the queue forms, at local replicas with real ledgers and tables of batches. */
class BatchFormingTest {
  private static final long WINDOW = TimeUnit.MILLISECONDS.toNanos(10);
  private static final Duration MS = Duration.ofMillis(1);
  private static final Duration OVERTAKE = Duration.ofSeconds(1);
  private static final long HOLD = TimeUnit.SECONDS.toNanos(1);
  private static final RoutingExclusions NONE = new RoutingExclusions(1);

  private final ManualClock clock = new ManualClock();
  private @Nullable BatchSettings rules = rules(16, false);
  private ReplicaSet replicas = ReplicaSet.empty(NONE, new PowerOfTwoRanker());
  private final List<Long> wakes = new ArrayList<>();
  private final SlotSource source =
      new SlotSource(
          () -> replicas, () -> false, new SplittableRandom(1), clock, OVERTAKE::toNanos);
  private final BatchForming forming = new BatchForming(source, () -> rules, wakes::add);
  private final WaiterQueue queue = new WaiterQueue(source, NONE, forming);
  private final List<Host> hosts = new ArrayList<>();

  private static BatchSettings rules(int size, boolean eager) {
    return rules(size, 1, eager);
  }

  private static BatchSettings rules(int size, int concurrent, boolean eager) {
    return new BatchSettings(
        size, WINDOW, concurrent, eager, Integer.MAX_VALUE, Long.MAX_VALUE, List.of(), List.of());
  }

  /** A replica with its ledger and batches; its handler ends when a test says so. */
  private final class Host implements BatchPorts {
    private final List<Batch> runs = new ArrayList<>();
    private final BatchTable table =
        new BatchTable(() -> java.util.Objects.requireNonNull(rules), clock, this);
    private final SlotLedger ledger;
    private final LocalReplica replica;

    Host(int index, int slots) {
      ledger = Ledgers.ledger(slots, clock);
      ReplicaInfo info =
          new ReplicaInfo(
              "r" + index,
              new DeploymentId("app", "model"),
              new ReplicaAddress("here", 0, index, 1),
              slots,
              0,
              true,
              false,
              null,
              OptionalInt.empty(),
              null,
              Map.of(ReplicaInfo.BATCHED, "predict"));
      replica = new LocalReplica(info, true, ledger, table, queue, 1);
      ledger.observe(replica);
    }

    @Override
    public void run(Batch batch) {
      runs.add(batch);
    }

    @Override
    public void fill(BatchGroup batch) {
      replica.onBatchOpen(batch);
    }

    @Override
    public void onPlaceFreed() {
      replica.onSlotFreed(ledger);
    }

    @Override
    public void wakeIn(long nanos) {}

    private void end(Batch batch) {
      runs.remove(batch);
      for (BatchEntry each : List.copyOf(batch.entries())) {
        ledger.complete(((Item) each).cost);
        table.finished(each);
      }
    }
  }

  private static final class Item extends BatchEntry {
    private final int cost;

    Item(long sinceNanos, int cost) {
      super("predict", sinceNanos, Long.MAX_VALUE, 1, 0);
      this.cost = cost;
    }
  }

  /** A request that waits, and then arrives at its replica or gives its grant back. */
  private final class Asker extends Asking {
    private final long since = clock.getAsLong();
    private final int cost;
    private final @Nullable String key;
    private final Waiter waiter;
    private @Nullable Grant grant;
    private int lookUps;
    private long looks; // of the queue at this waiter
    private @Nullable RoutedReplica only;

    Asker(int cost) {
      this(cost, "predict");
    }

    Asker(int cost, @Nullable String key) {
      super(HOLD);
      this.cost = cost;
      this.key = key;
      queue.tryAdmit(-1);
      waiter = queue.join(this, queue.nextSequence());
      queue.arrange();
    }

    @Override
    public int cost() {
      return Math.max(1, cost);
    }

    @Override
    public @Nullable String batchKey() {
      return key;
    }

    @Override
    public boolean accepts(RoutedReplica replica) {
      lookUps++;
      return only == null || only == replica;
    }

    @Override
    public boolean picky() {
      return only != null;
    }

    @Override
    public boolean paused() {
      looks++;
      return false;
    }

    @Override
    public long sinceNanos() {
      return since;
    }

    @Override
    public void onGranted(Grant given) {
      grant = given;
    }

    private void arrive() {
      Grant given = java.util.Objects.requireNonNull(grant);
      grant = null;
      if (java.util.Objects.requireNonNull(given.lease()).consume() != null) {
        given.giveUpSeat(); // its loop came too late
        return;
      }
      for (Host host : hosts) {
        if (host.replica == given.replica()) {
          host.table.add(new Item(since, cost()), given.batch());
        }
      }
    }

    private void cancel() {
      if (!queue.leave(waiter) && grant != null) {
        Grant given = grant;
        grant = null;
        given.giveBack(this);
      }
    }
  }

  private void hosts(int count, int slots) {
    IntStream.range(0, count).forEach(index -> hosts.add(new Host(index, slots)));
    replicas =
        new ReplicaSet(
            new RoutingSnapshot.SnapshotVersion(1, 1),
            true,
            hosts.stream().<RoutedReplica>map(host -> host.replica).toList(),
            NONE,
            null,
            new PowerOfTwoRanker());
  }

  /** Replicas of another instance, as many slots each. */
  private List<RemoteReplica> hostsElsewhere(int count, int slots) {
    List<RemoteReplica> elsewhere =
        IntStream.range(0, count)
            .mapToObj(
                index ->
                    new RemoteReplica(
                        Replicas.info(
                            "far" + index,
                            new DeploymentId("app", "model"),
                            new ReplicaAddress("there", 0, index, 1),
                            slots),
                        true,
                        clock,
                        attempt -> {},
                        () -> {}))
            .toList();
    List<RoutedReplica> all = new ArrayList<>(elsewhere);
    hosts.forEach(host -> all.add(host.replica));
    replicas =
        new ReplicaSet(
            new RoutingSnapshot.SnapshotVersion(1, 1),
            true,
            all,
            NONE,
            null,
            new PowerOfTwoRanker());
    return elsewhere;
  }

  private static List<Integer> sent(List<RemoteReplica> to) {
    return to.stream().map(each -> each.own.get()).sorted().toList();
  }

  @Test
  void waitersWithoutAPlaceJoinTheNextBatchOfLooseRequests() {
    hosts(1, 16);
    Host host = hosts.get(0);
    List<Asker> first = ask(4);
    clock.advance(MS.multipliedBy(10));
    queue.pump();
    first.forEach(Asker::arrive);
    Batch running = host.runs.get(0);
    List<Asker> waiting = ask(3);
    clock.advance(MS.multipliedBy(20));
    for (BatchEntry each : running.entries()) {
      host.ledger.complete(1); // the queue looks, and finds no place
    }
    host.ledger.tryAcquire(2);
    host.table.add(new Item(0, 1), null);
    host.table.add(new Item(0, 1), null);
    running.entries().forEach(host.table::finished);

    assertThat(granted(waiting)).isEqualTo(3);
    waiting.forEach(Asker::arrive);
    assertThat(host.runs.get(1).entries()).hasSize(5);
  }

  @Test
  void windowPassesAtTheReplicaOfAnotherInstance() {
    List<RemoteReplica> far = hostsElsewhere(2, 16);
    assertThat(granted(ask(1))).isOne();
    ask(15);
    assertThat(sent(far)).containsExactly(0, 16);
    ask(3);
    assertThat(sent(far)).containsExactly(3, 16);
    assertThat(wakes).isEmpty();
  }

  @Test
  void nextWindowMayGoToAnotherReplica() {
    List<RemoteReplica> far = hostsElsewhere(2, 32);
    for (int window = 0; window < 20; window++) {
      ask(1);
      clock.advance(MS.multipliedBy(10));
    }
    assertThat(sent(far)).doesNotContain(0);
  }

  @Test
  void windowPassesHereBesideReplicasOfAnotherInstance() {
    hosts(1, 16);
    List<RemoteReplica> far = hostsElsewhere(1, 16);
    List<Asker> askers = ask(15);
    assertThat(granted(askers)).isZero();
    ask(1);
    assertThat(sent(far)).containsExactly(0);
    assertThat(granted(askers)).isEqualTo(15);
  }

  private List<Asker> ask(int count) {
    return IntStream.range(0, count)
        .mapToObj(index -> new Asker(1))
        .collect(Collectors.toCollection(ArrayList::new));
  }

  private static long granted(List<Asker> of) {
    return of.stream().filter(each -> each.grant != null).count();
  }

  private void wake() {
    forming.onWake();
    queue.pump();
  }

  @Test
  void sixteenRequestsMakeOneBatchOfOneReplica() {
    hosts(2, 16);
    List<Asker> askers = ask(16);
    assertThat(granted(askers)).isEqualTo(16);
    askers.forEach(Asker::arrive);
    List<Batch> runs = hosts.stream().flatMap(host -> host.runs.stream()).toList();
    assertThat(runs).hasSize(1);
    assertThat(runs.get(0).entries()).hasSize(16);
  }

  @Test
  void windowOfTheOldestEndsTheWaitForOthers() {
    hosts(2, 16);
    List<Asker> first = ask(2);
    clock.advance(MS.multipliedBy(9));
    List<Asker> later = ask(1);
    assertThat(granted(first) + granted(later)).isZero();
    assertThat(wakes).containsExactly(WINDOW);
    clock.advance(MS);
    wake();
    assertThat(granted(first) + granted(later)).isEqualTo(3);
  }

  /** A grant to a request that has not joined the queue. */
  private @Nullable Grant atIdle() {
    Asking alone = new Asking(HOLD) {};
    BatchSettings now = java.util.Objects.requireNonNull(rules);
    Pick.rank(replicas, alone, source.ranking(), source.random());
    return Pick.atIdle(replicas, source.ranking(), alone, "predict", now, clock.getAsLong());
  }

  @Test
  void requestAtAnIdleEagerReplicaGetsABatchWithoutTheQueue() {
    rules = rules(4, 2, true);
    hosts(1, 8);
    Host host = hosts.get(0);
    Grant grant = java.util.Objects.requireNonNull(atIdle());
    assertThat(java.util.Objects.requireNonNull(grant.batch()).room()).as("sealed").isZero();
    assertThat(atIdle()).as("a batch gathers").isNull();
    host.table.add(new Item(clock.getAsLong(), 1), grant.batch());
    assertThat(host.runs).hasSize(1);
    assertThat(atIdle()).as("a batch runs").isNull();
    assertThat(host.replica.ongoing()).isOne();
    host.end(host.runs.get(0));
    assertThat(atIdle()).isNotNull();
  }

  @Test
  void slotOfARequestThatGetsNoBatchIsGivenBack() {
    rules = rules(4, 0, true); // another router opens the last batch first
    hosts(1, 8);
    assertThat(atIdle()).isNull();
    assertThat(hosts.get(0).replica.ongoing()).isZero();
  }

  @Test
  void idleEagerReplicaStartsAtOnceAndOthersFillTheNextBatch() {
    rules = rules(4, true);
    hosts(1, 4);
    List<Asker> first = ask(1);
    first.get(0).arrive();
    List<Asker> later = ask(3);
    assertThat(granted(later)).isZero();
    hosts.get(0).end(hosts.get(0).runs.get(0));
    assertThat(granted(later)).isEqualTo(3);
  }

  @Test
  void loweredMaximumBoundsTheBatch() {
    hosts(1, 16);
    hosts.get(0).ledger.setMaxOngoing(5);
    List<Asker> askers = ask(16);
    assertThat(granted(askers)).isEqualTo(5);
    assertThat(granted(askers.subList(0, 5))).isEqualTo(5);
    assertThat(hosts.get(0).ledger.ongoing()).isEqualTo(5);
  }

  @Test
  void largeRequestTakesItsSlotsInTheBatch() {
    rules = rules(3, false);
    hosts(1, 6);
    List<Asker> askers = List.of(new Asker(4), new Asker(1), new Asker(1));
    assertThat(granted(askers)).isEqualTo(3);
    assertThat(hosts.get(0).ledger.ongoing()).isEqualTo(6);
    askers.forEach(Asker::cancel);
    assertThat(hosts.get(0).ledger.ongoing()).isZero();
  }

  @Test
  void largeHeadWithoutSlotsIsSearchedOnceAfterAPump() {
    rules = rules(64, true);
    hosts(1, 4);
    hosts.get(0).ledger.tryAcquire(2);
    Asker large = new Asker(3);
    int lookUps = large.lookUps;
    assertThat(lookUps).isPositive();
    List<Asker> askers = new ArrayList<>(); // those of fewer slots than are free start at once
    for (int i = 0; i < 50; i++) {
      askers.add(new Asker(3 + i % 2));
    }
    assertThat(large.lookUps).isEqualTo(lookUps);
    assertThat(askers.stream().mapToInt(each -> each.lookUps).sum()).isZero();
    assertThat(granted(List.of(new Asker(1)))).isOne();
    assertThat(large.lookUps).isEqualTo(lookUps);
    clock.advance(MS.multipliedBy(10));
    wake();
    assertThat(large.lookUps).isBetween(lookUps + 1, 2 * lookUps);
  }

  @Test
  void handOffsOvertakeALargeRequestOfABatchForItsBoundOnly() {
    rules = rules(4, false);
    hosts(1, 4);
    Host host = hosts.get(0);
    host.ledger.tryAcquire(4);
    Asker large = new Asker(3);
    Asker passing = new Asker(1, null);
    assertThat(host.replica.completing(host.ledger, 1)).isTrue();
    assertThat(passing.grant).isNotNull();
    clock.advance(OVERTAKE);
    Asker late = new Asker(1, null);
    assertThat(host.replica.completing(host.ledger, 1)).isFalse();
    host.ledger.complete(1);
    assertThat(late.grant).isNull();
    host.ledger.complete(2);
    assertThat(large.grant).isNotNull();
  }

  /** Requests with and without a key, which younger ones with a key overtake. */
  @ParameterizedTest
  @NullSource
  @ValueSource(strings = {"predict", "other"})
  void batchesOvertakeALargeRequestForItsBoundOnly(@Nullable String key) {
    rules = rules(1, 4, true);
    hosts(1, 4);
    ask(4).forEach(Asker::arrive);
    Asker large = new Asker(4, key);
    Host host = hosts.get(0);
    for (Duration waited = Duration.ZERO; // overtaken from the first turn
        waited.compareTo(OVERTAKE) < 0;
        waited = waited.plusMillis(100)) {
      Asker small = new Asker(1);
      host.end(host.runs.get(0));
      assertThat(small.grant).as("batches start meanwhile").isNotNull();
      small.arrive();
      clock.advance(MS.multipliedBy(100));
    }
    List<Asker> late = ask(4);
    for (int turns = 0; turns < 4; turns++) {
      assertThat(large.grant).isNull();
      host.end(host.runs.get(0));
      assertThat(granted(late)).as("its slots are set aside").isZero();
    }
    assertThat(large.grant).isNotNull();
    large.cancel();
    assertThat(granted(late)).isEqualTo(4);
  }

  /** The larger request and the smaller one are in one group, for which one slot is free. */
  @Test
  void largeRequestIsOvertakenInItsOwnBatchForItsBoundOnly() {
    rules = rules(2, 4, false);
    hosts(1, 4);
    hosts.get(0).ledger.tryAcquire(3);
    Asker large = new Asker(4);
    Asker small = new Asker(1);
    assertThat(small.grant).isNotNull();
    clock.advance(OVERTAKE);
    small.cancel();
    assertThat(granted(ask(2))).as("its slots are set aside").isZero();
    hosts.get(0).ledger.complete(3);
    assertThat(large.grant).isNotNull();
  }

  @Test
  void batchIsCutToItsPreferredSizeAndTheRestWaits() {
    rules =
        new BatchSettings(
            8, WINDOW, 1, false, Integer.MAX_VALUE, Long.MAX_VALUE, List.of(2), List.of());
    hosts(1, 8);
    List<Asker> askers = ask(3);
    clock.advance(MS.multipliedBy(10));
    wake();
    assertThat(granted(askers)).isEqualTo(2);
  }

  @Test
  void waitingRequestsKeepTheBatchSizeOfBefore() {
    rules = rules(8, false);
    hosts(1, 16);
    List<Asker> before = ask(6);
    rules = rules(3, false);
    queue.pump();
    List<Asker> later = ask(1);
    assertThat(granted(before) + granted(later)).as("7 of 8").isZero();
    later.addAll(ask(8));
    assertThat(granted(before) + granted(later)).isEqualTo(8);
    arriveGranted(before, later);
    assertThat(hosts.get(0).runs.get(0).entries()).hasSize(8);
    hosts.get(0).end(hosts.get(0).runs.get(0));
    assertThat(granted(later)).as("by the new size").isEqualTo(3);
  }

  @Test
  void raisedBatchSizeLeavesWaitingRequestsToTheOldOne() {
    rules = rules(4, false);
    hosts(1, 16);
    List<Asker> first = ask(4);
    arriveGranted(first);
    List<Asker> before = ask(5);
    rules = rules(8, false);
    List<Asker> later = ask(9);
    for (int batch = 0; batch < 2; batch++) {
      hosts.get(0).end(hosts.get(0).runs.get(0));
      assertThat(granted(before) + granted(later)).as("by the old size").isEqualTo(4);
      arriveGranted(before, later);
    }
    hosts.get(0).end(hosts.get(0).runs.get(0));
    assertThat(granted(later)).as("6 of 8").isZero();
    clock.advance(MS.multipliedBy(10));
    wake();
    assertThat(granted(later)).isEqualTo(6);
  }

  @SafeVarargs
  private static void arriveGranted(List<Asker>... askers) {
    for (List<Asker> each : askers) {
      each.stream().filter(asker -> asker.grant != null).forEach(Asker::arrive);
    }
  }

  @Test
  void waitersAreGrantedAloneOnceTheSettingsVanish() {
    rules = rules(4, false);
    hosts(1, 4);
    List<Asker> askers = ask(3);
    assertThat(granted(askers)).isZero();
    rules = null;
    queue.pump();
    assertThat(granted(askers)).isEqualTo(3);
    askers.addAll(ask(2));
    assertThat(granted(askers)).isEqualTo(4);
    assertThat(askers.stream().allMatch(each -> each.grant == null || each.grant.batch() == null))
        .isTrue();
    askers.get(0).cancel();
    assertThat(askers.get(4).grant).isNotNull();
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 1_000})
  void pumpLooksAFewTimesAtEachWaiter(int large) {
    rules = rules(4, false);
    hosts(1, 4);
    ask(4).forEach(Asker::arrive);
    List<Asker> askers = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      askers.add(new Asker(i < large ? 2 : 1, "predict\nk" + i % 200));
    }
    clock.advance(MS.multipliedBy(10));
    queue.pump();
    askers.forEach(each -> each.looks = 0);
    queue.pump();
    assertThat(askers.stream().mapToLong(each -> each.looks).sum()).isLessThan(4 * 2_000);
    clock.advance(OVERTAKE);
    hosts.get(0).end(hosts.get(0).runs.get(0));
    assertThat(granted(askers)).isEqualTo(large == 0 ? 4 : large == 1 ? 3 : 2);
  }

  @Test
  void requestsOfOneKeyStartInTheirOrder() {
    rules = rules(4, false);
    hosts(1, 4);
    List<Asker> askers = ask(10);
    assertThat(granted(askers.subList(0, 4))).isEqualTo(4);
    askers.subList(0, 4).forEach(Asker::arrive);
    assertThat(granted(askers)).isZero();
    hosts.get(0).end(hosts.get(0).runs.get(0));
    assertThat(granted(askers.subList(4, 8))).isEqualTo(4);
    assertThat(granted(askers)).isEqualTo(4);
  }

  @Test
  void tenThousandCancelsLeaveNoSlotTaken() {
    Random random = new Random(36);
    rules = rules(4, false);
    hosts(2, 4);
    List<Asker> askers = new ArrayList<>();
    for (int cancels = 0; cancels < 10_000; ) {
      askers.add(new Asker(1 + random.nextInt(2)));
      if (random.nextInt(4) == 0) {
        clock.advance(MS.multipliedBy(random.nextInt(12)));
        wake();
      }
      Asker any = askers.remove(random.nextInt(askers.size()));
      if (any.grant != null && random.nextInt(3) == 0) {
        any.arrive();
      } else if (random.nextBoolean()) {
        any.cancel();
        cancels++;
      } else {
        askers.add(any);
      }
      for (Host host : hosts) {
        assertThat(host.ledger.ongoing()).isLessThanOrEqualTo(4);
        host.table.look();
        if (!host.runs.isEmpty() && random.nextBoolean()) {
          host.end(host.runs.get(0));
        }
      }
    }
    for (int i = askers.size() - 1; i >= 0; i--) {
      askers.get(i).cancel();
    }
    clock.advance(MS.multipliedBy(100));
    for (Host host : hosts) {
      host.table.look();
      while (!host.runs.isEmpty()) {
        host.end(host.runs.get(0));
        host.table.look();
      }
      assertThat(host.ledger.ongoing()).isZero();
      assertThat(host.table.isBusy()).isFalse();
    }
    assertThat(queue.size()).isZero();
  }

  @Test
  void waitersOfManyKeysCostLittleEach() {
    hosts(1, 16);
    int keys = 200;
    List<Asker> all = new ArrayList<>();
    for (int round = 0; round < 2; round++) {
      for (int i = 0; i < keys; i++) {
        all.add(new Asker(1, "predict\nx: " + i));
      }
    }
    assertThat(looks(all)).isLessThan(1_000L * keys);
    clock.advance(MS.multipliedBy(10));
    queue.pump();
    all.forEach(each -> each.looks = 0);

    queue.pump();

    assertThat(looks(all)).as("with one batch under way").isLessThan(10L * keys);
  }

  private static long looks(List<Asker> all) {
    return all.stream().mapToLong(each -> each.looks).sum();
  }

  @Test
  void requestThatAcceptsOnlyABusyReplicaDelaysNoOther() {
    hosts(2, 16);
    BatchProbe.open(hosts.get(0).table, "predict", clock.getAsLong()); // its only place
    Asker picky = new Asker(1);
    picky.only = hosts.get(0).replica;
    Asker other = new Asker(1);
    clock.advance(MS.multipliedBy(10));

    queue.pump();

    assertThat(picky.grant).isNull();
    assertThat(java.util.Objects.requireNonNull(other.grant).replica())
        .isSameAs(hosts.get(1).replica);
  }

  @Test
  void windowsAtOtherInstancesAreBoundedInNumber() {
    hostsElsewhere(1, 10_000);
    for (int i = 0; i < 2 * BatchForming.MAX_TARGETS; i++) {
      new Asker(1, "predict\nx: " + i);
    }
    assertThat(forming.targets).hasSize(BatchForming.MAX_TARGETS);
  }

  @Test
  void requestWithoutItsSlotsStartsNoBatchOfOthersEarly() {
    hosts(1, 16);
    Host host = hosts.get(0);
    Asker large = new Asker(16);
    clock.advance(MS.multipliedBy(9));
    assertThat(host.ledger.tryAcquire(1)).isTrue();
    host.table.add(new Item(clock.getAsLong(), 1), null);
    clock.advance(MS);

    queue.pump();

    assertThat(large.grant).isNull();
    assertThat(host.runs).as("its window is open").isEmpty();
  }
}
