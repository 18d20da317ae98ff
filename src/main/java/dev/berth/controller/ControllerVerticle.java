package dev.berth.controller;

import dev.berth.protocol.BusAddresses;
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
 * with one timer for the controller's next wake time. One per cluster.
 */
public final class ControllerVerticle extends VerticleBase {
  private static final long NO_TIMER = -1;

  private final Controller controller;
  private final LongSupplier nanoClock;
  private final Consumer<ControllerAction> apply;
  private final Predicate<BusMessage> routing;
  private final Consumer<Throwable> broken;
  private @Nullable MessageConsumer<BusMessage> consumer;
  private boolean ended; // no further decisions
  private long timer = NO_TIMER;
  private long armedFor; // wake time of the timer, in nanoseconds

  /**
   * @param apply executes an action of the controller; called on the control event loop, in order
   * @param routing handles a message of a router; returns false for any other message
   * @param broken called once when the controller threw; it decides nothing afterwards
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
    consumer = vertx.eventBus().localConsumer(BusAddresses.CONTROLLER);
    consumer.handler(this::onMessage);
    arm();
    return consumer.completion();
  }

  /** Returns the controller. Confined to the control event loop. */
  public Controller controller() {
    return controller;
  }

  /**
   * Passes an event to the controller and applies its actions before it returns. Confined to the
   * control event loop.
   */
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

  /** Arms the timer for the next wake time. An early timer is harmless: it is armed again. */
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
      // also for a stale batch: its sender need not resend it
      message.reply(controller.epochNumber());
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
    return Objects.requireNonNull(consumer).unregister(); // Vert.x stops only started verticles
  }
}
