package dev.berth.controller;

import static dev.berth.controller.DrivenController.MODEL;

import dev.berth.controller.ControllerAction.Rescale;
import dev.berth.fakes.FakeHandle;
import dev.berth.metrics.MeterRegistration;
import dev.berth.metrics.MetricsPusher;
import dev.berth.metrics.MetricsPusher.ReportIntervals;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import dev.berth.simulation.Footprint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A deployment under an offered load, on a virtual clock: the real pushers of its instances, the
 * real controller with what it decides and reconciles. Replicas are slots behind one queue, as a
 * fluid; they take a while to start, or do not start at all.
 */
final class AutoscaledFleet {
  static final double SERVICE_S = 0.5;
  static final int SLOTS = 5; // of a replica

  /**
   * What goes wrong, in seconds from the begin; from = to is never.
   *
   * @param lost share of the pushes that do not arrive
   * @param silentFrom the last instance says nothing from here
   * @param silentTo to here
   * @param failFrom no replica starts from here
   * @param failTo to here
   * @param restart a controller starts anew; negative for none
   */
  record Faults(
      double lost,
      double silentFrom,
      double silentTo,
      double failFrom,
      double failTo,
      double restart) {
    static final Faults NONE = new Faults(0, 0, 0, 0, 0, -1);
  }

  /** One moment, each push interval. */
  record Moment(double seconds, double rate, double load, int wanted, int running) {}

  private final class Instance {
    final String node;
    final MetricsPusher pusher;
    final FakeHandle handle = new FakeHandle(MODEL.name()); // whose gauges the load sets
    MeterRegistration registration;
    boolean left;
    boolean signalled;
    long heardNanos; // by the controller that is there

    Instance(String node, long incarnation, ReportIntervals rhythm) {
      this.node = node;
      pusher = new MetricsPusher(node, incarnation, rhythm, rhythm, 960 << 10, () -> world.now);
      pusher.onSignal(() -> signalled = true);
      registration = pusher.register(handle);
    }
  }

  final DrivenController world = new DrivenController();
  final List<Moment> moments = new ArrayList<>();
  final List<String> broken = new ArrayList<>(); // promises
  int starts;
  int turns; // changes of the number in another direction than the one before
  private final SplittableRandom random;
  private final Faults faults;
  private final ReportIntervals rhythm;
  private final long startNanos;
  private final DeploymentTarget model;
  private final int least;
  private final int most;
  private final List<Instance> instances = new ArrayList<>();
  private final Map<String, Long> due =
      new HashMap<>(); // when what starts runs, or what stops ends
  private long restartedNanos = Long.MIN_VALUE;
  private long term = 1;
  private long behindNanos = Long.MIN_VALUE; // since when less than is wanted runs
  private int seen; // of what the controller wanted done
  private int wanted;
  private int direction;
  private double load;

  /** From {@code least} replicas on. */
  AutoscaledFleet(
      long seed,
      int instances,
      ReportIntervals rhythm,
      double startS,
      int least,
      int most,
      String keys,
      Faults faults) {
    this.random = new SplittableRandom(seed);
    this.rhythm = rhythm;
    this.startNanos = (long) (startS * 1e9);
    this.least = least;
    this.most = most;
    this.wanted = least;
    this.faults = faults;
    for (int i = 1; i <= instances; i++) {
      this.instances.add(new Instance("n" + i, 1, rhythm));
    }
    List<String> nodes = this.instances.stream().map(each -> each.node).toList();
    world.controller.recover(nodes, 0);
    nodes.forEach(this::tellInventory);
    String bounds = String.format(Locale.ROOT, "min_replicas: %d, max_replicas: %d, ", least, most);
    model = DrivenController.autoscaled(MODEL, 1, bounds + keys);
    world.serve("app", model);
  }

  private void tellInventory(String node) {
    world.send(
        node.equals(DrivenController.NODE)
            ? world.inventory()
            : new ControllerEvent.Inventory(node, List.of(), List.of()));
  }

  /**
   * @param rates requests a second, one for each record interval
   */
  AutoscaledFleet run(double[] rates) {
    long perMoment = rhythm.push().dividedBy(rhythm.record());
    for (int i = 0; i < rates.length; i++) {
      boolean restarts = seconds() <= faults.restart;
      work(rates[i]);
      for (Instance each : instances) {
        push(each);
      }
      world.advance(rhythm.record());
      if (restarts && seconds() > faults.restart) {
        restart();
      }
      watch();
      if (i % perMoment == 0) {
        moments.add(new Moment(seconds(), rates[i], load, wanted, running()));
      }
    }
    return this;
  }

  double seconds() {
    return world.now / 1e9;
  }

  private boolean within(double from, double to) {
    return seconds() >= from && seconds() < to;
  }

  int running() {
    int running = 0;
    for (DrivenController.Hosted each : world.hosted.values()) {
      running += each.runs && !each.stopping ? 1 : 0;
    }
    return running;
  }

  // --- replicas and requests ---

  private void work(double rate) {
    for (DrivenController.Hosted each : List.copyOf(world.hosted.values())) {
      if (each.stopping) {
        if (world.now - due.merge(each.id + " ends", world.now + startNanos / 4, Math::min) >= 0) {
          world.die(each.id);
        }
      } else if (!each.runs
          && world.now - due.computeIfAbsent(each.id, id -> world.now + startNanos) >= 0) {
        starts++;
        if (within(faults.failFrom, faults.failTo)) {
          world.fail(each.id, "no room");
        } else {
          world.run(each.id);
        }
      }
    }
    double stepS = rhythm.record().toNanos() / 1e9;
    double slots = running() * SLOTS;
    load += rate * stepS;
    double reported = load;
    load = Math.max(0, load - Math.min(load, slots) * Math.min(1, stepS / SERVICE_S));
    load = load < 1e-3 ? 0 : load;
    long whole = Math.round(Math.ceil(reported - 1e-6));
    List<Instance> calling = instances.stream().filter(each -> !each.left).toList();
    for (int i = 0; i < calling.size(); i++) {
      long part = whole * (i + 1) / calling.size() - whole * i / calling.size();
      Instance each = calling.get(i);
      int running = (int) Math.min(part, (long) slots);
      each.handle.with((int) part - running, running, 0);
      if (each.handle.queued > 0 && slots == 0) {
        each.pusher.signal(MODEL);
      }
    }
  }

