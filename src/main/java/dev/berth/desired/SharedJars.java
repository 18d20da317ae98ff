package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.code.JarRepository;
import dev.berth.protocol.port.Loop;
import dev.berth.view.JarShelf;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The jars of a repository, for other nodes and for who is about to declare something: what is
 * asked waits for the commands before it. Belongs to the control loop.
 *
 * @param running copies that code may be loaded from; null when that is not known
 * @param caughtUp applies what was committed beside the commands: what gave way to a jar
 */
public record SharedJars(
    CommandQueue queue,
    JarRepository jars,
    Supplier<@Nullable Set<Path>> running,
    Supplier<Future<?>> caughtUp)
    implements JarShelf {

  /**
   * Returns the jars of what is declared on another node, for what runs here: one stays while code
   * may be loaded from it, and for an hour after it was asked for. What an earlier process left is
   * read before it is used.
   *
   * @param directory for nothing else; made when there is something to keep
   * @param offLoop may block
   * @param nowMs milliseconds since 1970
   */
  public static SharedJars fetched(
      Path directory,
      Executor offLoop,
      Loop control,
      Supplier<@Nullable Set<Path>> running,
      TimeOfDay nowMs) {
    JarRepository jars = new JarRepository(nowMs, nowMs::steadyMs, JarRepository.MAX_BYTES);
    jars.keepIn(directory);
    return new SharedJars(
        new CommandQueue(offLoop, control), jars, running, Future::succeededFuture);
  }

  @Override
  public Future<@Nullable Path> find(String sha256) {
    return turn(() -> jars.find(sha256));
  }

  @Override
  public Future<Path> begin(long bytes) {
    return turn(() -> jars.begin(bytes));
  }

  @Override
  public Future<Void> take(Path written, String name, String sha256) {
    return this.<Void>turn(
            () -> {
              jars.take(written, new Jar(name, sha256));
              return null;
            })
        .eventually(caughtUp::get);
  }

  /** Code was let go of: what nothing needs any more goes. */
  public Future<Boolean> removeUnused() {
    return turn(jars::makeRoom);
  }

  /** There are at most as many at a time as the servers have connections. */
  <T> Future<T> turn(Callable<T> work) {
    return queue.turn(running, jars::begin, work);
  }
}
