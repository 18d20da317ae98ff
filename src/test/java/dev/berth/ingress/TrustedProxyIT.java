package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.Backpressure;
import dev.berth.config.HttpOptions;
import dev.berth.config.InstanceOptions;
import dev.berth.config.LimitOptions;
import dev.berth.config.LogEncoding;
import dev.berth.config.keys.Settings;
import dev.berth.ingress.access.AccessLog;
import dev.berth.protocol.BusMessage;
import dev.berth.protocol.RequestOrigin;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Headers of proxies, and headers of the PROXY protocol, from trusted peers and from others. */
class TrustedProxyIT {
  private static final Settings TRUSTED =
      IngressRig.LOCAL.with(LimitOptions.TRUSTED_PROXIES, List.of("127.0.0.1", "10.0.0.0/8"));
  private static final Settings PREFACED = TRUSTED.with(InstanceOptions.PROXY_PROTOCOL, true);
  private static final String V1 = "PROXY TCP4 192.0.2.1 127.0.0.1 56324 8000\r\n";
  private static final byte[] V2 =
      ByteBufUtil.decodeHexDump(
          "0d0a0d0a000d0a515549540a" + "2111000f" + "c00002017f000001" + "dc041f40" + "040000");
  private static final String GET = "GET / HTTP/1.1\r\nHost: own\r\nConnection: close\r\n";

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final AccessLog log = new AccessLog(100, System::currentTimeMillis, lines::add);
  private final Thread writer = new Thread(log, "writer");
  private IngressRig rig = new IngressRig(IngressRig.LOCAL);

  TrustedProxyIT() throws Exception {
    writer.start();
  }

  private void start(Settings settings) throws Exception {
    rig.close();
    rig = new IngressRig(settings, made -> made.logAccess(log, LogEncoding.JSON));
    rig.upstream.behave(
        call -> {
          Map<String, String> headers = new TreeMap<>();
          call.request()
              .headers()
              .forEach(
                  (name, value) -> {
                    if (name.toLowerCase(java.util.Locale.ROOT).contains("forwarded")) {
                      headers.merge(
                          name.toLowerCase(java.util.Locale.ROOT), value, (a, b) -> a + "|" + b);
                    }
                  });
          call.respond(headers.toString());
        });
    rig.ingress.update(
        RouteTable.of(
            "",
            Map.of(
                "/",
                new IngressRoute(
                    "app", rig.upstream.router(), Backpressure.DEFAULTS, LogEncoding.JSON))));
  }

  @AfterEach
  void stop() throws Exception {
    rig.close();
    log.close();
    writer.join(10_000);
  }

  private JsonObject line() throws Exception {
    String line = lines.poll(10, TimeUnit.SECONDS);
    assertThat(line).as("a line within 10 s").isNotNull();
    return new JsonObject(line);
  }

