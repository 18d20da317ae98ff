package dev.berth.cluster.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.DigestedFile;
import dev.berth.admin.JarRoutes;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.protocol.port.JarShelf;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Code goes from node to node over mutual TLS. */
@Timeout(60)
class RemoteCodeIT {
  private static final int BYTES = 700_000;
  private static final String ENTRY =
      """
      {"name": "echo", "import_path": "a.B:app", "route_prefix": "/echo",
       "runtime_env": {"jars": ["/elsewhere/echo.jar"]}, "args": {"n": 1}}
      """;

  @TempDir private Path folder;
  @AutoClose private static PeerRig rig;

  @BeforeAll
  static void makeCertificates(@TempDir Path certificates) throws Exception {
    rig = new PeerRig(certificates);
  }

  private final Map<String, Path> shelf = new HashMap<>(); // by digest
  private final Map<String, BuildSource> builds = new HashMap<>(); // by application/build
  private final Set<Path> inUse = new HashSet<>();
  private final List<String> ranges = new CopyOnWriteArrayList<>(); // that were asked for
  private long nowMs = 1_000_000_000;
  private volatile AdminRoutes front = router -> {};
  private @Nullable Peer control;

  /** What is kept, in a map. */
  private final class Shelf implements JarShelf {
    @Override
    public Future<@Nullable Path> find(String sha256) {
      return Future.succeededFuture(shelf.get(sha256));
    }

    @Override
    public Future<Path> begin(long bytes) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Future<Void> take(Path written, String name, String sha256) {
      throw new UnsupportedOperationException();
    }
  }

  private void serve() {
    control =
        rig.serve(
            "c1",
            router ->
                router
                    .route()
                    .handler(
                        context -> {
                          String range = context.request().getHeader("Range");
                          if (range != null) {
                            ranges.add(range);
                          }
                          context.next();
                        }),
            router -> front.mount(router),
            new JarRoutes(new Shelf()),
            new BuildRoutes(
                (application, build) ->
                    Future.succeededFuture(builds.get(application + "/" + build))));
  }

  private JarFile jar(String name, int seed) throws IOException {
    byte[] bytes = new byte[BYTES];
    new Random(seed).nextBytes(bytes);
    Path file = Files.write(folder.resolve(name), bytes);
    String digest = DigestedFile.digestOf(file);
    shelf.put(digest, file);
    return new JarFile(name, digest, BYTES);
  }

  private Path cached(JarFile jar) {
    return folder.resolve("cache").resolve(jar.sha256() + ".jar");
  }

  private JarCache cache(long most) {
    ControlNode node = new ControlNode(rig.vertx, rig.client, () -> control);
    return new JarCache(
        rig.vertx, folder.resolve("cache"), most, () -> nowMs, () -> Set.copyOf(inUse), node);
  }

  private RemoteCode code() {
    return new RemoteCode(
        new ControlNode(rig.vertx, rig.client, () -> control),
        cache(JarCache.MOST_BYTES),
        ConfigReader.read("none", folder, "applications: []"));
  }

  @Test
  void aBuildComesWithItsEntryAndItsJars() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    builds.put("echo/b1", new BuildSource(ENTRY, List.of(jar)));
    serve();

    ApplicationConfig config = rig.onLoop(() -> code().source("echo", "b1"));

