package dev.berth.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * What the JVM of a tested server is told so that it starts in a third of the processor time: it
 * takes its classes from an archive, as the guide shows it, and compiles with C1 alone. The group
 * starts some thirty servers that live for a second or two, on cores they share with the tests.
 *
 * <p>The archive lies beside the jar, one for each JVM, and is made anew when the jar is newer. A
 * JVM that cannot use it starts without it.
 */
final class ArchivedStart {
  private static final String C1_ALONE = "-XX:TieredStopAtLevel=1";

  private static List<String> options = List.of();

  private ArchivedStart() {}

  /** The options, with the archive made by the first who asks. */
  static synchronized List<String> options(Path java, Path jar) {
    if (options.isEmpty()) {
      Path archive = jar.resolveSibling("berth-" + Runtime.version() + ".jsa");
      try {
        if (!Files.exists(archive)
            || Files.getLastModifiedTime(archive).compareTo(Files.getLastModifiedTime(jar)) < 0) {
          make(java, jar, archive);
        }
      } catch (IOException failed) {
        throw new UncheckedIOException(failed);
      }
      options = List.of(C1_ALONE, "-XX:SharedArchiveFile=" + archive);
    }
    return options;
  }

  /** By one run of a server, which serves a request of each kind so that its classes are there. */
  private static void make(Path java, Path jar, Path archive) throws IOException {
    Path fresh = archive.resolveSibling(archive.getFileName() + ".new");
    Files.deleteIfExists(fresh);
    try (Server server =
        Server.launch(
            List.of(java.toString(), C1_ALONE, "-XX:ArchiveClassesAtExit=" + fresh),
            jar,
            Path.of("conf/quickstart.yaml"),
            List.of())) {
      server.awaitStarted();
      server.get("/echo");
      server.admin("/metrics");
      server.terminate();
      server.exitCode();
      Files.move(fresh, archive, StandardCopyOption.REPLACE_EXISTING);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new AssertionError(interrupted);
    }
  }
}
