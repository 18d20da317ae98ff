package dev.berth.cluster.http;

import dev.berth.admin.DigestedFile;
import dev.berth.protocol.BuildSource.JarFile;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpHeaders;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Jars that the control node keeps, in a directory of this node, by their SHA-256: each is fetched
 * once for all who ask for it, goes on where it broke off, and is what it says it is. Those that
 * were used longest ago go for others. Nothing of it is forced to the disk: what an earlier process
 * left is read before it is used. Belongs to the control loop.
 *
 * <pre>
 *   SHA256.jar  whole and right when it was put there; its time is that of its last use
 *   SHA256.tmp  on its way
 * </pre>
 */
public final class JarCache {
  /** Bytes of all jars together, unless something else is said. */
  public static final long MOST_BYTES = 8L << 30;

  /** Jars that are fetched at a time; the others wait. */
  static final int MOST_FETCHES = 4;

  /** One that was used more lately stays: whoever asked for it may not have opened it yet. */
  static final long FRESH_MS = 60_000;

  private final Vertx vertx;
  private final Path directory;
  private final long mostBytes;
  private final LongSupplier nowMs;
  private final Supplier<Set<Path>> inUse;
  private final ControlNode control;
  private final Map<String, Future<Path>> asked = new HashMap<>(); // by digest
  private final Set<String> checked = new HashSet<>(); // that are right, by digest
  private final Deque<Promise<Void>> waiting = new ArrayDeque<>();
  private int fetching;

  /**
   * @param directory for nothing else; made when there is something to keep
   * @param mostBytes of all jars together
   * @param nowMs milliseconds since 1970
   * @param inUse jars that code may be loaded from; control loop
   */
  public JarCache(
      Vertx vertx,
      Path directory,
      long mostBytes,
      LongSupplier nowMs,
      Supplier<Set<Path>> inUse,
      ControlNode control) {
    this.vertx = vertx;
    this.directory = directory;
    this.mostBytes = mostBytes;
    this.nowMs = nowMs;
    this.inUse = inUse;
    this.control = control;
  }

  /**
   * Where a jar lies, for at least a minute, or as long as it is in use.
   *
   * @return fails with what says of which jar what failed
   */
  Future<Path> get(JarFile jar) {
    Future<Path> known = asked.get(jar.sha256());
    if (known != null) {
      return known;
    }
    Promise<Path> got = Promise.promise();
    asked.put(jar.sha256(), got.future()); // before anything, which may be over at once
    boolean right = checked.contains(jar.sha256());
    offLoop(() -> find(jar, right))
        .compose(there -> there == null ? inTurn(() -> fetch(jar)) : Future.succeededFuture(there))
        .onSuccess(path -> checked.add(jar.sha256()))
        .recover(failed -> failed(jar, failed))
        .onComplete(over -> asked.remove(jar.sha256()))
        .onComplete(got);
    return got.future();
  }

  private <T> Future<T> offLoop(Callable<T> work) {
    return vertx.executeBlocking(work, false);
  }

  private static Future<Path> failed(JarFile jar, Throwable failed) {
    return Future.failedFuture(
        new CodeRefused(
            "jar %s (sha256 %s): %s".formatted(jar.name(), jar.sha256(), PeerClient.why(failed))));
  }

  private Path path(JarFile jar) {
    return directory.resolve(jar.sha256() + ".jar");
  }

  private @Nullable Path find(JarFile jar, boolean right) throws IOException {
    Path path = path(jar);
    if (!Files.exists(path)) {
      return null;
    }
    if (!right && !DigestedFile.digestOf(path).equals(jar.sha256())) {
      Files.delete(path);
      return null;
    }
    Files.setLastModifiedTime(path, FileTime.fromMillis(nowMs.getAsLong()));
    return path;
  }

  private <T> Future<T> inTurn(Supplier<Future<T>> fetch) {
    Promise<Void> turn = Promise.promise();
    waiting.add(turn);
    next();
    return turn.future()
        .compose(begun -> fetch.get())
        .onComplete(
            over -> {
              fetching--;
              next();
            });
  }

