package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.node.BerthNode;
import dev.berth.node.TestNode;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ApplicationClassLoaderTest {

  private static final String SHOP =
      """
      package shop;

      import dev.berth.api.*;
      import io.vertx.core.Future;
      import org.slf4j.LoggerFactory;

      public final class Shop {
        private static final ThreadLocal<Object> KEPT = new ThreadLocal<>();

        static {
          System.getProperties().put(new Object(), Shop.class.getClassLoader());
        }

        public static Application asynchronous() {
          AsyncHandler handler =
              (request, context) -> {
                KEPT.set(new Shop());
                LoggerFactory.getLogger(Shop.class).debug("asked");
                return Future.succeededFuture(Response.text(lib.Library.version()));
              };
          return Application.of(Deployment.of("shop", replica -> handler));
        }

        public static Application blocking() {
          BlockingHandler handler =
              (request, context) -> {
                KEPT.set(new Shop());
                return Response.text(lib.Library.version());
              };
          return Application.of(Deployment.of("shop", replica -> handler));
        }
      }
      """;

  @TempDir Path folder;

  private final ReferenceQueue<ClassLoader> unreachable = new ReferenceQueue<>();

  @AfterEach
  void forgetLoaders() {
    System.getProperties().values().removeIf(ApplicationClassLoader.class::isInstance);
  }

  private static String library(int version) {
    return """
        package lib;

        public final class Library {
          public static String version() {
            return "%d";
          }
        }
        """
        .formatted(version);
  }

  @Test
  void eachApplicationHasItsOwnVersionOfAClass() throws Exception {
    CompiledJar.in(folder, "one.jar", SHOP, library(1));
    CompiledJar.in(folder, "two.jar", SHOP, library(2));
    try (TestNode node = new TestNode(config("one.jar", "two.jar"))) {
      assertThat(node.get("/asynchronous0").body()).isEqualTo("1");
      assertThat(node.get("/asynchronous1").body()).isEqualTo("2");
      assertThat(node.get("/blocking0").body()).isEqualTo("1");
      assertThat(node.get("/blocking1").body()).isEqualTo("2");
    }
  }

  @Test
  void ownClassesComeBeforeBerthsAndSharedOnesDoNot() throws Exception {
    Path jar =
        CompiledJar.in(
            folder,
            "own.jar",
            "package dev.berth.node; public final class TestApplications { int own; }",
            "package dev.berth.api; public final class Application { int own; }",
            "package io.vertx.other; public final class Module { int own; }");
    try (ApplicationClassLoader loader = loader(jar)) {
      assertThat(loader.loadClass("dev.berth.node.TestApplications").getClassLoader())
          .isSameAs(loader);
      assertThat(loader.loadClass("dev.berth.api.Application")).isSameAs(Application.class);
      assertThat(loader.loadClass("io.vertx.other.Module").getClassLoader()).isSameAs(loader);
      assertThat(loader.loadClass("dev.berth.node.BerthNode")).isSameAs(BerthNode.class);
      assertThatThrownBy(() -> loader.loadClass("com.acme.Nothing"))
          .isInstanceOf(ClassNotFoundException.class);
    }
  }

  @Test
  void ownResourcesComeBeforeBerths() throws Exception {
    Files.createDirectories(folder.resolve("r.jar-classes"));
    Files.writeString(folder.resolve("r.jar-classes/logback-test.xml"), "own");
    Path jar = CompiledJar.in(folder, "r.jar", library(1));
    try (ApplicationClassLoader loader = loader(jar)) {
      assertThat(text(loader.getResource("logback-test.xml"))).isEqualTo("own");
      assertThat(Collections.list(loader.getResources("logback-test.xml")))
          .first()
          .satisfies(url -> assertThat(text(url)).isEqualTo("own"));
      assertThat(loader.getResource("lib/Library.class")).isNotNull();
      assertThat(loader.getResource("no/such.thing")).isNull();
    }
  }

  @Test
  void aDirectoryOfJarsIsOneClassPath() throws Exception {
    Path jars = Files.createDirectory(folder.resolve("lib"));
    CompiledJar.in(folder, "both.jar", SHOP, library(3));
    CompiledJar.in(jars, "library.jar", library(4));
    Files.move(folder.resolve("both.jar"), jars.resolve("shop.jar"));
    ServeConfig config = config("lib");

    try (TestNode node = new TestNode(config)) {
      assertThat(node.get("/asynchronous0").body())
          .isEqualTo("4"); // library.jar is before shop.jar
    }
  }

  @Test
  void aClosedNodeLeavesNothingOfItsApplications() throws Exception {
    CompiledJar.in(folder, "one.jar", SHOP, library(1));

    serveOnce(config("one.jar"));

    awaitUnreachable(takeLoaders(2));
  }

  @Test
  void anApplicationThatIsDeletedLeavesNothingInTheNodeThatRunsOn() throws Exception {
    String leavingNothingOnAThread = SHOP.replace("KEPT.set(new Shop());", "");
    CompiledJar.in(folder, "plain.jar", leavingNothingOnAThread, library(1));
    String plain =
        "{name: plain, route_prefix: /plain, import_path: 'shop.Shop:asynchronous',"
            + " runtime_env: {jars: [plain.jar]}}";
    try (TestNode node = new TestNode(file(List.of(plain)))) {
      assertThat(node.get("/plain").body()).isEqualTo("1");
      assertThat(node.admin("DELETE", "/api/v1/applications/plain", "").statusCode())
          .isEqualTo(200);

      awaitUnreachable(takeLoaders(1));
    }
  }

  @Test
  void anApplicationWithProblemsIsLeftBehindToo() throws Exception {
    CompiledJar.in(folder, "one.jar", SHOP, library(1));
    String wrong =
        "{import_path: 'shop.Shop:blocking', runtime_env: {jars: [one.jar]},"
            + " deployments: [{name: none}]}";

    assertThatThrownBy(() -> new TestNode(file(List.of(wrong)))).hasMessageContaining("\"none\"");

    awaitUnreachable(takeLoaders(1));
  }

  /** In a method of its own, so that no variable of the test keeps anything alive. */
  private static void serveOnce(ServeConfig config) throws Exception {
    try (TestNode node = new TestNode(config)) {
      assertThat(node.get("/asynchronous0").body()).isEqualTo("1");
      assertThat(node.get("/blocking0").body()).isEqualTo("1");
    }
  }

  @Test
  void closeOfALoaderLeavesStreamsOfAnotherBuildOpen() throws Exception {
    Path jar = folder.resolve("resource.jar");
    try (JarOutputStream entries = new JarOutputStream(Files.newOutputStream(jar))) {
      entries.putNextEntry(new JarEntry("resource.txt"));
      entries.write("a text".repeat(10_000).getBytes(StandardCharsets.UTF_8));
      entries.closeEntry();
    }
    ApplicationClassLoader before = loader(jar);
    before.getResourceAsStream("resource.txt").close();

    try (ApplicationClassLoader after = loader(jar);
        InputStream stream = after.getResourceAsStream("resource.txt")) {
      before.close();
      assertThat(stream.readAllBytes()).hasSize(60_000);
      assertThat(after.getResourceAsStream("absent.txt")).isNull();
    }
  }

  /** The class loaders that the shops have left in the system properties, which forget them. */
  private List<PhantomReference<ClassLoader>> takeLoaders(int expected) {
    List<PhantomReference<ClassLoader>> loaders = new ArrayList<>();
    System.getProperties()
        .values()
        .removeIf(
            value ->
                value instanceof ApplicationClassLoader loader
                    && loaders.add(new PhantomReference<>(loader, unreachable)));
    assertThat(loaders).hasSize(expected);
    return loaders;
  }

  private void awaitUnreachable(List<PhantomReference<ClassLoader>> loaders) throws Exception {
    long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
    Set<Reference<?>> left = new HashSet<>(loaders);
    while (!left.isEmpty()) {
      assertThat(System.nanoTime() - deadline)
          .as("class loaders still reachable; threads: %s", Thread.getAllStackTraces().keySet())
          .isNegative();
      System.gc();
      left.remove(unreachable.remove(50));
    }
  }

  private ApplicationClassLoader loader(Path jar) throws IOException {
    return new ApplicationClassLoader(
        "test", List.of(jar.toUri().toURL()), BerthNode.class.getClassLoader());
  }

  /** For each of the jars, the asynchronous and the blocking application of it. */
  private ServeConfig config(String... jars) {
    List<String> applications = new ArrayList<>();
    for (int i = 0; i < jars.length; i++) {
      for (String builder : List.of("asynchronous", "blocking")) {
        applications.add(
            "{name: %1$s%2$d, route_prefix: /%1$s%2$d, import_path: 'shop.Shop:%1$s', runtime_env: {jars: [%3$s]}}"
                .formatted(builder, i, jars[i]));
      }
    }
    return file(applications);
  }

  private ServeConfig file(List<String> applications) {
    return ConfigReader.read(
        "test.yaml",
        folder,
        """
        http_options: {host: 127.0.0.1, port: 0}
        applications: %s
        berth: {event_loops: 2, ephemeral: true, admin: {port: 0}, shutdown_timeout_s: 5}
        """
            .formatted(applications));
  }

  private static String text(URL url) throws IOException {
    try (InputStream in = url.openStream()) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
