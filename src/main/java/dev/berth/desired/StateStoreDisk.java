package dev.berth.desired;

import dev.berth.code.PrivateFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A directory on a disk, locked while it is open. Only its owner may read its files, since entries
 * may contain secrets.
 */
record StateStoreDisk(Path directory, FileChannel lock) implements StateStoreFiles {
  private static final String LOCK = "lock";

  /**
   * Creates the directory when it is missing, and locks it.
   *
   * @return null when another instance holds it
   */
  static @Nullable StateStoreDisk hold(Path directory) throws IOException {
    PrivateFiles.createDirectories(directory);
    FileChannel channel = written(directory.resolve(LOCK));
    try {
      FileLock held = channel.tryLock();
      if (held != null) {
        return new StateStoreDisk(directory, channel);
      }
    } catch (OverlappingFileLockException here) {
      // locked by this process, which counts as another instance
    } catch (IOException failed) {
      channel.close();
      throw failed;
    }
    channel.close();
    return null;
  }

  private static FileChannel written(Path file) throws IOException {
    Set<OpenOption> made = Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    return FileChannel.open(file, made, PrivateFiles.ownerOnly());
  }

  @Override
  public List<String> list() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .filter(Files::isRegularFile)
          .map(file -> file.getFileName().toString())
          .sorted()
          .toList();
    }
  }

  @Override
  public byte[] read(String name) throws IOException {
    return Files.readAllBytes(directory.resolve(name));
  }

  @Override
  public String path(String name) {
    return directory.resolve(name).toString();
  }

  @Override
  public StateFileOutput open(String name) throws IOException {
    FileChannel channel = written(directory.resolve(name));
    return new StateFileOutput() {
      @Override
      public void write(ByteBuffer bytes, long position) throws IOException {
        long at = position;
        while (bytes.hasRemaining()) {
          at += channel.write(bytes, at);
        }
      }

      @Override
      public void truncate(long size) throws IOException {
        channel.truncate(size);
      }

      @Override
      public void force() throws IOException {
        channel.force(false); // the file size is written all the same
      }

      @Override
      public void close() throws IOException {
        channel.close();
      }
    };
  }

  @Override
  public void rename(String from, String to) throws IOException {
    Files.move(
        directory.resolve(from),
        directory.resolve(to),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
  }

  @Override
  public void delete(String name) throws IOException {
    Files.deleteIfExists(directory.resolve(name));
  }

  @Override
  public long room() {
    try {
      return Files.getFileStore(directory).getUsableSpace();
    } catch (IOException unknown) {
      return Long.MAX_VALUE;
    }
  }

  @Override
  public void forceNames() throws IOException {
    PrivateFiles.forceNames(directory);
  }

  @Override
  public void close() throws IOException {
    lock.close(); // releases the lock
  }
}
