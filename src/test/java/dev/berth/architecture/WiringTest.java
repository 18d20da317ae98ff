package dev.berth.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What requests pass through is wired in one place: a server, a test and a benchmark each make a
 * {@code DataPlane} of their own ports, so that none serves in a world that the others do not know.
 */
class WiringTest {
  /** What a data plane is made of, and the files that may make it: it, and its own tests. */
  private static final Map<String, Set<String>> MADE_IN =
      Map.of(
          "Routers", Set.of("main/java/dev/berth/node/DataPlane.java"),
          "ReplicaHost", Set.of("main/java/dev/berth/node/DataPlane.java"),
          "ReplicaLoop", Set.of("main/java/dev/berth/node/DataPlane.java"),
          "RouterLoop", Set.of("main/java/dev/berth/routing/Routers.java"),
          "DeploymentRouter",
              Set.of(
                  "main/java/dev/berth/routing/Routers.java",
                  "test/java/dev/berth/routing/DeploymentRouterTest.java"),
          "SlotLedger",
              Set.of(
                  "main/java/dev/berth/replica/ReplicaHost.java",
                  "main/java/dev/berth/replica/slots/SlotLedger.java",
                  "test/java/dev/berth/replica/slots/Ledgers.java",
                  "test/java/dev/berth/replica/slots/SlotLedgerContractTest.java",
                  "jmh/java/dev/berth/replica/slots/LedgerBenchmark.java"));

  private static final Pattern MADE =
      Pattern.compile("new (?<type>\\w+)\\(|(?<reference>\\w+)::new");

  /** Where something is made that is not to be made there. */
  private static List<String> strays(Path sources) throws IOException {
    List<String> found = new ArrayList<>();
    try (Stream<Path> files = Files.walk(sources)) {
      for (Path file :
          (Iterable<Path>) files.filter(each -> each.toString().endsWith(".java"))::iterator) {
        String name = sources.relativize(file).toString().replace('\\', '/');
        Matcher made = MADE.matcher(Files.readString(file));
        while (made.find()) {
          String type = made.group("type") == null ? made.group("reference") : made.group("type");
          if (!MADE_IN.getOrDefault(type, Set.of(name)).contains(name)) {
            found.add(
                "%s makes a %s (expected: DataPlane does; give it your ports, in a test by"
                        .formatted(name, type)
                    + " PlaneBuilder, or Ledgers for a ledger alone)");
          }
        }
      }
    }
    return found;
  }

  @Test
  void aDataPlaneIsWiredInOnePlace() throws IOException {
    assertThat(strays(Path.of("src"))).isEmpty();
  }

  @Test
  void aWorldWiredByHandIsFound(@TempDir Path sources) throws IOException {
    Path test = Files.createDirectories(sources.resolve("test/java/dev/berth/routing"));
    Files.writeString(
        test.resolve("SecondWorld.java"), "Object o = new %s(ports, this);".formatted("Routers"));
    Path jmh = Files.createDirectories(sources.resolve("jmh/java/dev/berth/routing"));
    Files.writeString(
        jmh.resolve("SecondBenchmark.java"), "make(%s::new);".formatted("SlotLedger"));
    Files.writeString(jmh.resolve("Other.java"), "new RoutersAround(); new Ledger();");
    Path main = Files.createDirectories(sources.resolve("main/java/dev/berth/node"));
    Files.writeString(
        main.resolve("DataPlane.java"), "routers = new %s(ports, host);".formatted("Routers"));
    Files.writeString(
        main.resolve("SecondNode.java"), "host = new %s(ports);".formatted("ReplicaHost"));
    assertThat(strays(sources))
        .hasSize(3)
        .anyMatch(each -> each.contains("SecondWorld.java makes a Routers"))
        .anyMatch(each -> each.contains("SecondBenchmark.java makes a SlotLedger"))
        .anyMatch(each -> each.contains("SecondNode.java makes a ReplicaHost"));
  }
}
