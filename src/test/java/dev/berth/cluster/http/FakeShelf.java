package dev.berth.cluster.http;

import dev.berth.code.ContentAddressedJars;
import dev.berth.view.JarCatalog;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** Jars in a map. */
final class FakeShelf implements JarCatalog {
  static final int JAR_BYTES = 700_000;

  final Map<String, Path> kept = new ConcurrentHashMap<>(); // by digest
  final List<String> names = new CopyOnWriteArrayList<>(); // of those that were taken
  volatile @Nullable IOException full;
  private final Path folder;

  FakeShelf(Path folder) {
    this.folder = folder;
  }

  /** Writes a jar, of which a number says what is in it. */
  static Path jar(Path file, int seed) throws IOException {
    byte[] bytes = new byte[JAR_BYTES];
    new Random(seed).nextBytes(bytes);
    Files.createDirectories(file.getParent());
    return Files.write(file, bytes);
  }

  static String digest(Path jar) throws IOException {
    return String.valueOf(new ContentAddressedJars().add(jar));
  }

  @Override
  public Future<@Nullable Path> find(String sha256) {
    return Future.succeededFuture(kept.get(sha256));
  }

  /** Where the next one is written. */
  Path next() {
    return folder.resolve("taken-" + names.size() + ".jar");
  }

  @Override
  public Future<Path> begin(long bytes) {
    IOException failed = full;
    return failed == null ? Future.succeededFuture(next()) : Future.failedFuture(failed);
  }

  @Override
  public Future<Void> take(Path written, String name, String sha256) {
    kept.put(sha256, written);
    names.add(name);
    return Future.succeededFuture();
  }
}
