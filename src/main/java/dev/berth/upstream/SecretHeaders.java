package dev.berth.upstream;

import dev.berth.api.Headers;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermission;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Files with secrets of upstreams. Blocks on disk access. No failure and no text of the result
 * contains a part of a file.
 */
final class SecretHeaders {
  static final int MAX_BYTES = 64 << 10;

  /** Names without those of a connection, and those that the relay sets. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?!(connection|content-length|expect|host|keep-alive|proxy-connection|te|trailer"
              + "|transfer-encoding|upgrade|via)$)[!#$%&'*+.^_`|~0-9a-z-]+");

  private static final Pattern VALUE = Pattern.compile("[!-~]([ \\t!-~]*[!-~])?");

  private static final Set<PosixFilePermission> OF_OTHERS =
      EnumSet.of(
          PosixFilePermission.GROUP_WRITE,
          PosixFilePermission.OTHERS_READ,
          PosixFilePermission.OTHERS_WRITE);

  private SecretHeaders() {}

  /**
   * Reads headers: lines {@code Name: value}, empty lines, and comments that start with #.
   *
   * @param name as in {@link #below}
   * @throws IllegalArgumentException when the file is missing, accessible to others or invalid
   */
  static Headers read(@Nullable Path directory, String name) {
    Path file = below(directory, name);
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file, LinkOption.NOFOLLOW_LINKS)) {
      bytes = in.readNBytes(MAX_BYTES + 1);
    } catch (IOException failed) {
      throw unusable(name, failed.getClass().getSimpleName(), "a readable file");
    }
    if (bytes.length > MAX_BYTES) {
      throw unusable(name, "longer", "at most " + MAX_BYTES + " bytes");
    }
    List<String> pairs = new ArrayList<>();
    Set<String> names = new HashSet<>();
    String[] lines = new String(bytes, StandardCharsets.ISO_8859_1).split("\\r?\\n");
    for (int at = 0; at < lines.length; at++) {
      if (!lines[at].isBlank() && !lines[at].startsWith("#")) {
        String[] parts = lines[at].split(":", 2);
        String header = parts[0].toLowerCase(Locale.ROOT);
        String value = parts.length == 1 ? "" : parts[1].strip();
        if (!NAME.matcher(header).matches()
            || !VALUE.matcher(value).matches()
            || !names.add(header)) {
          String expected = "Name: value in ASCII, each name once, none of the connection";
          throw unusable(name, "line " + (at + 1), expected);
        }
        pairs.addAll(List.of(header, value));
      }
    }
    if (pairs.isEmpty()) {
      throw unusable(name, "no line", "at least one line Name: value");
    }
    return Headers.of(pairs.toArray(new String[0]));
  }

  /**
   * Returns the path of a file that others can neither read nor write, without links.
   *
   * @param directory {@code berth.secrets_dir}; null when unset
   * @param name path of the file, relative to the directory
   * @throws IllegalArgumentException when the file is missing, outside the directory or accessible
   *     to others
   */
  static Path below(@Nullable Path directory, String name) {
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

  private static IllegalArgumentException unusable(String name, String what, String expected) {
    return new IllegalArgumentException(name + ": " + what + " (expected: " + expected + ")");
  }
}
