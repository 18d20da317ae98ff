import java.nio.file.Path;
import java.util.Optional;

/** A server to start, under a key that rows name it by. */
sealed interface ServerSpec {
  String key();

  /** Berth with a configuration. */
  record Berth(String key, Configuration configuration) implements ServerSpec {}

  /**
   * {@link RawServer}.
   *
   * @param kind of RawServer
   * @param playsBack the key of the server whose answer it gives, and the path of that
   */
  record Raw(
      String key, String kind, int loops, String playsBack, String path, Optional<Path> certificate)
      implements ServerSpec {}
}
