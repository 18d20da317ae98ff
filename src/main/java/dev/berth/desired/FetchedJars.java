package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.protocol.port.JarShelf;
import dev.berth.protocol.port.Loop;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Jars of what is declared on another node, for what runs here: one stays while code may be loaded
 * from it, and for an hour after it was asked for. What an earlier process left is read before it
 * is used. Belongs to the control loop.
 */
public final class FetchedJars implements JarShelf {
  private final CommandQueue queue;
  private final JarStore store;
  private final Supplier<Set<Path>> running;
  private final TimeOfDay nowMs;
  private Set<Path> used = Set.of(); // when the task under way began

  /**
   * @param directory for nothing else; made when there is something to keep
   * @param offLoop may block
   * @param running jars that code may be loaded from
   * @param nowMs milliseconds since 1970
   */
  public FetchedJars(
      Path directory,
      Executor offLoop,
      Loop control,
      Supplier<Set<Path>> running,
      TimeOfDay nowMs) {
    this.queue = new CommandQueue(offLoop, control);
    this.store = JarStore.in(directory, new JarDigests(nowMs), JarStore.MOST_BYTES);
    this.running = running;
    this.nowMs = nowMs;
  }

  @Override
  public Future<@Nullable Path> find(String sha256) {
    return turn(() -> store.find(sha256, nowMs.steadyMs()));
  }

  @Override
  public Future<Path> begin(long bytes) {
    return turn(() -> store.begin(bytes, this::makeRoom));
  }

  @Override
  public Future<Void> take(Path written, String name, String sha256) {
    return turn(
        () -> {
          store.take(written, new Jar(name, sha256), this::makeRoom, nowMs.steadyMs());
          return null;
        });
  }

  /** Code was let go of: what nothing needs any more goes. */
  public void removeUnused() {
    turn(this::makeRoom);
  }

  private boolean makeRoom() {
    store.removeUnused(used, nowMs.steadyMs());
    return false; // there is nothing more
  }

  private <T> Future<T> turn(Callable<T> work) {
    return queue.turn(running, now -> used = now, work);
  }
}
