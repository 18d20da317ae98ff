package dev.berth.controller;

import dev.berth.protocol.Addresses;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.BusMessage.HandleMetricBatch;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.internal.ContextInternal;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The shell of the {@link Controller}: the one consumer of its address, on the control event loop,
 * with one timer for when the controller next has something to do. One per cluster.
 */
public final class ControllerVerticle extends VerticleBase {
  private static final long NO_TIMER = -1;

  private final Controller controller;
  private final LongSupplier nanoClock;
  private final Consumer<ControllerAction> apply;
  private final Predicate<BusMessage> routing;
  private final Consumer<Throwable> broken;
  private @Nullable MessageConsumer<BusMessage> consumer;
  private boolean ended; // it decides nothing any more
  private long timer = NO_TIMER;
  private long armedFor; // the time of that timer

  /**
   * @param apply does what the controller wants done; called on the control event loop, in order
   * @param routing takes messages of routers; false for those that are none
   * @param broken told once when the controller threw: it decides nothing from then on
   */
  public ControllerVerticle(
      Controller controller,
      LongSupplier nanoClock,
      Consumer<ControllerAction> apply,
      Predicate<BusMessage> routing,
      Consumer<Throwable> broken) {
    this.controller = controller;
    this.nanoClock = nanoClock;
    this.apply = apply;
    this.routing = routing;
    this.broken = broken;
  }

  @Override
  public Future<?> start() {
    consumer = vertx.eventBus().localConsumer(Addresses.CONTROLLER);
    consumer.handler(this::onMessage);
    arm();
    return consumer.completion();
  }

  /** Its decisions; on the control event loop alone. */
  public Controller controller() {
    return controller;
  }

  /** Tells the controller something; what it wants is done before this returns. On its loop. */
  public void on(ControllerEvent event) {
    step(now -> controller.on(event, now));
  }

  private void step(LongFunction<List<ControllerAction>> decide) {
    assert ((ContextInternal) context).inThread();
    if (ended) {
      return;
    }
    List<ControllerAction> actions;
    try {
      actions = decide.apply(nanoClock.getAsLong());
    } catch (RuntimeException | Error thrown) {
      end();
      broken.accept(thrown);
      return;
    }
    actions.forEach(apply);
    arm();
  }

  /** A timer that is too early does no harm: it is set anew then. */
  private void arm() {
    long next = controller.nextWakeNanos();
    if (ended || next == Long.MAX_VALUE || (timer != NO_TIMER && armedFor - next <= 0)) {
      return;
    }
    disarm();
    armedFor = next;
    long wait = TimeUnit.NANOSECONDS.toMillis(next - nanoClock.getAsLong() + 999_999);
    timer = vertx.setTimer(Math.max(1, wait), fired -> wake());
  }

  private void wake() {
    timer = NO_TIMER;
    step(controller::wake);
  }

  private void disarm() {
    vertx.cancelTimer(timer);
    timer = NO_TIMER;
  }

  private void onMessage(Message<BusMessage> message) {
    if (message.body() instanceof HandleMetricBatch batch) {
      step(now -> controller.on(batch, now));
      message.reply(controller.epochNumber()); // a stale one too: its sender need not tell it again
    } else if (!routing.test(message.body())) {
      message.fail(
          400, "message: " + message.body().getClass().getSimpleName() + " (expected: a batch)");
    }
  }

  private void end() {
    ended = true;
    disarm();
  }

  @Override
  public Future<?> stop() {
    end();
    return Objects.requireNonNull(consumer).unregister(); // Vert.x stops what has started
  }
}
