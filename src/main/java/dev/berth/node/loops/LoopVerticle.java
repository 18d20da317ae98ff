package dev.berth.node.loops;

import dev.berth.api.RequestContext;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.LoopDependencies;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.protocol.port.TickTimer;
import dev.berth.replica.hooks.ApplicationWorkers;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.EventBus;
import io.vertx.core.impl.VertxThread;
import io.vertx.core.internal.ContextInternal;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * An event loop of the instance, with the one context of all parts on it. Vert.x assigns loops in
 * the order of deployments, so all parts of a loop are started here and not deployed one by one.
 */
public final class LoopVerticle extends VerticleBase implements LoopExecutor {
  /** Context of an application's requests, with the worker pool of the application. */
  private record OwnContext(String application, ContextInternal context) {}

  private final String name;
  private final @Nullable ApplicationWorkers workers; // null: no user code runs here
  private final Map<String, OwnContext> contexts = new ConcurrentHashMap<>(); // by application
  private volatile @Nullable OwnContext latest; // saves most requests the look-up
  private boolean namesRequests; // set before home
  private final LoopTurn turn = new LoopTurn();
  private volatile @Nullable ContextInternal home;
  private volatile @Nullable Thread thread;

  /**
   * @param name name in messages
   */
  public LoopVerticle(String name) {
    this(name, null);
  }

  /**
   * @param workers worker pools, one for the requests of each application
   */
  LoopVerticle(String name, @Nullable ApplicationWorkers workers) {
    this.name = name;
    this.workers = workers;
  }

  @Override
  public Future<?> start() {
    namesRequests = RequestLocal.hasRoom(context);
    home = (ContextInternal) context;
    thread = Thread.currentThread();
    return Future.succeededFuture();
  }

  /** Returns the context of the loop, once it is deployed. Thread-safe. */
  public ContextInternal home() {
    return Objects.requireNonNull(home, "home: null (expected: a deployed loop)");
  }

  /** Returns the current stack of the loop's thread; empty before the deployment. Thread-safe. */
  public StackTraceElement[] stackTrace() {
    Thread own = thread;
    return own == null ? new StackTraceElement[0] : own.getStackTrace();
  }

  /**
   * Returns the request that the loop's thread works for; null for none, or unknown. Thread-safe.
   */
  @Nullable RequestContext request() {
    try {
      Field context =
          VertxThread.class.getDeclaredField("context"); // Vert.x offers it to that thread alone
      context.setAccessible(true);
      Context at = (Context) context.get(thread);
      return at == null || !namesRequests ? null : RequestLocal.get(at);
    } catch (ReflectiveOperationException | RuntimeException another) { // other Vert.x version
      return null;
    }
  }

  /** Returns the turn of the loop's own messages. */
  public LoopTurn turn() {
    return turn;
  }

  @Override
  public boolean beginTurn() {
    return turn.begin();
  }

  @Override
  public void endTurn() {
    turn.end();
  }

  @Override
  public boolean isHere() {
    return home().inThread();
  }

  @Override
  public void execute(Runnable task) {
    home().runOnContext(none -> task.run());
  }

  @Override
  public void executeFor(RequestContext request, Runnable task) {
    context(request).runOnContext(none -> task.run());
  }

  @Override
  public void worksFor(@Nullable RequestContext request) {
    ContextInternal now = ContextInternal.current(); // only a duplicate belongs to one request
    if (now != null && now.isDuplicate() && (request == null || !isOf(now, request))) {
      (request == null ? home().duplicate() : context(request)).beginDispatch(); // ends with now
    }
  }

  private boolean isOf(ContextInternal context, RequestContext request) {
    return namesRequests && RequestLocal.get(context) == request;
  }

  /** Returns a new context for one request, apart from the other requests of its application. */
  private ContextInternal context(RequestContext request) {
    ContextInternal made = of(request.deployment().application()).duplicate();
    if (namesRequests) {
      RequestLocal.put(made, request);
    }
    return made;
  }

  private ContextInternal of(String application) {
    ApplicationWorkers pools = workers;
    if (pools == null) {
      return home();
    }
    OwnContext own = latest;
    if (own == null || !own.application.equals(application)) {
      own =
          contexts.computeIfAbsent(
              application,
              name ->
                  new OwnContext(
                      name, home().toBuilder().withWorkerPool(pools.pool(name)).build()));
      latest = own;
      if (contexts.get(application) != own) { // removed meanwhile, with its worker pool
        latest = null;
      }
    }
    return own.context;
  }

  @Override
  public <T> Future<T> callBlocking(String application, Callable<T> work) {
    return of(application).executeBlocking(work, true);
  }

  /** Releases the context and the worker pool of a removed application. */
  void forget(String application) {
    contexts.remove(application);
    latest = null;
    if (workers != null) {
      workers.forget(application);
    }
  }

  /**
   * Returns an event bus whose calls from threads without a context, such as those of hooks, use
   * the application's context on this loop.
   */
  @Override
  public EventBus eventBus(String application) {
    EventBus bus = home().owner().eventBus();
    ContextInternal context = of(application);
    return (EventBus)
        Proxy.newProxyInstance(
            EventBus.class.getClassLoader(),
            new Class<?>[] {EventBus.class},
            (proxy, method, arguments) -> {
              boolean begins = Vertx.currentContext() == null;
              if (begins) {
                context.beginDispatch();
              }
              try {
                Object result = method.invoke(bus, arguments);
                return result == bus ? proxy : result;
              } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
              } finally {
                if (begins) {
                  context.endDispatch(null);
                }
              }
            });
  }

  @Override
  public Context context(String application) {
    return of(application);
  }

  /** Returns the dependencies of the loop's routers and replicas. */
  public LoopDependencies ports(BusSender bus, Identity identity) {
    return new LoopDependencies(
        this,
        (delay, task) -> cancelling(home().owner().setTimer(millis(delay), fired -> task.run())),
        ticks(identity.nanoClock()),
        bus,
        identity.nanoClock(),
        identity.seeded());
  }

  /** Creates a timer that belongs to this loop, whichever request or verticle arms it. */
  public TickTimer ticks(LongSupplier nanoClock) {
    return new TickTimer(
        (delay, task) -> cancelling(home().setTimer(millis(delay), fired -> task.run())),
        nanoClock);
  }

  private static long millis(long nanos) {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos + 999_999)); // rounded up
  }

  private Runnable cancelling(long timer) {
    return () -> home().owner().cancelTimer(timer);
  }

  /** Starts a part on this loop's context. Thread-safe; completes on this loop. */
  public Future<Void> deploy(Deployable part) {
    return call(() -> part.deploy(home()).mapEmpty());
  }

  /** Stops a part that was started. Thread-safe; completes on this loop. */
  public Future<Void> undeploy(Deployable part) {
    return call(() -> part.undeploy(home()).mapEmpty());
  }

  /** Runs an asynchronous step on this loop. Thread-safe; completes on this loop. */
  public <T> Future<T> call(Callable<Future<T>> step) {
    Promise<T> done = home().promise();
    execute(
        () -> {
          try {
            step.call().onComplete(done);
          } catch (Throwable thrown) { // errors too: callers must not wait for ever
            done.tryFail(thrown);
          }
        });
    return done.future();
  }

  @Override
  public String toString() {
    return name;
  }
}
