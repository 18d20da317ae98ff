package dev.berth.config;

import dev.berth.config.keys.Problem;
import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a start has to know of the file that it reads, beside what that says.
 *
 * @param uri {@code file://host/real/path}; null when there is no file, or when settings change
 *     what it says of applications, so that what is submitted is not what the file says
 * @param namesApplications whether it has the key {@code applications}, be it an empty list
 * @param refused entries that are not among the applications, since something is wrong with them
 */
public record Origin(@Nullable String uri, boolean namesApplications, List<Refused> refused) {
  /** Of a URI: it is sent in a header. */
  public static final int MOST_CHARS = 4_096;

  private static final Path KERNELS_HOST = Path.of("/proc/sys/kernel/hostname");

  /**
   * An entry of {@code applications} that cannot be used.
   *
   * @param name null when that cannot be read either
   */
  public record Refused(@Nullable String name, List<Problem> problems) {}

  public Origin {
    refused = List.copyOf(refused);
  }

  /** Null when settings speak of applications, or when the file cannot be found any more. */
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
      return uri.length() > MOST_CHARS ? null : uri;
    } catch (IOException | URISyntaxException unknown) {
      return null;
    }
  }

  private static String host() throws IOException {
    return Files.isReadable(KERNELS_HOST)
        ? Files.readString(KERNELS_HOST).strip() // without asking a name server
        : InetAddress.getLocalHost().getHostName();
  }
}
