package dev.berth.upstream;

import dev.berth.api.Headers;
import dev.berth.net.tls.SecretFiles;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Files with headers of upstreams. No failure and no text of the result contains a value. */
public final class SecretHeaders {
  static final int MAX_BYTES = 64 << 10;

  /** Names without those of a connection, and those that the relay sets. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?!(connection|content-length|expect|host|keep-alive|proxy-connection|te|trailer"
              + "|transfer-encoding|upgrade|via)$)[!#$%&'*+.^_`|~0-9a-z-]+");

  private static final Pattern VALUE = Pattern.compile("[!-~]([ \\t!-~]*[!-~])?");

  private SecretHeaders() {}

  /**
   * Reads headers: lines {@code Name: value}, empty lines, and comments that start with #. Blocks
   * on disk access.
   *
   * @param name as in {@link SecretFiles#below}
   * @throws IllegalArgumentException when the file is missing, accessible to others or invalid
   */
  public static Headers read(@Nullable Path directory, String name) {
    List<String> pairs = new ArrayList<>();
    Set<String> names = new HashSet<>();
    SecretFiles.lines(directory, name, MAX_BYTES)
        .forEach(
            (number, line) -> {
              String[] parts = line.split(":", 2);
              String header = parts[0].toLowerCase(Locale.ROOT);
              String value = parts.length == 1 ? "" : parts[1].strip();
              if (!NAME.matcher(header).matches()
                  || !VALUE.matcher(value).matches()
                  || !names.add(header)) {
                String expected = "Name: value in ASCII, each name once, none of the connection";
                throw SecretFiles.unusable(name, "line " + number, expected);
              }
              pairs.addAll(List.of(header, value));
            });
    if (pairs.isEmpty()) {
      throw SecretFiles.unusable(name, "no line", "at least one line Name: value");
    }
    return Headers.of(pairs.toArray(new String[0]));
  }
}
