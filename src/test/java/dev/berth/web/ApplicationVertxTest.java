package dev.berth.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.node.TestNode;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystem;
import io.vertx.core.file.FileSystemException;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.internal.VertxInternal;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Resources of an application, read by its Vert.x. */
class ApplicationVertxTest {
  private static final FileSystemOptions NO_CLASS_PATH =
      new FileSystemOptions().setClassPathResolvingEnabled(false).setFileCachingEnabled(false);

  private final Vertx vertx =
      Vertx.vertx(new VertxOptions().setFileSystemOptions(NO_CLASS_PATH)); // as in an instance

  @TempDir private Path jars;
  private URLClassLoader loader;
  private FileSystem files;

  @BeforeEach
  void create() throws Exception {
    loader = new URLClassLoader(new URL[] {jars.toUri().toURL()}, null);
    files = new ApplicationVertx((VertxInternal) vertx, "shop", loader).fileSystem();
  }

  @AfterEach
  void close() throws Exception {
    loader.close();
    TestNode.await(vertx.close());
  }

  @Test
  void resourceOfTheJarsIsRead() throws Exception {
    Files.writeString(jars.resolve("contract.yaml"), "openapi: 3.1.0");

    assertThat(files.readFileBlocking("contract.yaml")).hasToString("openapi: 3.1.0");
    assertThat(TestNode.await(files.readFile("contract.yaml"))).hasToString("openapi: 3.1.0");
  }

  @Test
  void fileOfTheDiskPrecedesResource() throws Exception {
    Files.writeString(jars.resolve("pom.xml"), "a resource");

    assertThat(files.readFileBlocking("pom.xml").toString()).contains("<artifactId>berth");
    assertThat(files.readFileBlocking(jars.resolve("pom.xml").toString()))
        .hasToString("a resource");
  }

  @Test
  void absentFileFailsAsInVertx() {
    assertThatThrownBy(() -> files.readFileBlocking("absent"))
        .isInstanceOf(FileSystemException.class);
    assertThatThrownBy(() -> TestNode.await(files.readFile("absent")))
        .hasRootCauseMessage("absent");
  }
}
