package dev.berth.ingress;

import static dev.berth.ingress.IngressRig.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import dev.berth.config.HttpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.fakes.LogLines;
import dev.berth.net.tls.TlsFileWatcher;
import io.netty.handler.ssl.OpenSsl;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.net.NetClient;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** TLS over real sockets, by the engine that this machine has. */
class TlsIT {
  private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);

  @TempDir private Path folder;
  private X509Bundle authority;
  private Path certificate;
  private Path key;
  @AutoClose private @Nullable IngressRig rig;

  @BeforeEach
  void writeFiles() throws Exception {
    authority = Certificates.authority();
    certificate = folder.resolve("server.pem");
    key = folder.resolve("server.key");
    install(Certificates.server(authority, "first"));
  }

  private void install(X509Bundle server) throws IOException {
    Certificates.write(certificate, server.getCertificatePathPEM());
    Certificates.write(key, server.getPrivateKeyPEM());
  }

  private Settings tls(Settings base) {
    return base.with(HttpOptions.KEEP_ALIVE_TIMEOUT_S, KEEP_ALIVE)
        .with(HttpOptions.SSL_CERTFILE, certificate)
        .with(HttpOptions.SSL_KEYFILE, key);
  }

  private void start() throws Exception {
    start(null);
  }

  private void start(@Nullable Path authorities) throws Exception {
    Settings http = tls(IngressRig.LOCAL).with(HttpOptions.SSL_CA_CERTS, authorities);
    rig = new IngressRig(http).route("/");
    rig.upstream.behave(call -> call.respond(call.request().bytes().toString()));
  }

  private HttpClientOptions client() {
    return new HttpClientOptions()
        .setSsl(true)
        .setUseAlpn(true)
        .setProtocolVersion(HttpVersion.HTTP_2)
        .setDefaultHost("127.0.0.1")
        .setDefaultPort(rig.port())
        .setVerifyHost(true)
        .setTrustOptions(
            new PemTrustOptions().addCertValue(Buffer.buffer(authority.getCertificatePEM())));
  }

  @Test
  void theNativeEngineIsUsedHere() {
    assertThat(OpenSsl.isAvailable()).as("%s", OpenSsl.unavailabilityCause()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "TLSv1.3, HTTP_2",
    "TLSv1.3, HTTP_1_1",
    "TLSv1.2, HTTP_2",
    "TLSv1.2, HTTP_1_1",
  })
  void bothVersionsOfTlsCarryBothOfHttp(String tls, HttpVersion version) throws Exception {
    start();
    HttpClient client =
        rig.vertx.createHttpClient(
            client()
                .setEnabledSecureTransportProtocols(Set.of(tls))
                .setProtocolVersion(version)
                .setAlpnVersions(List.of(version)));
    byte[] body = new byte[50_000];
    Arrays.fill(body, (byte) 'x');
    AtomicReference<HttpClientRequest> sent = new AtomicReference<>();
    Future<Buffer> answer =
        client
            .request(HttpMethod.POST, "/")
            .compose(
                request -> { // on the client's loop: from here a handler may come after the body
                  sent.set(request);
                  return request.send(Buffer.buffer(body)).compose(HttpClientResponse::body);
                });
    assertThat(await(answer).length()).isEqualTo(body.length);
    HttpClientRequest request = sent.get();
    assertThat(request.connection().sslSession().getProtocol()).isEqualTo(tls);
    assertThat(await(request.response()).version()).isEqualTo(version);
  }

  @Test
  void olderVersionsOfTlsAreRefused() throws Exception {
    start();
    HttpClient client =
        rig.vertx.createHttpClient(client().setEnabledSecureTransportProtocols(Set.of("TLSv1.1")));
    assertThatThrownBy(() -> await(client.request(HttpMethod.GET, "/")))
        .hasMessageContaining("SSLHandshakeException");
  }

  @Test
  void plainHttpIsNotAnsweredAndASilentClientIsClosed() throws Exception {
    Settings tight = IngressRig.limits(2, IngressRig.LOCAL, IngressRig.SHORT);
    rig = new IngressRig(tls(tight)).route("/");
    try (RawClient plain = new RawClient(rig.port());
        RawClient silent = new RawClient(rig.port())) {
      rig.eventually("counted before the handshake", () -> rig.connections() == 2);
      try (RawClient third = new RawClient(rig.port())) {
        assertThat(third.readToEnd()).as("too many").isEmpty();
      } catch (IOException reset) {
        // an end too
      }
      plain.get("/");
      assertThat(plain.readToEnd()).doesNotContain("HTTP");
      assertThat(silent.readToEnd()).isEmpty();
    }
    rig.eventually("no connection", () -> rig.connections() == 0);
  }

  @Test
  void aHeadThatIsNotWholeInTimeIs408OverTlsToo() throws Exception {
    Settings tight = IngressRig.limits(4, IngressRig.LOCAL, IngressRig.SHORT);
    rig = new IngressRig(tls(tight)).route("/");
    // What comes with the end of the handshake may be all of the first piece.
    assertThat(answerTo("GET / HTTP/1.1\r\n", "Ho")).startsWith("HTTP/1.1 408");
  }

  @Test
  void aRequestThatIsNotHttpIsRefusedOverTlsToo() throws Exception {
    String head = "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n";
    String hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    start();
    assertThat(answerTo(head + hidden, ""))
        .startsWith("HTTP/1.1 400")
        .doesNotContain("HTTP/1.1 200");
  }

  /** What came back for two pieces until the connection was closed. */
  private String answerTo(String first, String second) throws Exception {
    NetClient client =
        rig.vertx.createNetClient(
            new NetClientOptions()
                .setSsl(true)
                .setHostnameVerificationAlgorithm("")
                .setTrustAll(true));
    StringBuilder read = new StringBuilder();
    await(
        connectQuickly(client)
            .compose(
                socket -> {
                  Promise<Void> closed = Promise.promise();
                  socket.handler(piece -> read.append(piece));
                  socket.closeHandler(end -> closed.complete());
                  socket.write(first);
                  rig.vertx.setTimer(50, id -> socket.write(second));
                  return closed.future();
                }));
    return read.toString();
  }

  /**
   * The server's clock runs from the moment it accepts. So a handshake that took much of that time,
   * on a machine that has other work, is not the one to measure by: another is made.
   */
  private Future<NetSocket> connectQuickly(NetClient client) {
    long began = System.nanoTime();
    return client
        .connect(rig.port(), "127.0.0.1")
        .transform(
            connected -> {
              boolean quick = System.nanoTime() - began < IngressRig.SHORT.toNanos() / 3;
              if (connected.succeeded() && quick) {
                return Future.succeededFuture(connected.result());
              }
              Future<?> left =
                  connected.succeeded() ? connected.result().close() : Future.succeededFuture();
              return left.compose(closed -> connectQuickly(client));
            });
  }

  @ParameterizedTest
  @CsvSource({"rsa2048", "ecp384"})
  void keysOfEachKindServe(String kind) throws Exception {
    install(Certificates.server(authority, kind, CertificateBuilder.Algorithm.valueOf(kind)));
    start();
    assertThat(subject()).isEqualTo("CN=" + kind);
  }

  @Test
  void aClientNeedsACertificateWhenAuthoritiesAreGiven() throws Exception {
    Path authorities = Certificates.write(folder.resolve("ca.pem"), authority.getCertificatePEM());
    start(authorities);
    HttpClient without =
        rig.vertx.createHttpClient(client().setProtocolVersion(HttpVersion.HTTP_1_1));
    assertThatThrownBy(
            () -> await(without.request(HttpMethod.GET, "/").compose(HttpClientRequest::send)))
        .isNotNull();
    X509Bundle stranger = Certificates.client(Certificates.authority());
    assertThatThrownBy(() -> await(get(certified(stranger)))).isNotNull();
    assertThat(await(get(certified(Certificates.client(authority))))).isEqualTo(200);
  }

  private HttpClientOptions certified(X509Bundle own) {
    return client()
        .setKeyCertOptions(
            new PemKeyCertOptions()
                .addCertValue(Buffer.buffer(own.getCertificatePathPEM()))
                .addKeyValue(Buffer.buffer(own.getPrivateKeyPEM())));
  }

  private Future<Integer> get(HttpClientOptions options) {
    HttpClient client = rig.vertx.createHttpClient(options);
    return client
        .request(HttpMethod.GET, "/")
        .compose(HttpClientRequest::send)
        .map(HttpClientResponse::statusCode)
        .onComplete(done -> client.close()); // and one that nothing holds may close before
  }

  // --- reload ---

  @Test
  void newFilesServeNewConnectionsAndNoRequestFails() throws Exception {
    start();
    assertThat(subject()).isEqualTo("CN=first");
    HttpClient kept = rig.vertx.createHttpClient(client(), new PoolOptions());
    assertThat(await(get(kept))).isEqualTo(200);

    AtomicInteger served = new AtomicInteger();
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    long load =
        rig.vertx.setPeriodic(
            5,
            id -> {
              // One request on the connection that is kept, one on a new one.
              for (HttpClient each : List.of(kept, rig.vertx.createHttpClient(client()))) {
                get(each)
                    .onSuccess(status -> served.incrementAndGet())
                    .onFailure(failed -> failure.compareAndSet(null, failed))
                    .onComplete(done -> closeUnless(each, kept));
              }
            });
    install(Certificates.server(authority, "second"));
    awaitSubject("CN=second");
    int before = served.get();
    rig.eventually("more requests", () -> served.get() > before + 20);
    rig.vertx.cancelTimer(load);
    assertThat(failure.get()).isNull();
  }

  private static void closeUnless(HttpClient client, HttpClient kept) {
    if (client != kept) {
      client.close();
    }
  }

  private static Future<Integer> get(HttpClient client) {
    return client
        .request(HttpMethod.GET, "/")
        .compose(HttpClientRequest::send)
        .compose(response -> response.body().map(response.statusCode()));
  }

  @Test
  void aBrokenNewPairIsNotTakenAndTheOldOneServes() throws Exception {
    start();
    try (LogLines said = new LogLines(TlsFileWatcher.class, Level.WARN)) {
      Certificates.write(key, Certificates.server(authority, "x").getPrivateKeyPEM());
      rig.eventually("a warning", () -> warnings(said) > 0);
      assertThat(subject()).isEqualTo("CN=first");
      install(Certificates.server(authority, "repaired"));
      awaitSubject("CN=repaired");
      assertThat(warnings(said)).as("said once").isOne();
    }
  }

  private static long warnings(LogLines said) {
    return List.copyOf(said.all()).stream()
        .filter(event -> event.getFormattedMessage().contains("not loaded"))
        .count();
  }

  // --- files that cannot be used ---

  @Test
  void filesOfNoUseAreNamedByTheirKey() throws Exception {
    X509Bundle other = Certificates.server(authority, "other");
    String goodKey = Files.readString(key);
    String goodCertificate = Files.readString(certificate);

    Files.writeString(key, other.getPrivateKeyPEM());
    assertRefused(null, "http_options.ssl_keyfile: ", "the key of ssl_certfile");
    Files.writeString(key, "nothing");
    assertRefused(null, "http_options.ssl_keyfile: ", "a private key in PEM");
    String old =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,9C\n";
    for (String encrypted : List.of("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHs\n", old)) {
      Files.writeString(key, encrypted);
      assertRefused(
          null,
          "http_options.ssl_keyfile: " + key + ", an encrypted key (expected: one without",
          "openssl pkcs8 -topk8 -nocrypt -in " + key + " -out plain.pem)");
    }
    Files.writeString(key, goodKey);
    Files.writeString(certificate, "nothing");
    assertRefused(null, "http_options.ssl_certfile: ", "X.509");
    Files.writeString(certificate, goodCertificate);
    Path authorities = Files.writeString(folder.resolve("ca.pem"), "nothing");
    assertRefused(authorities, "http_options.ssl_ca_certs: ", "X.509");
    Files.delete(key);
    assertRefused(null, "http_options.ssl_keyfile: ", "a readable file");
  }

  private void assertRefused(@Nullable Path authorities, String... parts) {
    assertThatThrownBy(() -> start(authorities))
        .satisfies(refusal -> assertThat(refusal.getMessage()).contains(parts));
  }

  // --- helpers ---

  /** Of the certificate that a new connection is shown. */
  private String subject() throws Exception {
    HttpClient client = rig.vertx.createHttpClient(client());
    try {
      HttpClientRequest request = await(client.request(HttpMethod.GET, "/"));
      X509Certificate shown =
          (X509Certificate) request.connection().sslSession().getPeerCertificates()[0];
      await(request.send());
      return shown.getSubjectX500Principal().getName();
    } finally {
      await(client.close());
    }
  }

  /** Connects again and again until the certificate is another one. */
  private void awaitSubject(String wanted) throws Exception {
    long began = System.nanoTime();
    String shown = subject();
    while (!shown.equals(wanted)) {
      assertThat(System.nanoTime() - began).as("after %s", shown).isLessThan(10_000_000_000L);
      shown = subject();
    }
  }
}
