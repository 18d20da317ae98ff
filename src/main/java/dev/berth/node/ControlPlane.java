package dev.berth.node;

import dev.berth.controller.Controller;
import dev.berth.controller.ControllerAction;
import dev.berth.controller.ControllerEvent;
import dev.berth.controller.ControllerVerticle;
import dev.berth.controller.Epoch;
import dev.berth.node.loops.LoopVerticle;
import io.vertx.core.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The controller of this instance: started, told of what happens, and started anew, by an operator
 * or since it failed. A new one has a later term; it is told what is wanted and what runs here
 * before it decides anything, so requests and replicas notice nothing of it. What happens while
 * there is none is part of what the next one is told. Belongs to the control loop, unless a method
 * says otherwise.
 */
final class ControlPlane {
  private static final Logger LOG = LoggerFactory.getLogger(ControlPlane.class);

  /** The wait before a controller that failed is followed doubles from here to the longest. */
  private static final long SHORTEST_WAIT_MS = 50;

  private static final long LONGEST_WAIT_MS = 30_000;

  /** One that ran for so long did not fail for the reason of the one before. */
  private static final long WELL_NANOS = TimeUnit.SECONDS.toNanos(60);

  private final LoopVerticle control;
  private final LongFunction<Epoch> epochs; // by term
  private final LongSupplier nanoClock;
  private final Function<Epoch, Controller> make;
  private final Consumer<Consumer<ControllerEvent>> known;
  private final Supplier<Future<Void>> follow;
  private final Consumer<ControllerAction> apply;
  private final RoutingLink routing;

  private @Nullable ControllerVerticle current;
  private Future<Void> changing = Future.succeededFuture(); // the last start or stop of one
  private long lastTerm;
  private long beganNanos;
  private int failures; // in a row
  private boolean draining;
  private volatile long restarts;

  /**
   * @param epochs of a term, with the generation of the cluster as it is then
   * @param make a controller of an epoch
   * @param known tells a controller that begins what is declared, and what runs here
   * @param follow finds a later term, and has a controller of it follow one that failed
   * @param apply does what the controller wants
   * @param routing takes the messages of routers
   */
  ControlPlane(
      LoopVerticle control,
      LongFunction<Epoch> epochs,
      LongSupplier nanoClock,
      Function<Epoch, Controller> make,
      Consumer<Consumer<ControllerEvent>> known,
      Supplier<Future<Void>> follow,
      Consumer<ControllerAction> apply,
      RoutingLink routing) {
    this.control = control;
    this.epochs = epochs;
    this.nanoClock = nanoClock;
    this.make = make;
    this.known = known;
    this.follow = follow;
    this.apply = apply;
    this.routing = routing;
  }

  /** Tells the controller something, later, in the order of the calls. Any thread. */
  void tell(ControllerEvent event) {
    control.execute(
        () -> {
          ControllerVerticle told = current;
          if (told != null) {
            told.on(event);
          }
        });
  }

  /** The controller now; null while there is none. */
  @Nullable Controller controller() {
    assert control.isHere();
    ControllerVerticle verticle = current;
    return verticle == null ? null : verticle.controller();
  }

  /**
   * Ends the controller and starts another; completes when that one decides.
   *
   * @param term of the other
   */
  Future<Void> restart(long term) {
    assert control.isHere();
    if (draining) {
      return Future.failedFuture("controller: ends (expected: an instance that does not drain)");
    }
    restarts++;
    changing = changing.otherwiseEmpty().compose(before -> end()).compose(ended -> start(term));
    return changing;
  }

  Future<Void> start(long wanted) {
    assert control.isHere();
    long term = Math.max(wanted, lastTerm + 1); // whatever was kept of it: later than the last
    lastTerm = term;
    Epoch epoch = epochs.apply(term);
    Controller made = make.apply(epoch);
    ControllerVerticle verticle =
        new ControllerVerticle(
            made,
            nanoClock,
            apply,
            message -> routing.publisher().on(message),
            thrown -> failed(made, thrown));
    beganNanos = nanoClock.getAsLong();
    made.recover(routing.nodes(), beganNanos);
    return control
        .deploy(verticle)
        .map(
            deployed -> {
              current = verticle;
              routing.begin(epoch.number());
              known.accept(verticle::on);
              return null;
            });
  }

  private Future<Void> end() {
    ControllerVerticle ending = current;
    current = null;
    return ending == null ? Future.succeededFuture() : control.undeploy(ending);
  }

  /** It decides nothing any more: another one follows, the later the more of them failed. */
  private void failed(Controller which, Throwable thrown) {
    if (nanoClock.getAsLong() - beganNanos > WELL_NANOS) {
      failures = 0;
    }
    long wait = Math.min(LONGEST_WAIT_MS, SHORTEST_WAIT_MS << Math.min(failures, 16));
    failures++;
    LOG.error("the controller failed; another one follows in {} ms", wait, thrown);
    control.home().setTimer(wait, over -> follow(which));
  }

  private void follow(Controller failed) {
    if (controller() == failed && !draining) {
      follow
          .get()
          .recover(notKept -> restart(lastTerm + 1))
          .onFailure(no -> LOG.error("no controller follows", no));
    }
  }

  /** Controllers that followed another one. Any thread. */
  long restarts() {
    return restarts;
  }

  /** The instance drains: there is one controller until its end, or none. */
  void drains() {
    assert control.isHere();
    draining = true;
  }

  /** No controller any more, from now on. */
  Future<Void> stop() {
    draining = true;
    return changing.otherwiseEmpty().compose(before -> end());
  }
}
