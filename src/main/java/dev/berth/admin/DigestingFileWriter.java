package dev.berth.admin;

import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.JarCatalog;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.WorkerExecutor;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A file that is written from streams, one after another, and whose SHA-256 is computed. Worker
 * threads write one block at a time, during which the stream is paused. Confined to the event loop
 * of the streams.
 */
public final class DigestingFileWriter {
  static final int BLOCK_BYTES = 256 << 10;

  /** Threads that write jars, so that a hanging disk blocks nothing else. */
  private static final int DISK_THREADS = 4;

  /** Failure of the disk to store more bytes. */
  public static final class DiskFailure extends IOException {
    private static final long serialVersionUID = 1;

    DiskFailure(IOException failed) {
      super("cannot be written: " + failed.getMessage(), failed);
    }
  }

  private final WorkerExecutor disk;
  private final MessageDigest digest;
  private final OutputStream out;
  private @Nullable StreamAppender appending; // the last stream
  private long bytes;

  private DigestingFileWriter(WorkerExecutor disk, Path path) throws IOException {
    this.disk = disk;
    this.digest = sha256();
    this.out = new DigestOutputStream(Files.newOutputStream(path), digest);
  }

  /**
   * Stores a jar if its content has the expected digest.
   *
   * @param jars provides the path of the file, and stores it
   * @param fill appends the whole content
   */
  public static Future<Void> keep(
      Vertx vertx, JarCatalog jars, JarFile jar, Function<DigestingFileWriter, Future<Void>> fill) {
    WorkerExecutor disk = vertx.createSharedWorkerExecutor("berth-jars", DISK_THREADS);
    return jars.begin(jar.bytes())
        .compose(
            path ->
                disk.executeBlocking(() -> new DigestingFileWriter(disk, path), false)
                    .compose(
                        file ->
                            fill.apply(file)
                                .eventually(file::close)
                                .map(filled -> HexFormat.of().formatHex(file.digest.digest())))
                    .compose(
                        digest ->
                            digest.equals(jar.sha256())
                                ? jars.take(path, jar.name(), digest)
                                : Future.failedFuture(another(digest, jar.sha256())))
                    .recover(
                        failed ->
                            disk.executeBlocking(() -> Files.deleteIfExists(path), false)
                                .transform(deleted -> Future.failedFuture(failed))))
        .onComplete(done -> disk.close());
  }

  private static CommandRejectedException another(String digest, String expected) {
    return CommandRejectedException.invalid(
        "the received jar has sha256 %s (expected: %s)", digest, expected);
  }

  public static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) { // every JDK has it
      throw new IllegalStateException(impossible);
    }
  }

  /** Returns the number of bytes written. */
  public long bytes() {
    return bytes;
  }

  /**
   * Appends the content of a stream.
   *
   * @param from the stream, paused
   * @return fails when the stream fails, after all received bytes were written, or when the disk
   *     fails
   */
  public Future<Void> append(ReadStream<Buffer> from) {
    StreamAppender one = new StreamAppender(from);
    appending = one;
    from.handler(one::piece).exceptionHandler(one::end).endHandler(ended -> one.end(null));
    from.resume();
    return one.all.future();
  }

  /** Stops appending, which fails with this cause. */
  void giveUp(Throwable why) {
    if (appending != null) {
      appending.end(why);
    }
  }

  private Future<Void> close() {
    return disk.executeBlocking(
        () -> {
          out.close();
          return null;
        },
        false);
  }

  private Future<Void> write(Buffer block) {
    return disk.<Void>executeBlocking(
            () -> {
              try {
                out.write(block.getBytes());
              } catch (IOException failed) {
                throw new DiskFailure(failed);
              }
              return null;
            },
            false)
        .onSuccess(written -> bytes += block.length());
  }

  /** A stream being appended. */
  private final class StreamAppender {
    final Promise<Void> all = Promise.promise();
    private final ReadStream<Buffer> from;
    private Buffer block = Buffer.buffer();
    private Future<Void> writing = Future.succeededFuture();

    StreamAppender(ReadStream<Buffer> from) {
      this.from = from;
    }

    void piece(Buffer piece) {
      block.appendBuffer(piece);
      if (block.length() >= BLOCK_BYTES && writing.isComplete()) {
        from.pause();
        writeBlock().onSuccess(written -> from.resume()).onFailure(all::tryFail);
      }
    }

    private Future<Void> writeBlock() {
      Buffer full = block;
      block = Buffer.buffer();
      writing = writing.compose(before -> write(full));
      return writing;
    }

    void end(@Nullable Throwable failed) {
      writeBlock()
          .<Void>compose(
              written -> failed == null ? Future.succeededFuture() : Future.failedFuture(failed))
          .onComplete(all::tryComplete, all::tryFail);
    }
  }
}
