package dev.berth.node.loops;

import dev.berth.api.RequestContext;
import dev.berth.protocol.port.BusSender;
import dev.berth.protocol.port.Loop;
import dev.berth.protocol.port.LoopPorts;
import dev.berth.replica.hooks.ApplicationWorkers;
import io.netty.channel.EventLoop;
import io.vertx.core.Context;
import io.vertx.core.Deployable;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.impl.VertxThread;
import io.vertx.core.internal.ContextInternal;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One event loop of the instance, and the one context of everything on it. Vert.x hands out loops
 * in the order of deployments, so parts that belong together are not deployed next to one another
 * but here.
 */
public final class LoopVerticle extends VerticleBase implements Loop {
  /** The context of an application's requests, with the worker pool of the application. */
  private record OwnContext(String application, ContextInternal context) {}

  private final String name;
  private final @Nullable ApplicationWorkers workers; // null: no user code runs here
  private final Map<String, OwnContext> contexts = new ConcurrentHashMap<>(); // by application
  private volatile @Nullable OwnContext latest; // spares most requests the look-up
  private boolean namesRequests; // written before home
  private volatile @Nullable ContextInternal home;
  private volatile @Nullable Thread thread;

  /**
   * @param name for messages
   */
  public LoopVerticle(String name) {
    this(name, null);
  }

  /**
   * @param workers give requests of an application that run here its own worker pool
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

  /** Its context, once it is deployed. Any thread. */
  public ContextInternal home() {
    return Objects.requireNonNull(home, "home: null (expected: a deployed loop)");
  }

  public EventLoop nettyLoop() {
    return home().nettyEventLoop();
  }

  /** What its thread does now; empty when it was not deployed. Any thread. */
  public StackTraceElement[] stackTrace() {
    Thread own = thread;
    return own == null ? new StackTraceElement[0] : own.getStackTrace();
  }

  /** Returns the request that its thread works for now; null for none, or unknown. Thread-safe. */
  @Nullable RequestContext request() {
    try {
      Field context =
          VertxThread.class.getDeclaredField("context"); // Vert.x shows it to its thread
      context.setAccessible(true);
      Context at = (Context) context.get(thread);
      return at == null || !namesRequests ? null : RequestLocal.get(at);
    } catch (ReflectiveOperationException | RuntimeException another) { // Vert.x
      return null;
    }
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
    ContextInternal now = ContextInternal.current(); // else than a duplicate it is everybody's
    if (now != null && now.isDuplicate() && (request == null || !isOf(now, request))) {
      (request == null ? home().duplicate() : context(request)).beginDispatch(); // ends with now
    }
  }

  private boolean isOf(ContextInternal context, RequestContext request) {
    return namesRequests && RequestLocal.get(context) == request;
  }

  /** A context for a request alone, beside those of its application's other requests. */
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
      if (contexts.get(application) != own) { // forgotten meanwhile, with its worker pool
        latest = null;
      }
    }
    return own.context;
  }

  /** Nothing of an application is left. */
  void forget(String application) {
    contexts.remove(application);
    latest = null;
    if (workers != null) {
      workers.forget(application);
    }
  }

  /** What its routers and replicas are given. */
  public LoopPorts ports(BusSender bus, Identity identity) {
    return new LoopPorts(this, this::startTimer, bus, identity.nanoClock(), identity.seeded());
  }

  private Runnable startTimer(long delayNanos, Runnable task) {
    Vertx vertx = home().owner();
    long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(delayNanos + 999_999)); // up, not down
    long id = vertx.setTimer(millis, fired -> task.run());
    return () -> vertx.cancelTimer(id);
  }

  /** Starts a part on this loop's context. Any thread; completes on this loop. */
  public Future<Void> deploy(Deployable part) {
    return call(() -> part.deploy(home()).mapEmpty());
  }

  /** Stops a part that was started. */
  public Future<Void> undeploy(Deployable part) {
    return call(() -> part.undeploy(home()).mapEmpty());
  }

  /** Begins something on this loop. Thread-safe; completes on this loop. */
  public <T> Future<T> call(Callable<Future<T>> step) {
    Promise<T> done = home().promise();
    execute(
        () -> {
          try {
            step.call().onComplete(done);
          } catch (Throwable thrown) { // an error too: whoever waits must not wait for ever
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
