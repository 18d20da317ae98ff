package dev.berth.code;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/** Files of the state. Only their owner may read them, because entries may contain secrets. */
public final class PrivateFiles {
  private static final boolean POSIX =
      FileSystems.getDefault().supportedFileAttributeViews().contains("posix");

  private PrivateFiles() {}

  /** Creates a directory and its parents, accessible only to their owner. */
  public static void createDirectories(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      Files.createDirectories(directory, permissions("rwx------"));
    }
  }

  /** Returns the attributes of a new file. */
  public static FileAttribute<?>[] ownerOnly() {
    return permissions("rw-------");
  }

  private static FileAttribute<?>[] permissions(String text) {
    return POSIX
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(text))
        }
        : new FileAttribute<?>[0];
  }

  /** Forces the content of a file to disk. */
  public static void force(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.force(true);
    }
  }

  /**
   * Forces the entries of a directory to disk. Does nothing on systems that cannot open a
   * directory, which do not need it.
   */
  public static void forceNames(Path directory) throws IOException {
    FileChannel channel;
    try {
      channel = FileChannel.open(directory, StandardOpenOption.READ);
    } catch (NoSuchFileException gone) {
      throw gone;
    } catch (IOException notHere) {
      return;
    }
    try (channel) {
      channel.force(true);
    }
  }
}
