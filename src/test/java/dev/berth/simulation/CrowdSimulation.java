package dev.berth.simulation;

import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.api.ResponseWriter;
import dev.berth.ingress.StalledProbe;
import dev.berth.replica.Replica;
import dev.berth.routing.CallObserver;
import dev.berth.routing.RoutedCall;
import dev.berth.routing.RouterSettings;
import dev.berth.routing.RoutingProbe;
import dev.berth.stream.InboundStream;
import dev.berth.stream.StreamMemoryBudget;
import dev.berth.stream.StreamWindow;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One run of a crowd that asks for streams and leaves them unread, once or again and again, beside
 * a few that read, with room for a handful of windows: everyone who reads, fast or slowly, must
 * have every answer whole; nobody may be told that a replica failed; what all hold stays near its
 * bound; nothing is left at the end. The sockets are the readers' own, the sweep that cuts is a
 * copy of the ingress's around the same decisions.
 */
final class CrowdSimulation extends ClusterRun {
  /** What every suite of seeds must reach. */
  enum Met {
    GRANT_WAITED,
    ABOVE_THE_BOUND,
    STILL_CUT,
    DRIBBLER_CUT,
    CUT_WHILE_ITS_GRANT_WAITED,
    SLOW_READER_BESIDE_CUTS,
    READER_BESIDE_CUTS,
    LARGE_WHOLE_ANSWER_READ,
    FROM_ANOTHER_INSTANCE
  }

  /** How a reader reads. */
  private enum Pace {
    STILL,
    DRIBBLE, // a byte each 0.9 s
    SLOW, // 2 KiB in a second
    GOOD
  }

  private static final int PIECE_BYTES = 4 << 10;
  private static final int MOST_WHOLE_BYTES = 200_000;
  private static final long SWEEP_NANOS = millis(100);

  /** Longer than all answers of those who read take beside a crowd, by far. */
  private static final long PATIENCE_NANOS = millis(240_000);

  /** What a run came to. */
  record Result(long hash, long events, Set<Met> met, int cut) implements SeededRuns.Result {}

  /** One who asks, and the socket that takes what comes. */
  private final class Reader implements CallObserver {
    final String name;
    final int loop;
    final Pace pace;
    final boolean whole;
    @Nullable RoutedCall call;
    @Nullable InboundStream stream;
    @Nullable StalledProbe stall; // while something waits
    long askedNanos;
    int unsent; // came, and is not taken
    long came;
    long taken;
    boolean pumping;
    boolean over;
    boolean cut;

    Reader(String name, int loop, Pace pace, boolean whole) {
      this.name = name;
      this.loop = loop;
      this.pace = pace;
      this.whole = whole;
    }

    boolean reads() {
      return pace == Pace.SLOW || pace == Pace.GOOD;
    }

    void ask() {
      Request request = Request.get((whole ? "/whole/" : reads() ? "/some/" : "/endless/") + name);
      if (over) {
        return;
      }
      askedNanos = world.getAsLong();
      call = RoutedCall.start(door.router, door.routers.loop(loop), request, this, askedNanos);
    }

    @Override
    public String requestId() {
      return name;
    }

    @Override
    public long arrivedNanos() {
      return askedNanos;
    }

    @Override
    public long deadlineNanos() {
      return askedNanos + PATIENCE_NANOS;
    }

    @Override
    public void onFailure(BerthException failure) {
      if (!cut) {
        throw world.fail(name + ": " + failure + " (expected: an answer)", failure);
      }
    }

    @Override
    public void onResponse(Response response, String replicaId) {
      if (started.stream().noneMatch(each -> isAtTheDoor(each, replicaId))) {
        met.add(Met.FROM_ANOTHER_INSTANCE);
      }
      if (response.body() instanceof Response.Body.Whole all) {
        came = all.bytes().length();
        ended(); // the ingress's to hold, and not the router's
        return;
      }
      InboundStream inbound = (InboundStream) ((Response.Body.Received) response.body()).stream();
      stream = inbound;
      inbound.creditByReader();
      inbound.exceptionHandler(this::broken);
      inbound.endHandler(none -> ended());
      inbound.handler(
          piece -> {
            came += piece.length();
            unsent += piece.length();
            pump();
          });
      inbound.resume();
    }

    private void broken(Throwable why) {
      over = true;
      if (!cut) {
        throw world.fail(name + ": cut short: " + why + " (expected: all of it)", why);
      }
    }

    private void ended() {
      over = true;
      world.failIf(!reads(), () -> name + ": an endless stream ended");
      if (came != wanted(name)) {
        throw world.fail(name + ": " + came + " bytes (expected: " + wanted(name) + ")");
      }
      world.note("whole", name);
      if (whole) {
        met.add(Met.LARGE_WHOLE_ANSWER_READ);
      }
      if (cuts > 0) {
        met.add(pace == Pace.SLOW ? Met.SLOW_READER_BESIDE_CUTS : Met.READER_BESIDE_CUTS);
      }
    }

