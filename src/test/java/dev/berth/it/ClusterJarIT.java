package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code berth-cluster.jar} is found beside {@code berth.jar}, and is not a part of it. */
class ClusterJarIT {
  private static final Path JAR = Path.of(System.getProperty("berth.jar", "target/berth.jar"));
  private static final Path CLUSTER = JAR.resolveSibling("berth-cluster.jar");

  @TempDir Path folder;

  private static List<String> names(Path jar) throws IOException {
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.stream().map(each -> each.getName()).filter(each -> !each.endsWith("/")).toList();
    }
  }

  private static URLClassLoader loader(Path jar) throws IOException {
    return new URLClassLoader(
        new URL[] {jar.toUri().toURL()}, ClassLoader.getPlatformClassLoader());
  }

  private static Object engine(ClassLoader loader) throws ReflectiveOperationException {
    return loader.loadClass("dev.berth.desired.ConsensusEngine").getMethod("find").invoke(null);
  }

  @Test
  void eachHoldsItsOwn() throws IOException {
    assertThat(names(JAR))
        .contains("dev/berth/desired/ConsensusEngine.class")
        .noneMatch(each -> each.contains("ratis"))
        .doesNotContain("META-INF/services/dev.berth.desired.ConsensusEngine");
    assertThat(names(CLUSTER))
        .contains("dev/berth/cluster/ratis/RatisLog.class")
        .contains("META-INF/services/org.apache.ratis.metrics.MetricRegistries")
        .contains("META-INF/NOTICE.berth-cluster", "META-INF/LICENSE", "META-INF/NOTICE")
        .contains("META-INF/license/LICENSE.boringssl.txt")
        .noneMatch(each -> each.endsWith(".jnilib") || each.endsWith(".dll"))
        .allMatch(
            each ->
                each.startsWith("dev/berth/cluster/ratis/")
                    || each.startsWith("org/apache/ratis/")
                    || each.startsWith("META-INF/")
                    || each.endsWith(".proto")
                    || each.equals("ratis-version.properties"))
        .filteredOn(each -> each.startsWith("META-INF/native/"))
        .hasSize(4);
    assertThat(Files.size(CLUSTER)).isLessThan(18_000_000);
  }

  @Test
  void aLogOpensFromTheJars() throws Exception {
    Thread here = Thread.currentThread();
    ClassLoader before = here.getContextClassLoader();
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    URLClassLoader loader = loader(JAR); // stays open: threads that end later load classes
    try {
      here.setContextClassLoader(loader);
      Object engine = engine(loader);
      Class<?> options = loader.loadClass("dev.berth.desired.ConsensusEngine$ConsensusOptions");
      Object of =
          options.getConstructors()[0].newInstance(
              folder.resolve("s"), "prod", "n1", "127.0.0.1", port, null, "f00d");
      Method log = loader.loadClass("dev.berth.desired.ConsensusEngine").getMethod("log", options);
      Object opened = log.invoke(engine, of);
      Class<?> type = loader.loadClass("dev.berth.desired.StateLog");
      type.getMethod("open").invoke(opened);
      assertThat(type.getMethod("isKept").invoke(opened)).isEqualTo(true);
      type.getMethod("close").invoke(opened);
    } finally {
      here.setContextClassLoader(before);
    }
  }

  @Test
  void withoutItOneLineSaysWhatIsMissing() throws IOException {
    Path alone = Files.copy(JAR, folder.resolve("berth.jar"));
    try (URLClassLoader loader = loader(alone)) {
      assertThatThrownBy(() -> engine(loader))
          .cause()
          .hasMessage("berth.cluster: berth-cluster.jar: not beside berth.jar (expected: there)");
    }
  }
}
