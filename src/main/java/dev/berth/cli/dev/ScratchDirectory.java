package dev.berth.cli.dev;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Objects;

/**
 * Temporary directory of one {@code berth dev}, and the lock of the folder that it serves. The
 * operating system releases the lock with the process.
 *
 * @param path the directory, which only this user can read; removed on close
 */
public record ScratchDirectory(Path path, FileChannel lock) implements AutoCloseable {

  /**
   * Locks the folder of a file.
   *
   * @throws IOException when another process has the lock
   */
  public static ScratchDirectory lock(Path file) throws IOException {
    Path folder = Objects.requireNonNull(file.toAbsolutePath().getParent()).toRealPath();
    String name = System.getProperty("user.name") + Integer.toHexString(folder.hashCode());
    FileChannel lock =
        FileChannel.open(
            Path.of(System.getProperty("java.io.tmpdir"), "berth-dev-" + name + ".lock"),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE,
            LinkOption.NOFOLLOW_LINKS);
    try {
      if (lock.tryLock() != null) {
        lock.truncate(0).write(StandardCharsets.UTF_8.encode("" + ProcessHandle.current().pid()));
        return new ScratchDirectory(Files.createTempDirectory("berth-dev-"), lock);
      }
    } catch (OverlappingFileLockException here) {
      // Another command of this process has the lock.
    }
    ByteBuffer pid = ByteBuffer.allocate(20);
    lock.read(pid, 0);
    lock.close();
    String process = StandardCharsets.UTF_8.decode(pid.flip()).toString();
    throw new IOException(
        folder + ": process " + process + " is a berth dev of this folder (expected: one)");
  }

  @Override
  public void close() throws IOException {
    DevelopmentLoop.delete(path);
    lock.close();
  }
}