  private void next() {
    Promise<Void> turn = fetching < MOST_FETCHES ? waiting.poll() : null;
    if (turn != null) {
      fetching++;
      turn.complete();
    }
  }

  // --- fetch ---

  private Future<Path> fetch(JarFile jar) {
    Path writing = directory.resolve(jar.sha256() + ".tmp");
    Set<Path> used = inUse.get();
    Set<String> under = Set.copyOf(asked.keySet());
    return offLoop(
            () -> {
              removeLeft(under);
              makeRoom(jar.bytes(), used);
              return writing;
            })
        .compose(made -> DigestedFile.create(vertx, writing))
        .compose(file -> fetch(jar, file))
        .compose(digest -> offLoop(() -> place(jar, digest, writing)))
        .recover( // whoever asks again writes to the same file
            failed ->
                offLoop(() -> Files.deleteIfExists(writing))
                    .transform(deleted -> Future.failedFuture(failed)));
  }

  /** What an earlier process did not end. */
  private void removeLeft(Set<String> underWay) throws IOException {
    Files.createDirectories(directory);
    for (Path file : files(".tmp")) {
      if (!underWay.contains(file.getFileName().toString().replace(".tmp", ""))) {
        Files.deleteIfExists(file);
      }
    }
  }

  private List<Path> files(String end) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(end)).toList();
    }
  }

  private void makeRoom(long bytes, Set<Path> used) throws IOException {
    List<Path> kept = files(".jar");
    long size = bytes;
    for (Path file : kept) {
      size += Files.size(file);
    }
    long stale = nowMs.getAsLong() - FRESH_MS;
    List<Path> oldestFirst =
        kept.stream()
            .filter(file -> !used.contains(file) && lastUsed(file) <= stale)
            .sorted(Comparator.comparingLong(JarCache::lastUsed))
            .toList();
    for (Path file : oldestFirst) {
      if (size > mostBytes || directory.toFile().getUsableSpace() < bytes) {
        size -= Files.size(file);
        Files.delete(file);
      }
    }
    if (size > mostBytes) {
      throw new IOException(
          "%s would hold %s bytes (expected: at most %s)".formatted(directory, size, mostBytes));
    }
  }

  private static long lastUsed(Path file) {
    return file.toFile().lastModified();
  }

  private Future<String> fetch(JarFile jar, DigestedFile file) {
    Future<Void> whole =
        control.again(
            () -> file.bytes() == jar.bytes() ? Future.succeededFuture() : ask(jar, file),
            failed -> !(failed instanceof DigestedFile.DiskFailure));
    return whole
        .recover(failed -> file.close().compose(digest -> Future.failedFuture(failed)))
        .compose(there -> file.close());
  }

  private Future<Void> ask(JarFile jar, DigestedFile file) {
    return control
        .send("/api/v1/jars/" + jar.sha256(), "Range", "bytes=" + file.bytes() + "-")
        .compose(response -> take(response, jar.bytes() - file.bytes(), file));
  }

  private Future<Void> take(HttpClientResponse response, long left, DigestedFile file) {
    String length = response.getHeader(HttpHeaders.CONTENT_LENGTH);
    boolean expected = response.statusCode() == 206 && Long.toString(left).equals(length);
    Future<Void> taken =
        expected
            ? file.append(response)
            : Future.failedFuture(
                control.unexpected(response, left + " bytes, and " + length + " come"));
    return taken.onFailure(failed -> response.request().reset());
  }

  private Path place(JarFile jar, String digest, Path written) throws IOException {
    if (!digest.equals(jar.sha256())) {
      throw new IOException("what came has sha256 " + digest + " (expected: its own)");
    }
    Files.setLastModifiedTime(written, FileTime.fromMillis(nowMs.getAsLong()));
    return Files.move(written, path(jar), StandardCopyOption.ATOMIC_MOVE);
  }
}
