package dev.berth.replica;

import dev.berth.api.ReplicaHandler;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The handlers of one replica, one for each of its seats, as the hooks reach them: in the order of
 * the seats, in a context that may block, with the class loader of the user's code.
 */
final class ReplicaHooks {
  /** How long the stop hooks of a replica may take, from when they begin. */
  static final long STOP_HOOK_NANOS = TimeUnit.SECONDS.toNanos(10);

  private interface Hook {
    void call(ReplicaHandler handler) throws Exception;
  }

  private final List<ReplicaHandler> handlers = new CopyOnWriteArrayList<>();
  private final Object stopLock = new Object();
  private @Nullable Thread stopping; // under the lock, while it runs user code
  private long interruptNanos; // when it is interrupted, under the lock
  private volatile boolean stopBegan;
  private volatile boolean checked; // one of them has a hook of its own for its health

  /** A handler was made; what follows concerns it too. */
  void add(ReplicaHandler handler) {
    handlers.add(handler);
    checked |= checksItself(handler);
  }

  private static boolean checksItself(ReplicaHandler handler) {
    try {
      return handler.getClass().getMethod("checkHealth").getDeclaringClass()
          != ReplicaHandler.class;
    } catch (NoSuchMethodException | LinkageError strange) {
      return true; // then it is called, whatever it is
    }
  }

  /** Whether a check of their health runs any user code. */
  boolean checkHealthDoesSomething() {
    return checked;
  }

  void start() throws Exception {
    each(ReplicaHandler::start, false);
  }

  void reconfigure(Map<String, Object> userConfig) throws Exception {
    each(handler -> handler.reconfigure(userConfig), false);
  }

  void checkHealth() throws Exception {
    each(ReplicaHandler::checkHealth, false);
  }

  /** Stops every handler, whatever one of them throws, and lets go of them. */
  void stop(long nowNanos) throws Exception {
    synchronized (stopLock) {
      stopping = Thread.currentThread();
      interruptNanos = nowNanos + STOP_HOOK_NANOS;
    }
    stopBegan = true;
    try {
      each(ReplicaHandler::stop, true);
    } finally {
      handlers.clear();
      synchronized (stopLock) {
        stopping = null;
      }
      Thread.interrupted(); // whatever interrupted this is over with it
    }
  }

  /** Whether they were told to stop, and not only wait for a thread that tells them. */
  boolean stopBegan() {
    return stopBegan;
  }

  /** Whether one of them is being stopped now. */
  boolean isStopping() {
    synchronized (stopLock) {
      return stopping != null;
    }
  }

  /**
   * Interrupts a stop that takes too long; again each time that this is over, for there may be
   * several handlers.
   *
   * @return whether it was interrupted now
   */
  boolean interruptLateStop(long nowNanos) {
    synchronized (stopLock) {
      if (stopping == null || nowNanos - interruptNanos < 0) {
        return false;
      }
      interruptNanos = nowNanos + STOP_HOOK_NANOS;
      stopping.interrupt();
      return true;
    }
  }

  /**
   * Calls one after the other, and throws what the first of them threw.
   *
   * @param all whether the others are called all the same; what they throw is added
   */
  private void each(Hook hook, boolean all) throws Exception {
    Throwable first = null;
    for (ReplicaHandler handler : handlers) {
      try {
        if (first == null || all) {
          UnderLoader.call(
              handler.getClass().getClassLoader(),
              () -> {
                hook.call(handler);
                return null;
              });
        }
      } catch (Throwable thrown) { // user code
        if (first == null) {
          first = thrown;
        } else if (first != thrown) {
          first.addSuppressed(thrown);
        }
      }
    }
    if (first instanceof Exception failed) {
      throw failed;
    } else if (first instanceof Error failed) {
      throw failed;
    }
  }
}