  private void assertOrigin(String client, String scheme, String host) throws Exception {
    assertThat(line().getMap())
        .containsEntry("client", client)
        .containsEntry("scheme", scheme)
        .containsEntry("host", host);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10.0.0.0/8"})
  void headersOfAnUntrustedClientAreData(String trusted) throws Exception {
    List<String> networks = trusted.isEmpty() ? List.of() : List.of(trusted);
    start(IngressRig.LOCAL.with(LimitOptions.TRUSTED_PROXIES, networks));
    String answer =
        rig.told(
            GET
                + "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
                + "Forwarded: for=10.0.0.1\r\n\r\n");
    assertThat(answer)
        .endsWith("{forwarded=for=10.0.0.1, x-forwarded-for=192.0.2.1, x-forwarded-proto=https}");
    assertThat(line().getMap()).doesNotContainKeys("client", "scheme", "host");
  }

  @Test
  void headersOfATrustedProxyNameTheOrigin() throws Exception {
    start(TRUSTED);
    String answer =
        rig.told(
            GET
                + "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\nX-Forwarded-For: 10.3.3.3\r\n"
                + "X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\n"
                + "X-Forwarded-Port: 8443\r\n\r\n");
    String normal =
        "{x-forwarded-for=192.0.2.1, x-forwarded-host=shop.example:8443, x-forwarded-proto=https}";
    assertThat(answer).endsWith(normal);
    assertOrigin("192.0.2.1", "https", "shop.example:8443");
    assertThat(rig.told(GET + "\r\n"))
        .endsWith("{x-forwarded-for=127.0.0.1, x-forwarded-host=own, x-forwarded-proto=http}");
    assertOrigin("127.0.0.1", "http", "own");
    assertThat(rig.told("GET / HTTP/1.0\r\n\r\n"))
        .endsWith("{x-forwarded-for=127.0.0.1, x-forwarded-proto=http}");
    assertOrigin("127.0.0.1", "http", ""); // no host
    RawHttp2 http2 = rig.http2();
    http2.get(1, "/", "forwarded", "for=\"[2001:db8::1]:4\";proto=https");
    assertThat(new String(http2.next(0, 1).payload(), StandardCharsets.UTF_8))
        .startsWith("{x-forwarded-for=2001:db8::1, x-forwarded-host=")
        .endsWith(", x-forwarded-proto=https}");
    assertThat(line().getString("client")).isEqualTo("2001:db8::1");
  }

  private RequestOrigin originAtReplica(String request) throws Exception {
    assertThat(rig.told(request)).startsWith("HTTP/1.1 200");
    return Objects.requireNonNull(rig.upstream.nextCall().message.origin());
  }

  @Test
  void replicaKnowsTheOriginThatATrustedProxyNames() throws Exception {
    start(TRUSTED);
    String named = GET + "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.3.3.3\r\n";
    assertThat(
            originAtReplica(named + "X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop:8\r\n\r\n"))
        .isEqualTo(new RequestOrigin("192.0.2.1", "https", "shop:8"));
    assertThat(originAtReplica(GET + "Forwarded: for=\"[2001:DB8::1]:4\";host=shop\r\n\r\n"))
        .isEqualTo(new RequestOrigin("2001:db8::1", "http", "shop"));
    assertThat(originAtReplica(GET + "X-Forwarded-Host: " + "x".repeat(256) + "\r\n\r\n"))
        .isEqualTo(new RequestOrigin("127.0.0.1", "http", "own"));
    assertThat(originAtReplica(GET.replace("own", "x".repeat(256)) + "\r\n"))
        .isEqualTo(new RequestOrigin("127.0.0.1", "http", null));
  }

  @Test
  void requestsOfAnUntrustedClientShareTheOriginOfTheirConnection() throws Exception {
    start(IngressRig.LOCAL);
    RequestOrigin direct = new RequestOrigin("127.0.0.1", "http", null); // host: as in Host
    String lie = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: evil\r\nForwarded: for=6.6.6.6\r\n";
    assertThat(originAtReplica(GET + lie + "\r\n")).isEqualTo(direct);
    try (RawClient client = rig.raw()) {
      String request = "GET / HTTP/1.1\r\nHost: %s\r\n\r\n";
      client.send(request.formatted("a"));
      RequestOrigin first = rig.upstream.nextCall().message.origin();
      assertThat(first).isEqualTo(direct);
      client.send(request.formatted("b"));
      assertThat(rig.upstream.nextCall().message.origin()).isSameAs(first);
    }
  }

  @Test
  void authorityOfHttp2IsTheHostAndMustBeOne() throws Exception {
    start(IngressRig.LOCAL);
    RawHttp2 client = rig.http2();
    client.get(1, "/"); // without a Host header
    BusMessage.CallRequest call = rig.upstream.nextCall().message;
    assertThat(call.origin()).isEqualTo(new RequestOrigin("127.0.0.1", "http", null));
    assertThat(call.request().headers().get("host")).isEqualTo("test");
    String[] head = {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "[<x>]"};
    for (String authority : List.of("[<x>]", "[fe80::1%25eth0]:80")) {
      head[7] = authority;
      RawHttp2 liar = rig.http2();
      liar.headers(1, true, head);
      assertThat(new String(liar.next(0, 1).payload(), StandardCharsets.UTF_8))
          .startsWith("authority: malformed");
    }
  }

  @Test
  void prefaceOfATrustedProxyNamesTheClient() throws Exception {
    start(PREFACED);
    String origin = "{x-forwarded-for=192.0.2.1, x-forwarded-host=own, x-forwarded-proto=http}";
    assertThat(rig.told(V1 + GET + "X-Forwarded-For: 6.6.6.6\r\n\r\n")).endsWith(origin);
    assertOrigin("192.0.2.1", "http", "own");
    String byProxies = V1.replace("192.0.2.1", "10.9.9.9") + GET;
    assertThat(rig.told(byProxies + "X-Forwarded-For: 192.0.2.1\r\n\r\n")).endsWith(origin);
    assertOrigin("192.0.2.1", "http", "own");
    assertThat(rig.told("PROXY UNKNOWN\r\n" + GET + "\r\n")).contains("127.0.0.1");
    assertOrigin("127.0.0.1", "http", "own");
    try (Socket socket = new Socket("127.0.0.1", rig.port())) {
      for (byte each : V2) { // byte by byte
        socket.getOutputStream().write(each);
        socket.getOutputStream().flush();
      }
      socket.getOutputStream().write((GET + "\r\n").getBytes(StandardCharsets.US_ASCII));
      assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
          .endsWith(origin);
    }
    assertOrigin("192.0.2.1", "http", "own");
  }

  @Test
  void prefacePrecedesTlsAndHttp2(@TempDir Path folder) throws Exception {
    X509Bundle server = Certificates.server(Certificates.authority(), "server");
    start(
        PREFACED
            .with(
                HttpOptions.SSL_CERTFILE,
                Certificates.write(folder.resolve("pem"), server.getCertificatePathPEM()))
            .with(
                HttpOptions.SSL_KEYFILE,
                Certificates.write(folder.resolve("key"), server.getPrivateKeyPEM())));
    SSLContext trusting = SSLContext.getInstance("TLS");
    trusting.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
    try (Socket socket = new Socket("127.0.0.1", rig.port())) {
      socket.getOutputStream().write(V2);
      try (Socket tls =
          trusting.getSocketFactory().createSocket(socket, "127.0.0.1", rig.port(), true)) {
        tls.getOutputStream().write((GET + "\r\n").getBytes(StandardCharsets.US_ASCII));
        assertThat(new String(tls.getInputStream().readAllBytes(), StandardCharsets.US_ASCII))
            .endsWith("{x-forwarded-for=192.0.2.1, x-forwarded-host=own, x-forwarded-proto=https}");
      }
    }
    assertOrigin("192.0.2.1", "https", "own");
    start(PREFACED);
    try (Socket socket = new Socket("127.0.0.1", rig.port())) {
      byte[] settings = {0, 0, 0, 4, 0, 0, 0, 0, 0};
      socket.getOutputStream().write((V1 + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").getBytes());
      socket.getOutputStream().write(settings);
      assertThat(socket.getInputStream().readNBytes(4)[3]).isEqualTo((byte) 4); // its settings
    }
  }

  @Test
  void connectionWithoutItsPrefaceIsClosed() throws Exception {
    start(PREFACED.with(LimitOptions.HEADER_READ_TIMEOUT_S, IngressRig.SHORTEST));
    assertThat(rig.told(GET + "\r\n")).isEmpty();
    assertThat(rig.told("PROXY TCP4 nonsense\r\n" + GET + "\r\n")).isEmpty();
    assertThat(rig.told("PROXY TCP4 192.0.2.1 127.0.0.1 56324")).isEmpty(); // never complete
    try (Socket socket = new Socket("127.0.0.1", rig.port())) { // a byte for each sweep
      socket.setSoTimeout(50);
      InputStream in = socket.getInputStream();
      int read = 0;
      for (int i = 0; i < 100 && read != -1; i++) {
        read = drip(socket, in);
      }
      assertThat(read).isEqualTo(-1);
    }
    assertThat(rig.told(V1 + GET + "\r\n")).startsWith("HTTP/1.1 200");
  }

  private static int drip(Socket socket, InputStream in) throws IOException {
    try {
      socket.getOutputStream().write('P');
      return in.read();
    } catch (java.net.SocketTimeoutException open) {
      return 0;
    } catch (IOException closed) {
      return -1;
    }
  }

  @Test
  void prefaceOfAnUntrustedClientIsNoHttp() throws Exception {
    start(PREFACED.with(LimitOptions.TRUSTED_PROXIES, List.of("10.0.0.0/8")));
    assertThat(rig.told(V1 + GET + "\r\n")).startsWith("HTTP/1.1 400");
    assertThat(rig.told(GET + "\r\n")).startsWith("HTTP/1.1 200");
    start(TRUSTED); // the protocol is off
    assertThat(rig.told(V1 + GET + "\r\n")).startsWith("HTTP/1.1 400");
  }

  @Test
  void rateOfConnectionsCountsByClientNotByProxy() throws Exception {
    start(PREFACED.with(LimitOptions.ADDRESS_CONNECTION_RATE, 1));
    List<RawClient> clients = new ArrayList<>();
    for (int i = 0; i < 14; i++) {
      clients.add(rig.raw().send(V1 + GET + "\r\n"));
    }
    int served = 0;
    for (RawClient each : clients) {
      served += readAll(each).startsWith("HTTP/1.1 200") ? 1 : 0;
    }
    assertThat(served).isBetween(11, 13); // 10 at once, and those that waited for at most 1 s
    assertThat(rig.told(V1.replace("2.1 ", "2.7 ") + GET + "\r\n")).startsWith("HTTP/1.1 200");
    assertThat(rig.metric("berth_http_connections_over_rate_total")).isPositive();
  }

  private static String readAll(RawClient client) {
    try {
      return client.readToEnd();
    } catch (IOException reset) {
      return "";
    }
  }
}