    private void pump() {
      if (pumping || pace == Pace.STILL || cut) {
        return;
      }
      pumping = true;
      long pause =
          switch (pace) {
            case DRIBBLE -> 900;
            case SLOW -> 200;
            default -> readerRandom.nextInt(10);
          };
      int most = pace == Pace.DRIBBLE ? 1 : pace == Pace.SLOW ? 410 : 1 << 20;
      SimulatedLoop at = door.loops.get(loop);
      at.start(millis(pause), () -> pumped(most));
    }

    private void pumped(int most) {
      pumping = false;
      take(Math.min(unsent, most));
    }

    private void take(int bytes) {
      if (bytes > 0 && stream != null && !cut) {
        unsent -= bytes;
        taken += bytes;
        stream.onConsumed(bytes);
      }
      if (unsent > 0) {
        pump();
      }
    }

    /** As the ingress's sweep looks at an answer. */
    void look(long now) {
      if (unsent == 0 || cut) {
        stall = null;
      } else if (stall == null) {
        stall = new StalledProbe(taken, now);
      } else if (stall.look(taken, now)) {
        window().stalled();
      }
    }

    StreamWindow window() {
      StreamWindow known = stream == null ? null : stream.window();
      world.failIf(known == null, () -> name + ": no window");
      return known;
    }

    void cutShort() {
      world.failIf(reads(), () -> name + ": cut, but it reads");
      met.add(pace == Pace.DRIBBLE ? Met.DRIBBLER_CUT : Met.STILL_CUT);
      cuts++;
      leave();
      if (comesAgain) {
        Reader next = new Reader("c" + ++asked, loop, pace, false);
        crowd.set(crowd.indexOf(this), next);
        arrive(next, 300);
      }
    }

    /** Its connection is closed. */
    void leave() {
      cut = true;
      over = true;
      stall = null;
      if (call != null) {
        call.cancel();
      }
    }
  }

  private final SplittableRandom readerRandom;
  private final SimulatedInstance door; // whose clients these are
  private final StreamMemoryBudget streams; // of the door
  private final long bound;
  private final List<Reader> crowd = new ArrayList<>();
  private final List<Reader> readers = new ArrayList<>();
  private final Set<Met> met = EnumSet.noneOf(Met.class);
  private final boolean comesAgain;
  private int asked;
  private int cuts;

  private CrowdSimulation(World world) {
    super(world, world.randomness());
    readerRandom = world.randomness();
    SimulatedBus bus = new SimulatedBus(world, new Coverage());
    comesAgain = random.nextBoolean();
    bound = 65_536L * (2 + random.nextInt(3));
    RouterSettings routing =
        RoutingProbe.settings(-1, PATIENCE_NANOS, LegsWorkload.TTL_NANOS, PATIENCE_NANOS);
    // Who reads nothing is the ingress's to end, which has its own patience.
    instances(2, bus, SimulatedInstance.Settings.wide(routing, PATIENCE_NANOS, bound, 4_096));
    door = instances.get(0);
    streams = door.routers.bounds.streams;
  }

  /** Runs a seed; a failure tells how to see it again. */
  static Result run(long seed) {
    CrowdSimulation simulation = new CrowdSimulation(new World(seed));
    return simulation.world.told(
        seed, "CrowdSimulationTest", "simulation.crowd.seed", simulation::run);
  }

  private Result run() {
    boolean elsewhere = random.nextInt(3) == 0;
    for (SimulatedInstance instance : instances) {
      instance.start(this);
      for (int loop = 0;
          loop < SimulatedInstance.LOOPS && !(elsewhere && instance == door);
          loop++) {
        seats.add(new Seat(SimulatedInstance.Settings.DEPLOYMENT, instance, loop, 200));
      }
    }
    seats.forEach(this::start);
    lives();
    return new Result(world.hash(), world.ran(), met, cuts);
  }

