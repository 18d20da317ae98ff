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

/** Files of the state, which their owner alone may read: entries may hold secrets. */
public final class PrivateFiles {
  private static final boolean POSIX =
      FileSystems.getDefault().supportedFileAttributeViews().contains("posix");

  private PrivateFiles() {}

  /** Makes a directory, and those around it, for their owner alone. */
  public static void createDirectories(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      Files.createDirectories(directory, permissions("rwx------"));
    }
  }

  /** Returns the attribute of a new file. */
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

  /** Not every system lets a directory be opened; those that do not need not be told. */
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
