package dev.berth.it;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;

/** Packs {@code dev.berth.it.app} as a user's jar, and writes configurations that name it. */
final class TestJar {
  private TestJar() {}

  static Path in(Path folder) throws IOException {
    Path classes;
    try {
      classes = Path.of(TestJar.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException impossible) {
      throw new AssertionError(impossible);
    }
    List<Path> files;
    try (Stream<Path> all = Files.walk(classes.resolve("dev/berth/it/app"))) {
      files = all.filter(Files::isRegularFile).toList();
    }
    Path jar = folder.resolve("app.jar");
    try (OutputStream out = Files.newOutputStream(jar);
        JarOutputStream entries = new JarOutputStream(out)) {
      for (Path file : files) {
        entries.putNextEntry(new JarEntry(classes.relativize(file).toString().replace('\\', '/')));
        try (InputStream in = Files.newInputStream(file)) {
          in.transferTo(entries);
        }
        entries.closeEntry();
      }
    }
    return jar;
  }

  /** A server of this configuration, which may name {@code app.jar}. */
  static Server serve(Path folder, String config) throws IOException {
    in(folder);
    return Server.start(Files.writeString(folder.resolve("app.yaml"), config));
  }

  /** A configuration of the gated application at {@code /gated}. */
  static Path config(Path folder, String deployment, String... more) throws IOException {
    in(folder);
    String text =
        """
        applications:
          - name: gated
            route_prefix: /gated
            import_path: dev.berth.it.app.GatedApplication:build
            runtime_env: {jars: [app.jar]}
            deployments:
              - {name: gated, %s}
        %s
        """
            .formatted(deployment, String.join("\n", more));
    return Files.writeString(folder.resolve("gated.yaml"), text);
  }
}