  /** The last instance calls it no more, and goes on telling of others. */
  void leave() {
    Instance last = instances.get(instances.size() - 1);
    last.left = true;
    last.registration.close();
  }

  /**
   * Another life: a load that comes and goes, handles that leave and come again, others that do
   * not, another process of the last instance, another controller, and the application again.
   *
   * @param lives before this one
   */
  void liveAgain(double[] rates, int lives) {
    List<MeterRegistration> passing = new ArrayList<>();
    for (Instance each : instances) {
      passing.add(each.pusher.register(new FakeHandle("passing" + lives).with(1, 1, 0)));
    }
    run(rates);
    double[] none = new double[1_000];
    passing.forEach(MeterRegistration::close);
    instances.forEach(each -> each.registration.close());
    run(none);
    instances.forEach(each -> each.registration = each.pusher.register(each.handle));
    int last = instances.size() - 1;
    instances.set(last, new Instance(instances.get(last).node, lives + 2, rhythm));
    restart();
    run(rates);
    run(none);
    world.send(new ControllerEvent.Withdrawn("app"));
    run(none);
    wanted = least;
    direction = 0;
    world.serve("app", model);
    due.clear();
    world.log.clear();
    seen = 0;
    run(none);
  }

  /** All that its controller and its pushers hold. */
  Footprint footprint() {
    return Footprint.of(world.controller, instances.stream().map(each -> each.pusher).toList());
  }

  // --- what is told ---

  private void push(Instance each) {
    boolean silent =
        each == instances.get(instances.size() - 1) && within(faults.silentFrom, faults.silentTo);
    if (silent) {
      return;
    }
    send(each, each.pusher.tick());
    if (each.signalled) {
      each.signalled = false;
      send(each, each.pusher.signalBatch());
    }
  }

  private void send(Instance each, @Nullable HandleMetricBatch batch) {
    if (batch == null) {
      return;
    }
    if (random.nextDouble() < faults.lost) {
      each.pusher.onSettled(batch.sequence(), -1);
      return;
    }
    world.apply(world.controller.on(batch, world.now));
    each.heardNanos = world.now;
    watch();
    each.pusher.onSettled(batch.sequence(), term);
  }

  private void restart() {
    watch();
    int kept = wanted;
    term++;
    world.restart(instances.stream().map(each -> each.node).toList());
    world.declareKept(kept, null);
    instances.forEach(each -> tellInventory(each.node));
    restartedNanos = world.now;
  }

  // --- what must hold, at each change ---

  private void watch() {
    for (; seen < world.log.size(); seen++) {
      if (!(world.log.get(seen) instanceof Rescale rescale) || rescale.now() == null) {
        continue;
      }
      int now = rescale.now().replicas();
      int way = Integer.signum(now - wanted);
      turns += direction != 0 && way != direction ? 1 : 0;
      direction = way;
      if (now < least || now > most) {
        breaks("%d replicas (expected: %d to %d)", now, least, most);
      }
      boolean awaited = world.now - behindNanos < TimeUnit.MINUTES.toNanos(5);
      if (way > 0 && running() > 0 && behindNanos != Long.MIN_VALUE && awaited) {
        breaks(
            "%d replicas while %d of %d run: what starts is asked for again",
            now, running(), wanted);
      }
      if (way < 0) {
        instances.forEach(each -> checkKnown(each, now));
      }
      wanted = now;
    }
    boolean behind = running() * 10 < wanted * 9;
    behindNanos =
        !behind ? Long.MIN_VALUE : behindNanos == Long.MIN_VALUE ? world.now : behindNanos;
  }

  /**
   * Fewer only on what is known: of who is silent, or has not told a new controller, nothing is.
   */
  private void checkKnown(Instance each, int now) {
    long age = world.now - each.heardNanos;
    if (age > Controller.MIN_SILENCE_NANOS) {
      breaks("%d replicas for %d while %s is silent", now, wanted, each.node);
    }
    boolean fresh =
        restartedNanos != Long.MIN_VALUE
            && world.now - restartedNanos < TimeUnit.SECONDS.toNanos(20); // look_back_period_s
    if (fresh && each.heardNanos < restartedNanos) {
      breaks("%d replicas for %d before %s told a new controller", now, wanted, each.node);
    }
  }

  private void breaks(String promise, Object... values) {
    String at = String.format(Locale.ROOT, "%.1f s: ", seconds());
    broken.add(at + String.format(Locale.ROOT, promise, values));
  }

  // --- what came of it ---

  /** Seconds from a time until so many run; infinite when they never do. */
  double met(double from, double replicas) {
    return moments.stream()
        .filter(at -> at.seconds >= from && at.running >= replicas)
        .mapToDouble(at -> at.seconds - from)
        .findFirst()
        .orElse(Double.POSITIVE_INFINITY);
  }

  List<Moment> between(double from, double to) {
    return moments.stream().filter(at -> at.seconds >= from && at.seconds < to).toList();
  }

  static ReportIntervals rhythm(double recordS, double pushS) {
    return new ReportIntervals(
        Duration.ofNanos((long) (recordS * 1e9)), Duration.ofNanos((long) (pushS * 1e9)));
  }
}
