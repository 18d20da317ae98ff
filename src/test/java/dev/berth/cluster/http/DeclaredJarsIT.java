package dev.berth.cluster.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.JarRoutes;
import dev.berth.cluster.membership.NodeInfo;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A path in a body means a file of the node that got the body. */
@Timeout(60)
class DeclaredJarsIT {
  private static final String ALL = "/api/serve/applications/";
  private static final String ONE = "/api/v1/applications/echo";

  @TempDir private Path folder;
  @AutoClose private static PeerRig rig;

  @BeforeAll
  static void makeCertificates(@TempDir Path certificates) throws Exception {
    rig = new PeerRig(certificates);
  }

  private final List<String> declared = new CopyOnWriteArrayList<>(); // bodies, at the control node
  private @Nullable FakeShelf shelf; // what the control node keeps
  private int port;

  @BeforeEach
  void start() {
    shelf = new FakeShelf(folder);
    NodeInfo control =
        rig.serve(
            "c1",
            new JarRoutes(shelf),
            router ->
                router
                    .put("/api/*")
                    .handler(
                        context ->
                            context
                                .request()
                                .body()
                                .onSuccess(
                                    body -> {
                                      declared.add(body.toString());
                                      context.response().end();
                                    })));
    ServeConfig file = ConfigReader.read("f", folder, "applications: []");
    ControlNodeClient node =
        new ControlNodeClient(rig.vertx, rig.client, () -> control, () -> true, () -> "x");
    port = rig.operators(new ForwardRoutes("w1", node, file));
  }

  private HttpResponse<String> put(String path, String body) throws Exception {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
            .timeout(Duration.ofSeconds(20))
            .PUT(BodyPublishers.ofString(body))
            .build();
    return HttpClient.newHttpClient().send(request, BodyHandlers.ofString());
  }

  private Path jar(String name, int seed) throws IOException {
    return FakeShelf.jar(folder.resolve(name), seed);
  }

  private static String named(Path jar) throws IOException {
    return "sha256:" + FakeShelf.digest(jar);
  }

  private static String entry(String... jars) {
    return new JsonObject()
        .put("name", "echo")
        .put("import_path", "a.B:app")
        .put("route_prefix", "/echo")
        .put("args", new JsonObject().put("n", 1))
        .put("runtime_env", new JsonObject().put("jars", new JsonArray(List.of(jars))))
        .encode();
  }

  @Test
  void jarsOfThisNodeAreSentAndNamedByTheirContent() throws Exception {
    Path echo = jar("echo.jar", 1);
    Path first = jar("lib/a.jar", 2);
    Path second = jar("lib/b.jar", 3);
    String known = "sha256:" + "0".repeat(64); // whether it is kept the control node knows
    String body =
        "{\"target_capacity\": 50.0, \"applications\": [%s]}"
            .formatted(entry("echo.jar", known, "lib"));
    HttpResponse<String> answer = put(ALL, body);
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    assertThat(shelf.names).containsExactly("echo.jar", "a.jar", "b.jar");
    Path taken = shelf.kept.get(FakeShelf.digest(echo));
    assertThat(Files.mismatch(echo, taken)).isEqualTo(-1);
    JsonObject came = new JsonObject(declared.get(0));
    assertThat(came.getDouble("target_capacity")).isEqualTo(50.0);
    assertThat(came.getJsonArray("applications").getJsonObject(0))
        .isEqualTo(new JsonObject(entry(named(echo), known, named(first), named(second))));

    assertThat(put(ONE, entry(echo.toString())).statusCode()).isEqualTo(200);
    assertThat(shelf.names).as("what is there already is not sent again").hasSize(3);
    assertThat(new JsonObject(declared.get(1))).isEqualTo(new JsonObject(entry(named(echo))));
  }

  @Test
  void aBodyWithoutPathsIsForwardedAsItCame() throws Exception {
    String body = "import_path: a.B:app   # as it is\nruntime_env: {jars: ['sha256:%s']}\n";
    String entry = body.formatted("0".repeat(64));
    assertThat(put(ONE, entry).statusCode()).isEqualTo(200);
    assertThat(declared).containsExactly(entry);
  }

  @Test
  void whatIsWrongIsSaidAsAnInstanceByItselfSaysIt() throws Exception {
    String wrong =
        "applications:\n- name: echo\n  import_path: a.B:app\n"
            + "  runtime_env: {jars: [none.jar]}\n";
    String says =
        "config:4:24: applications[0].runtime_env.jars[0]: \"none.jar\", which does not exist"
            + " (expected: an existing .jar file, or a directory of them)";
    HttpResponse<String> text = put(ALL, wrong);
    assertThat(text.statusCode()).isEqualTo(400);
    assertThat(text.body()).isEqualTo(says);
    HttpResponse<String> json = put("/api/v1/applications", wrong);
    assertThat(json.statusCode()).isEqualTo(400);
    assertThat(new JsonObject(json.body()).getJsonArray("problems")).containsExactly(says);
    assertThat(put(ONE, "x".repeat(4 << 20) + "x").statusCode()).isEqualTo(413);
    assertThat(declared).isEmpty();
  }

  @Test
  void aJarThatIsNotKeptIsNamed() throws Exception {
    shelf.full = new IOException("the disk is full");
    String echo = jar("echo.jar", 1).toString();
    HttpResponse<String> answer = put(ONE, entry(echo));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(507);
    assertThat(new JsonObject(answer.body()).getString("message"))
        .startsWith(echo + ": not stored by the control node: ")
        .contains("the disk is full");
    assertThat(declared).isEmpty();
  }

  @Test
  void whyAJarIsNotKeptIsSaidThoughTheDiskFillsInItsMiddle() throws Exception {
    Files.createSymbolicLink(shelf.next(), Path.of("/dev/full"));
    Path big = Files.write(folder.resolve("big.jar"), new byte[20_000_000]); // sockets hold less
    HttpResponse<String> answer = put(ONE, entry(big.toString()));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(507);
    assertThat(new JsonObject(answer.body()).getString("message"))
        .startsWith(big + ": not stored by the control node: ")
        .contains("No space left on device");
  }

  @Test
  void whoReadsWhenHeHasSentAllIsToldAsWell() throws Exception {
    Files.createSymbolicLink(shelf.next(), Path.of("/dev/full"));
    String path = "/api/v1/jars/" + "0".repeat(64);
    HttpResponse<String> sent = put(path, "x".repeat(20_000_000));
    assertThat(sent.statusCode()).as(sent.body()).isEqualTo(507);
  }
}
