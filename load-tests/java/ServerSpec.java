import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/** A server to start, under a key that rows name it by. */
sealed interface ServerSpec {
  String key();

  /**
   * Berth with a configuration.
   *
   * @param before of the jar that this one is compared with
   */
  record Berth(String key, Configuration configuration, boolean before) implements ServerSpec {}

  /** Berth that is started in a way of its own: a file as it stands, or several nodes. */
  record Started(String key, Start start) implements ServerSpec {}

  /** Starts one server and returns it when it serves. */
  interface Start {
    Server with(Servers servers) throws IOException, InterruptedException;
  }

  /**
   * {@link RawServer}.
   *
   * @param kind of RawServer
   * @param playsBack the key of the server whose answer it gives, and what that is asked
   */
  record Raw(
      String key, String kind, int loops, String playsBack, Ask ask, Optional<Path> certificate)
      implements ServerSpec {}
}
