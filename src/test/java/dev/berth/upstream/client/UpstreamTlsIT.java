package dev.berth.upstream.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.ingress.Certificates;
import dev.berth.net.tls.TlsFileException;
import dev.berth.upstream.client.UpstreamRig.RecordedExchange;
import dev.berth.upstream.client.UpstreamRig.RemotePeer;
import dev.berth.upstream.client.UpstreamTarget.HttpVersions;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.pkitesting.X509Bundle;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The client under TLS, against upstreams that each test plays itself. */
@Timeout(60)
@ParameterizedClass
@EnumSource(names = {"HTTP_1", "NEGOTIATED"})
class UpstreamTlsIT {
  private static final String OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

  @TempDir private Path folder;
  @Parameter private HttpVersions versions;
  private UpstreamRig rig;
  private X509Bundle authority;
  private SSLContext server;
  private Socket plain; // below the last accepted TLS socket

  @BeforeEach
  void begin() throws Exception {
    rig = new UpstreamRig();
    rig.versions = versions;
    authority = Certificates.authority();
    server = SSLContext.getInstance("TLS");
    server.init(
        Certificates.server(authority, "upstream").toKeyManagerFactory().getKeyManagers(),
        authority.toTrustManagerFactory().getTrustManagers(),
        null);
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private Path file(String name, String pem) throws Exception {
    return Certificates.write(folder.resolve(name), pem);
  }

  private Path ca(X509Bundle of) throws Exception {
    return file("ca.pem", of.getCertificatePEM());
  }

  private void use(@Nullable UpstreamTls tls) throws Exception {
    rig.use(
        rig.target(
            "127.0.0.1",
            tls,
            UpstreamRig.timeouts(UpstreamRig.LONG, UpstreamRig.LONG),
            UpstreamRig.ANY));
  }

  private RemotePeer accept(boolean clientAuth) throws Exception {
    plain = rig.server.accept();
    SSLSocket tls = (SSLSocket) server.getSocketFactory().createSocket(plain, "127.0.0.1", 0, true);
    tls.setUseClientMode(false);
    tls.setNeedClientAuth(clientAuth);
    return new RemotePeer(tls);
  }

  private RemotePeer roundTrip(@Nullable RemotePeer on) throws Exception {
    RecordedExchange made = rig.get("/");
    RemotePeer peer = on == null ? accept(false) : on;
    peer.readHead();
    peer.send(OK);
    made.expect("head 200", "piece ok", "end");
    return peer;
  }

  /** A client with either library and either version. */
  private void use(boolean openSsl, String protocol) throws Exception {
    use(
        new UpstreamTls(
            SslContextBuilder.forClient()
                .sslProvider(
                    openSsl && OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                .protocols(protocol)
                .trustManager(authority.getCertificate())
                .applicationProtocolConfig(alpn(versions))
                .build(),
            "localhost"));
  }

  private static ApplicationProtocolConfig alpn(HttpVersions versions) {
    return versions == HttpVersions.HTTP_1
        ? ApplicationProtocolConfig.DISABLED
        : new ApplicationProtocolConfig(
            ApplicationProtocolConfig.Protocol.ALPN,
            ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
            ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
            versions.protocols());
  }

  @Test
  void certificateOfTheAuthorityAndNameIsTrusted() throws Exception {
    for (String name : new String[] {"localhost", "127.0.0.1"}) {
      use(UpstreamTls.read(ca(authority), null, null, name, versions.protocols()));
      roundTrip(roundTrip(null));
    }
  }

  @Test
  void leaseThatEndsDuringTheHandshakeSendsNoRequest() throws Exception {
    use(UpstreamTls.read(ca(authority), null, null, "localhost", versions.protocols()));
    RecordedExchange late = rig.get("/");
    RemotePeer peer = accept(false); // its first read begins the handshake
    ((SSLSocket) peer.socket).setEnabledProtocols(new String[] {"TLSv1.2"}); // the client ends it
    rig.leaseEnded = true;

    assertThat(firstByte(peer)).isEqualTo(-1);
    late.expect("failed not run: the node's lease has ended");
  }

  /** Returns the first byte of a request; -1 when the connection ends without one. */
  private static int firstByte(RemotePeer peer) {
    try {
      return peer.in.read();
    } catch (IOException reset) {
      return -1;
    }
  }

  @Test
  void otherNamesAndAuthoritiesAreNotRun() throws Exception {
    for (UpstreamTls tls :
        new UpstreamTls[] {
          UpstreamTls.read(ca(authority), null, null, "other.example", versions.protocols()),
          UpstreamTls.read(ca(Certificates.authority()), null, null, "localhost"),
          UpstreamTls.read(null, null, null, "localhost", versions.protocols())
        }) {
      use(tls);
      RecordedExchange made = rig.get("/");
      RemotePeer peer = accept(false);
      assertThatThrownBy(peer::readHead).isInstanceOf(java.io.IOException.class);
      assertThat(made.next()).startsWith("failed not run: TLS: ");
    }
  }

  @Test
  void upstreamWithoutTlsIsNotRun() throws Exception {
    use(UpstreamTls.read(ca(authority), null, null, "localhost", versions.protocols()));
    RecordedExchange made = rig.get("/");
    RemotePeer peer = rig.accept();
    peer.send(OK);
    assertThat(made.next()).startsWith("failed not run: TLS: ");
    RecordedExchange closed = rig.get("/");
    rig.accept().socket.close();
    assertThat(closed.next()).startsWith("failed not run: ");
  }

  @Test
  void clientCertificateIsSent() throws Exception {
    X509Bundle own = Certificates.client(authority);
    Path certificate = file("cert.pem", own.getCertificatePathPEM());
    Path key = file("key.pem", own.getPrivateKeyPEM());
    use(UpstreamTls.read(ca(authority), certificate, key, "localhost", versions.protocols()));
    RecordedExchange made = rig.get("/");
    RemotePeer peer = accept(true);
    peer.readHead();
    assertThat(((SSLSocket) peer.socket).getSession().getPeerPrincipal().getName())
        .isEqualTo("CN=client");
    peer.send(OK);
    made.expect("head 200", "piece ok", "end");

    use(UpstreamTls.read(ca(authority), null, null, "localhost", versions.protocols()));
    RecordedExchange bare = rig.get("/");
    RemotePeer strict = accept(true);
    assertThatThrownBy(strict::readHead).isInstanceOf(java.io.IOException.class);
    assertThat(bare.next()).startsWith("failed ");
  }

  @Test
  void unusableFilesAreNamed() throws Exception {
    Path broken = file("broken.pem", "nothing");
    assertThatThrownBy(
            () -> UpstreamTls.read(broken, null, null, "localhost", versions.protocols()))
        .isInstanceOf(TlsFileException.class)
        .hasMessageContaining("tls.ca_file: " + broken);
    assertThatThrownBy(
            () -> UpstreamTls.read(null, broken, broken, "localhost", versions.protocols()))
        .isInstanceOf(TlsFileException.class)
        .hasMessageContaining("tls.cert_file: " + broken);
  }

  @ParameterizedTest
  @CsvSource({"true, TLSv1.3", "true, TLSv1.2", "false, TLSv1.3", "false, TLSv1.2"})
  void cancelIsConfirmedByTheCloseOrReset(boolean openSsl, String protocol) throws Exception {
    use(openSsl, protocol);
    for (boolean confirmed : new boolean[] {true, false}) {
      RecordedExchange made = rig.get("/");
      RemotePeer peer = accept(false);
      peer.readHead();
      peer.send("HTTP/1.1 200 OK\r\n\r\n");
      made.expect("head 200");
      long begin = System.nanoTime();
      rig.run(
          () -> {
            made.exchange.cancel(confirmed ? UpstreamRig.LONG : UpstreamRig.GRACE);
          });
      if (confirmed) {
        assertThat(peer.readEnd()).isEqualTo("end");
        peer.socket.close();
      } else {
        peer.send("late"); // no close
      }
      made.expect("cancelled " + confirmed);
      if (!confirmed) {
        assertThatThrownBy(
                () -> {
                  while (true) {
                    plain.getOutputStream().write(0);
                  }
                })
            .isInstanceOf(java.net.SocketException.class);
      }
      assertThat(System.nanoTime() - begin).isLessThan(TimeUnit.MILLISECONDS.toNanos(2_500));
    }
  }

  @Test
  void stalledUploadIsResetAfterTheGrace() throws Exception {
    use(true, "TLSv1.3");
    RecordedExchange made = rig.send("POST", "/", 32 << 20, null);
    RemotePeer peer = accept(false);
    peer.readHead();
    rig.on(() -> made.exchange.write(Buffer.buffer(new byte[32 << 20])));
    long begin = System.nanoTime();
    rig.run(() -> made.exchange.cancel(UpstreamRig.GRACE));
    made.expect("cancelled false");
    assertThat(System.nanoTime() - begin).isLessThan(TimeUnit.MILLISECONDS.toNanos(2_500));
    assertThat(new RemotePeer(plain).readEnd()).isEqualTo("reset");
  }

  @ParameterizedTest
  @CsvSource({"true, TLSv1.3", "true, TLSv1.2", "false, TLSv1.3", "false, TLSv1.2"})
  void closeNotifyEndsABodyAndMereEndDoesNot(boolean openSsl, String protocol) throws Exception {
    use(openSsl, protocol);
    RecordedExchange whole = rig.get("/");
    RemotePeer peer = accept(false);
    peer.readHead();
    peer.send("HTTP/1.1 200 OK\r\n\r\nall");
    whole.expect("head 200", "piece all");
    peer.socket.close();
    whole.expect("end");

    RecordedExchange cut = rig.get("/");
    peer = accept(false);
    peer.readHead();
    peer.send("HTTP/1.1 200 OK\r\n\r\nhalf");
    cut.expect("head 200", "piece half");
    plain.shutdownOutput();
    assertThat(cut.next()).startsWith("failed unknown: response: closed by the upstream");
  }

  @ParameterizedTest
  @CsvSource({"true, TLSv1.3", "true, TLSv1.2", "false, TLSv1.3", "false, TLSv1.2"})
  void idleConnectionClosesWithoutDelay(boolean openSsl, String protocol) throws Exception {
    use(openSsl, protocol);
    RemotePeer peer = roundTrip(null);
    long begin = System.nanoTime();
    assertThat(peer.readEnd()).isEqualTo("end"); // a close_notify
    assertThat(new RemotePeer(plain).readEnd()).isIn("end", "reset"); // and at once the close
    assertThat(System.nanoTime() - begin)
        .isBetween(TimeUnit.MILLISECONDS.toNanos(1_300), TimeUnit.MILLISECONDS.toNanos(2_500));
  }

  @Test
  void largeBodiesPassBothWays() throws Exception {
    use(UpstreamTls.read(ca(authority), null, null, "localhost", versions.protocols()));
    RecordedExchange made = rig.send("POST", "/", 4 << 20, null);
    RemotePeer peer = accept(false);
    peer.readHead();
    rig.run(
        () -> {
          made.exchange.write(Buffer.buffer(new byte[4 << 20]));
          made.exchange.end();
        });
    assertThat(peer.read(4 << 20)).hasSize(4 << 20);
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: " + (4 << 20) + "\r\n\r\n");
    peer.send("x".repeat(4 << 20));
    made.expect("head 200");
    made.events.removeIf(event -> event.startsWith("piece"));
    String last = made.next();
    while (last.startsWith("piece")) {
      last = made.next();
    }
    assertThat(last).isEqualTo("end");
    assertThat(made.received).isEqualTo(4 << 20);
    roundTrip(peer);
  }
}
