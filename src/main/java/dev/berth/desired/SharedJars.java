package dev.berth.desired;

import dev.berth.code.Jar;
import dev.berth.config.ApplicationConfig;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.protocol.port.JarShelf;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The jars of what is declared, for other nodes and for who is about to declare something: what is
 * asked waits for the commands before it. Belongs to the control loop.
 *
 * @param running copies that code may be loaded from; null when that is not known
 * @param caughtUp applies what was committed beside the commands: what gave way to a jar
 */
public record SharedJars(
    CommandQueue queue,
    KeptJars jars,
    Supplier<@Nullable Set<Path>> running,
    Supplier<Future<?>> caughtUp)
    implements JarShelf {

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

  /** What another node needs to build the code of an application. */
  public Future<BuildSource> source(ApplicationConfig config) {
    return turn(
        () -> new BuildSource(new JsonObject(config.portable()).encode(), files(config.jars())));
  }

  private List<JarFile> files(List<Path> paths) throws IOException {
    jars.requireWhole(paths); // else a node is sent for what no node has
    List<Jar> identified = jars.identify(paths);
    List<JarFile> files = new ArrayList<>();
    for (int at = 0; at < paths.size(); at++) {
      Jar jar = identified.get(at);
      files.add(new JarFile(jar.name(), jar.digest(), Files.size(paths.get(at))));
    }
    return files;
  }

  /** There are at most as many at a time as the servers have connections. */
  private <T> Future<T> turn(Callable<T> work) {
    return queue.turn(running, jars::begin, work);
  }
}