  @Override
  void live() {
    over = false;
    crowd.clear();
    readers.clear();
    for (int loop = 0; loop < SimulatedInstance.LOOPS; loop++) {
      sweep(loop);
    }
    int size = 40 + random.nextInt(80);
    for (int number = 0; number < size; number++) {
      Pace pace = random.nextInt(4) == 0 ? Pace.DRIBBLE : Pace.STILL;
      crowd.add(new Reader("c" + ++asked, loop(), pace, false));
    }
    for (int number = 0; number < 8; number++) {
      Pace pace = number == 0 ? Pace.SLOW : Pace.GOOD;
      readers.add(new Reader("g" + number, loop(), pace, number % 3 == 1));
    }
    crowd.forEach(reader -> arrive(reader, 500));
    readers.forEach(reader -> arrive(reader, 4_000));
    long end = world.elapsedNanos() + PATIENCE_NANOS / 2;
    world.runUntil(
        () -> world.nextNanos() > end || readers.stream().allMatch(reader -> reader.over),
        this::check);
    List<String> left =
        readers.stream().filter(reader -> !reader.over).map(each -> each.name).toList();
    if (!left.isEmpty()) {
      throw world.fail(
          "%s: wait for ever beside those who do not read; %s bytes of %s, %s wait"
              .formatted(left, streams.bytes(), bound, streams.waiting()));
    }
    over = true;
    for (Reader reader : crowd) {
      door.loops.get(reader.loop).execute(reader::leave);
    }
    rest();
    if (streams.waits.sum() > 0) {
      met.add(Met.GRANT_WAITED);
    }
    checkAtEnd();
  }

  private boolean isAtTheDoor(Replica replica, String id) {
    return replica.replicaId().equals(id) && replica.address().node().equals(door.node);
  }

  private int loop() {
    return random.nextInt(SimulatedInstance.LOOPS);
  }

  private void arrive(Reader reader, int mostMillis) {
    long at = millis(200 + random.nextInt(mostMillis));
    world.after(at, "arrival", () -> door.loops.get(reader.loop).execute(reader::ask));
  }

  @Override
  void check() {
    // What the sum may exceed its bound by, as its class says.
    long most = 2 * bound + (crowd.size() + readers.size()) * (PIECE_BYTES + 1_024L);
    most += 3L * MOST_WHOLE_BYTES;
    if (streams.bytes() > most) {
      throw world.fail("answers hold " + streams.bytes() + " bytes (expected: at most " + most);
    }
    if (streams.bytes() > bound) {
      met.add(Met.ABOVE_THE_BOUND);
    }
  }

  /** As the ingress of one loop does. */
  private void sweep(int loop) {
    SimulatedLoop at = door.loops.get(loop);
    Runnable sweep =
        () -> {
          world.discount();
          cutStalled(loop);
          if (!over) {
            sweep(loop);
          }
        };
    world.idle(SWEEP_NANOS, () -> at.execute(sweep));
  }

  private void cutStalled(int loop) {
    long now = world.getAsLong();
    List<StalledProbe.Waiting<Reader>> table = new ArrayList<>();
    for (List<Reader> all : List.of(List.copyOf(crowd), readers)) {
      for (Reader each : all) {
        if (each.loop == loop && !each.cut) {
          each.look(now);
          StalledProbe stall = each.stall;
          if (stall != null) {
            table.add(new StalledProbe.Waiting<>(each, each.window().underWay(), stall));
          }
        }
      }
    }
    for (Reader victim : StalledProbe.victims(table, now, streams.needed())) {
      int waiting = streams.waiting();
      victim.cutShort();
      if (streams.waiting() < waiting) {
        met.add(Met.CUT_WHILE_ITS_GRANT_WAITED);
      }
    }
  }

  // --- replicas ---

  @Override
  AsyncHandler handler(Seat seat) {
    return new Writer(seat.at.loops.get(seat.loop));
  }

  @Override
  long toldAfterNanos() {
    return millis(1);
  }

  /** Bytes of the answer to one who reads, by its name. */
  private static int wanted(String name) {
    int number = Integer.parseInt(name.substring(1));
    return number == 0 ? 30_000 : 70_000 + number * 15_000;
  }

  /** Writes what its path says, each piece when the one before has left. */
  private record Writer(SimulatedLoop loop) implements AsyncHandler {
    @Override
    public Future<Response> handle(Request request, RequestContext context) {
      String path = request.path();
      String name = path.substring(path.lastIndexOf('/') + 1);
      if (path.startsWith("/whole")) {
        Buffer all = Buffer.buffer("x".repeat(wanted(name)));
        return Future.succeededFuture(Response.of(200, "application/octet-stream", all));
      }
      int bytes = path.startsWith("/endless") ? Integer.MAX_VALUE : wanted(name);
      return Future.succeededFuture(
          Response.stream(
              "text/event-stream",
              writer -> {
                Promise<Void> done = Promise.promise();
                write(writer, bytes, done);
                return done.future();
              }));
    }

    private void write(ResponseWriter writer, int left, Promise<Void> done) {
      if (left == 0) {
        done.complete();
        return;
      }
      int size = Math.min(left, PIECE_BYTES);
      writer
          .write(Buffer.buffer("x".repeat(size)))
          .onSuccess(gone -> loop.start(100_000, () -> write(writer, left - size, done)))
          .onFailure(done::tryFail);
    }
  }
}
