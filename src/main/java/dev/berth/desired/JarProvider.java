package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.code.JarRepository;
import dev.berth.protocol.port.LoopExecutor;
import dev.berth.view.JarCatalog;
import io.vertx.core.Future;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The jars of a repository, for other nodes and for deploys. Each call waits for the previous
 * commands. Confined to the control loop.
 *
 * @param running returns copies that code may be loaded from; null when unknown
 * @param caughtUp applies changes committed beside the commands, such as revisions removed for a
 *     jar
 */
public record JarProvider(
    CommandQueue queue,
    JarRepository jars,
    Supplier<@Nullable Set<Path>> running,
    Supplier<Future<?>> caughtUp)
    implements JarCatalog {

  /**
   * Returns a cache of jars that other nodes declared, for code that runs here. A jar stays while
   * code may be loaded from it, and for an hour after its last use. Jars of an earlier process are
   * read before use.
   *
   * @param directory for this cache alone; created with the first jar
   * @param offLoop may block
   * @param nowMs milliseconds since 1970
   */
  public static JarProvider fetched(
      Path directory,
      Executor offLoop,
      LoopExecutor control,
      Supplier<@Nullable Set<Path>> running,
      TimeOfDay nowMs) {
    JarRepository jars = new JarRepository(nowMs, nowMs::steadyMs, JarRepository.MAX_BYTES);
    jars.keepIn(directory);
    return new JarProvider(
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

  /** Removes jars that are not needed any longer, after code was unloaded. */
  public Future<Boolean> removeUnused() {
    return turn(jars::makeRoom);
  }

  /** Queues work; the connections of the servers bound the number of waiting calls. */
  <T> Future<T> turn(Callable<T> work) {
    return queue.turn(running, jars::begin, work);
  }
}
