package dev.berth.cluster.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.admin.AdminRoutes;
import dev.berth.admin.JarRoutes;
import dev.berth.cluster.link.LinkWorld;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.code.Jar;
import dev.berth.config.ApplicationConfig;
import dev.berth.config.ClusterConfig.ClusterRole;
import dev.berth.config.ConfigReader;
import dev.berth.node.TestNode;
import dev.berth.protocol.BuildSource;
import dev.berth.protocol.BuildSource.JarFile;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpMethod;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Code goes from node to node over mutual TLS. */
@Timeout(60)
class RemoteCodeIT {
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

  private final Map<String, BuildSource> builds = new HashMap<>(); // by application/build
  private final List<String> ranges = new CopyOnWriteArrayList<>(); // that were asked for
  private @Nullable FakeShelf there; // of the control node
  private @Nullable FakeShelf here;
  private volatile AdminRoutes front = router -> {};
  private @Nullable NodeInfo control;

  @BeforeEach
  void makeShelves() throws IOException {
    there = new FakeShelf(folder);
    here = new FakeShelf(Files.createDirectory(folder.resolve("here")));
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
            new JarRoutes(there),
            new BuildRoutes(
                (application, build) -> {
                  BuildSource found = builds.get(application + "/" + build);
                  return found == null
                      ? Future.failedFuture(
                          new CommandRejectedException(CommandRejectionReason.NOT_FOUND, build))
                      : Future.succeededFuture(found);
                }));
  }

  private JarFile jar(String name, int seed) throws IOException {
    Path file = FakeShelf.jar(folder.resolve(name), seed);
    String digest = FakeShelf.digest(file);
    there.kept.put(digest, file);
    return new JarFile(name, digest, FakeShelf.JAR_BYTES);
  }

  private Path cached(JarFile jar) {
    return here.kept.get(jar.sha256());
  }

  private ControlNodeClient node() {
    return new ControlNodeClient(rig.vertx, rig.client, () -> control, () -> true, () -> "x");
  }

  private JarCache cache() {
    return new JarCache(here, node(), JarRoutes.PATH);
  }

  private RemoteBuildFetcher code() {
    return new RemoteBuildFetcher(
        node(), cache(), ConfigReader.read("none", folder, "applications: []"));
  }

  /** Each node has a certificate of the authority: any was taken for the control node's. */
  @Test
  void certificateOfAnotherNodeIsNotTheControlNodes() {
    serve();
    NodeInfo there = control;
    control = PeerRig.node("c2", there.ports().https(), ClusterRole.CONTROL);
    assertThatThrownBy(() -> rig.onLoop(() -> node().get(200, "/api/v1/jars")))
        .hasStackTraceContaining("a certificate of [c1] (expected: of c2)");
    assertThatThrownBy(() -> rig.onLoop(() -> node().ask(control, HttpMethod.GET, "/")))
        .hasStackTraceContaining("a certificate of [c1] (expected: of c2)");
  }

  private NodeInfo fetched(String name, FakeShelf shelf) {
    return rig.serve(name, new JarRoutes(shelf)::mountFetched);
  }

  private Path restore(Jar jar, NodeInfo... others) throws Exception {
    return rig.onLoop(() -> JarCache.restore(rig.vertx, rig.client, List.of(others), here, jar));
  }

  @Test
  void lostJarComesFromTheFirstNodeThatHasItWhole() throws Exception {
    Path whole = FakeShelf.jar(folder.resolve("whole.jar"), 1);
    Jar jar = new Jar("echo.jar", FakeShelf.digest(whole));
    FakeShelf damaged = new FakeShelf(folder);
    damaged.kept.put(jar.digest(), FakeShelf.jar(folder.resolve("damaged.jar"), 2));
    there.kept.put(jar.digest(), whole);
    NodeInfo without = fetched("w1", new FakeShelf(folder));
    NodeInfo other = fetched("w2", damaged);

    assertThatThrownBy(() -> restore(jar, without, other))
        .hasMessageContaining("expected: " + jar.digest());
    assertThat(here.kept).isEmpty();
    assertThat(restore(jar, without, other, fetched("w3", there))).hasSameBinaryContentAs(whole);
    assertThat(here.names).containsExactly("echo.jar");
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

  /** A server refuses a path that escapes a tilde. */
  @Test
  void applicationWithTildeInItsNameIsRead() throws Exception {
    builds.put("a~b/b1", new BuildSource(ENTRY.replace("\"echo\"", "\"a~b\""), List.of()));
    serve();
    assertThat(rig.onLoop(() -> code().source("a~b", "b1")).name()).isEqualTo("a~b");
  }

  @Test
  void aBuildThatNobodyHasIsNotAskedForAgain() {
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> code().source("echo", "b9")))
        .hasMessageContaining("status 404 for /api/v1/cluster/builds/echo/b9");
  }

  @Test
  void aDigestThatIsAPathIsRefused() {
    front =
        router ->
            router
                .get("/api/v1/cluster/builds/echo/b1")
                .handler(
                    context ->
                        context.end(
                            """
                            {"entry": "{}", "jars": [{"name": "a", "sha256": "../a", "bytes": 1}]}
                            """));
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> code().source("echo", "b1")))
        .hasRootCauseMessage("sha256: ../a (expected: 64 digits 0-9a-f)");
    assertThat(ranges).isEmpty();
  }

  @Test
  void aControlNodeThatIsNotKnownYetIsAskedWhenItIs() throws Exception {
    builds.put("echo/b1", new BuildSource(ENTRY, List.of(jar("echo.jar", 1))));
    serve();
    NodeInfo known = control;
    control = null;
    RemoteBuildFetcher code = code();
    Future<ApplicationConfig> asked =
        rig.onLoop(() -> Future.succeededFuture(code.source("echo", "b1")));
    control = known;
    assertThat(LinkWorld.await(asked).name()).isEqualTo("echo");
  }

  @Test
  void aControlNodeThatIsNotThereYetIsAskedAgain() throws Exception {
    builds.put("echo/b1", new BuildSource(ENTRY, List.of(jar("echo.jar", 1))));
    serve();
    NodeInfo known = control;
    control = PeerRig.node("c1", closedPort(), ClusterRole.CONTROL);
    RemoteBuildFetcher code = code();
    Future<ApplicationConfig> asked =
        rig.onLoop(() -> Future.succeededFuture(code.source("echo", "b1")));
    control = known;
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
    JarCache cache = cache();
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
                      context
                          .response()
                          .setStatusCode(206)
                          .putHeader("Content-Length", "" + FakeShelf.JAR_BYTES);
                      context
                          .response()
                          .write(bytes.slice(0, 300_000))
                          .onComplete(sent -> context.request().connection().close());
                    });
    serve();
    rig.onLoop(() -> cache().get(jar));
    assertThat(ranges).hasSize(2).first().isEqualTo("bytes=0-699999");
    assertThat(ranges.get(1)).as("what came stays").matches("bytes=(2\\d{5}|300000)-699999");
    assertThat(cached(jar)).hasSameBinaryContentAs(folder.resolve("echo.jar"));
  }

  @Test
  void whatIsSomethingElseIsRefusedWithBothDigests() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    JarFile other = jar("other.jar", 2);
    there.kept.put(jar.sha256(), folder.resolve("other.jar"));
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> cache().get(jar)))
        .hasMessageContaining("jar echo.jar (sha256 " + jar.sha256() + ")")
        .hasMessageContaining("the received jar has sha256 " + other.sha256());
    TestNode.until(() -> Files.notExists(here.next()), () -> here.next() + " is there");
    assertThat(here.kept).isEmpty();
  }

  @Test
  void aFullDiskFailsItWithOneLine() throws Exception {
    JarFile jar = jar("echo.jar", 1);
    Files.createSymbolicLink(here.next(), Path.of("/dev/full"));
    serve();
    assertThatThrownBy(() -> rig.onLoop(() -> cache().get(jar)))
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
                        control.ports().https(),
                        "127.0.0.1",
                        "/api/v1/jars/" + jar.sha256())
                    .compose(request -> request.send())));
  }
}
