package dev.berth.net.tls;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Files below {@code berth.secrets_dir}. Blocks on disk access. No failure contains a part of a
 * file or the path of the directory.
 */
public final class SecretFiles {
  private static final Set<PosixFilePermission> OF_OTHERS =
      EnumSet.of(
          PosixFilePermission.GROUP_WRITE,
          PosixFilePermission.OTHERS_READ,
          PosixFilePermission.OTHERS_WRITE);

  private SecretFiles() {}

  /**
   * Returns the lines of a file by their numbers from 1, without blank lines and comments, which
   * start with #. Each byte is one character.
   *
   * @param name as in {@link #below}
   * @param maxBytes maximum size of the file
   * @throws TlsFileException when the file is missing, accessible to others or too large
   */
  public static Map<Integer, String> lines(@Nullable Path directory, String name, int maxBytes) {
    Path file = below(directory, name);
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
      bytes = in.readNBytes(maxBytes + 1);
    } catch (IOException failed) {
      throw unusable(name, failed.getClass().getSimpleName(), "a readable file");
    }
    if (bytes.length > maxBytes) {
      throw unusable(name, "longer", "at most " + maxBytes + " bytes");
    }
    String[] all = new String(bytes, StandardCharsets.ISO_8859_1).split("\\r?\\n");
    Map<Integer, String> lines = new LinkedHashMap<>();
    for (int at = 0; at < all.length; at++) {
      if (!all[at].isBlank() && !all[at].startsWith("#")) {
        lines.put(at + 1, all[at]);
      }
    }
    return lines;
  }

  /**
   * Returns the path of a file that others can neither read nor write, without links.
   *
   * @param directory {@code berth.secrets_dir}; null when unset
   * @param name path of the file, relative to the directory
   * @throws TlsFileException when the file is missing, outside the directory or accessible to
   *     others
   */
  public static Path below(@Nullable Path directory, String name) {
    if (directory == null) {
      throw unusable(name, "berth.secrets_dir is not set", "its directory");
    }
    try {
      Path file = directory.resolve(name).toRealPath();
      if (!file.startsWith(directory.toRealPath()) || !Files.isRegularFile(file)) {
        throw unusable(name, "outside, or no file", "a file below berth.secrets_dir");
      }
      PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
      if (view != null) {
        Set<PosixFilePermission> wrong = EnumSet.copyOf(OF_OTHERS);
        wrong.retainAll(view.readAttributes().permissions());
        if (!wrong.isEmpty()) {
          throw unusable(name, wrong.toString().toLowerCase(Locale.ROOT), "mode 0600 or 0640");
        }
      }
      return file;
    } catch (IOException | InvalidPathException failed) {
      String what = failed.getClass().getSimpleName(); // its message has the path of the directory
      throw unusable(name, what, "a readable file below berth.secrets_dir");
    }
  }

  /** Returns the failure of a file or of one of its lines. */
  public static TlsFileException unusable(String name, String what, String expected) {
    return new TlsFileException(name, what, expected);
  }
}
