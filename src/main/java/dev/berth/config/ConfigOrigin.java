package dev.berth.config;

import dev.berth.config.keys.ConfigProblem;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Facts about the configuration file that its content does not show, used at start.
 *
 * @param uri {@code file://host/real/path}. Null without a file, and when settings change its
 *     applications or target capacity, because the submitted text then differs from the file.
 * @param namesApplications whether the file has the key {@code applications}, even with an empty
 *     list
 * @param refused invalid entries, which are missing from the applications
 */
public record ConfigOrigin(
    @Nullable String uri, boolean namesApplications, List<RefusedEntry> refused) {
  /** Maximum length of a URI in characters, because the URI is sent in a header. */
  public static final int MAX_URI_CHARS = 4_096;

  private static final Path KERNELS_HOST = Path.of("/proc/sys/kernel/hostname");

  /**
   * An invalid entry of {@code applications}.
   *
   * @param name null when the name is invalid too
   */
  public record RefusedEntry(@Nullable String name, List<ConfigProblem> problems) {}

  public ConfigOrigin {
    refused = List.copyOf(refused);
  }

  /**
   * Returns the URI of a file; null when settings change applications or the target capacity, or
   * when the file is no longer accessible.
   */
  static @Nullable String uri(Path file, List<Setting> settings) {
    for (Setting setting : settings) {
      if (setting.key().startsWith(ServeConfig.APPLICATIONS.name())
          || setting.key().startsWith(ServeConfig.TARGET_CAPACITY.name())) {
        return null;
      }
    }
    try {
      String path = file.toRealPath().toUri().getPath();
      String uri = new URI("file", host(), path, null).toASCIIString();
      return uri.length() > MAX_URI_CHARS ? null : uri;
    } catch (IOException | URISyntaxException unknown) {
      return null;
    }
  }

  private static String host() throws IOException {
    return Files.isReadable(KERNELS_HOST)
        ? Files.readString(KERNELS_HOST).strip() // avoids a DNS query
        : InetAddress.getLocalHost().getHostName();
  }
}