    assertThat(config.name()).isEqualTo("echo");
    assertThat(config.get(ApplicationConfig.ARGS)).isEqualTo(Map.of("n", 1));
    assertThat(config.jars()).containsExactly(cached(jar));
    assertThat(cached(jar)).hasSameBinaryContentAs(folder.resolve("echo.jar"));
  }

  @Test
  void aBuildThatNobodyHasIsNotAskedForAgain() {
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> code().source("echo", "b9")))
        .hasMessageContaining("status 404 for build b9 of echo");
  }

  @Test
  void aDigestThatIsAPathIsRefused() {
    builds.put("echo/b1", new BuildSource(ENTRY, List.of(new JarFile("a.jar", "../out", 1))));
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> code().source("echo", "b1")))
        .hasMessageEndingWith("sha256: ../out (expected: 64 digits 0-9a-f)");
    assertThat(folder.resolve("out.tmp")).doesNotExist();
    assertThat(ranges).isEmpty();
  }

  @Test
  void aControlNodeThatIsNotKnownYetIsAskedWhenItIs() throws Exception {
    builds.put("echo/b1", new BuildSource(ENTRY, List.of(jar("echo.jar", 1))));
    serve();
    Peer there = control;
    control = null;
    RemoteCode code = code();
    Future<ApplicationConfig> asked =
        rig.onLoop(() -> Future.succeededFuture(code.source("echo", "b1")));
    control = there;
    assertThat(LinkWorld.await(asked).name()).isEqualTo("echo");
  }

  @Test
  void aControlNodeThatIsNotThereYetIsAskedAgain() throws Exception {
    builds.put("echo/b1", new BuildSource(ENTRY, List.of(jar("echo.jar", 1))));
    serve();
    Peer there = control;
    control = new Peer("c1", "c1-0", "127.0.0.1", closedPort());
    RemoteCode code = code();
    Future<ApplicationConfig> asked =
        rig.onLoop(() -> Future.succeededFuture(code.source("echo", "b1")));
    control = there;
    assertThat(LinkWorld.await(asked).name()).isEqualTo("echo");
  }

  private int closedPort() throws IOException {
    try (java.net.ServerSocket socket = new java.net.ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  @Test
  void thoseWhoAskForTheSameJarShareIt() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    serve();
    JarCache cache = cache(JarCache.MOST_BYTES);
    assertThat(rig.onLoop(() -> Future.join(cache.get(jar), cache.get(jar))).size()).isEqualTo(2);
    rig.onLoop(() -> cache.get(jar));
    assertThat(ranges).hasSize(1);
  }

  @Test
  void aDownloadGoesOnWhereItBrokeOff() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    Buffer bytes = Buffer.buffer(Files.readAllBytes(folder.resolve("echo.jar")));
    front =
        router ->
            router
                .get("/api/v1/jars/:sha256")
                .handler(
                    context -> {
                      if (ranges.size() > 1) {
                        context.next();
                        return;
                      }
                      context.response().setStatusCode(206).putHeader("Content-Length", "" + BYTES);
                      context
                          .response()
                          .write(bytes.slice(0, 300_000))
                          .onComplete(sent -> context.request().connection().close());
                    });
    serve();
    rig.onLoop(() -> cache(JarCache.MOST_BYTES).get(jar));
    assertThat(ranges).hasSize(2).first().isEqualTo("bytes=0-");
    assertThat(ranges.get(1)).as("what came stays").matches("bytes=2\\d{5}-|bytes=300000-");
    assertThat(cached(jar)).hasSameBinaryContentAs(folder.resolve("echo.jar"));
  }

  @Test
  void whatIsSomethingElseIsRefusedWithBothDigests() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    JarFile other = jar("other.jar", 2);
    shelf.put(jar.sha256(), folder.resolve("other.jar"));
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> cache(JarCache.MOST_BYTES).get(jar)))
        .hasMessageContaining("jar echo.jar (sha256 " + jar.sha256() + ")")
        .hasMessageContaining("what came has sha256 " + other.sha256());
    assertThat(folder.resolve("cache")).isEmptyDirectory();
  }

  @Test
  void whatAnEarlierProcessLeftIsReadBeforeItIsUsed() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    JarFile whole = jar("whole.jar", 2);
    Files.createDirectories(folder.resolve("cache"));
    Files.writeString(cached(jar), "half");
    Files.writeString(folder.resolve("cache/feed.tmp"), "half");
    Files.copy(folder.resolve("whole.jar"), cached(whole));
    serve();
    JarCache cache = cache(JarCache.MOST_BYTES);
    rig.onLoop(() -> Future.join(cache.get(jar), cache.get(whole)));
    assertThat(cached(jar)).hasSameBinaryContentAs(folder.resolve("echo.jar"));
    assertThat(ranges).hasSize(1);
    assertThat(folder.resolve("cache/feed.tmp")).doesNotExist();
  }

  @Test
  void theOldestThatIsNotUsedGoesForAnother() throws Exception {
    serve();
    JarCache cache = cache(3 * BYTES);
    List<JarFile> jars = new ArrayList<>();
    for (int seed = 1; seed <= 4; seed++) {
      jars.add(jar(seed + ".jar", seed));
    }
    for (JarFile each : jars.subList(0, 3)) {
      rig.onLoop(() -> cache.get(each));
      nowMs += 10_000;
    }
    assertThatThrownBy(() -> rig.onLoop(() -> cache.get(jars.get(3))))
        .hasMessageContaining("would hold " + 4 * BYTES + " bytes (expected: at most " + 3 * BYTES);

    nowMs += JarCache.FRESH_MS;
    inUse.add(cached(jars.get(0)));
    Files.setLastModifiedTime(cached(jars.get(0)), FileTime.fromMillis(0));
    rig.onLoop(() -> cache.get(jars.get(3)));
    assertThat(cached(jars.get(0))).exists();
    assertThat(cached(jars.get(1))).doesNotExist();
    assertThat(cached(jars.get(2))).exists();
  }

  @Test
  void aFullDiskFailsItWithOneLine() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    Files.createDirectories(folder.resolve("cache"));
    Files.createSymbolicLink(
        folder.resolve("cache/" + jar.sha256() + ".tmp"), Path.of("/dev/full"));
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> cache(JarCache.MOST_BYTES).get(jar)))
        .hasMessageEndingWith(
            "jar echo.jar (sha256 %s): cannot be written: No space left on device"
                .formatted(jar.sha256()));
    assertThat(ranges).as("not tried again").hasSize(1);
  }

  @Test
  void whoHasNoCertificateIsNotAnswered() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    serve();
    Vertx vertx = rig.vertx;
    HttpClient nobody = vertx.createHttpClient(rig.nobody());
    assertThatThrownBy(
        () ->
            LinkWorld.await(
                nobody
                    .request(
                        HttpMethod.GET,
                        control.httpsPort(),
                        "127.0.0.1",
                        "/api/v1/jars/" + jar.sha256())
                    .compose(request -> request.send())));
  }
}
