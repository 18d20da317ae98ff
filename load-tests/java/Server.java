import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A server that runs, in its own process.
 *
 * @param probePort where {@link Probe} answers in it
 * @param certificate of a server that speaks TLS
 */
record Server(String name, Process process, int port, int probePort, Optional<Path> certificate) {
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

  /** What it has used since its start. */
  record Used(long cpuMicros, long allocatedBytes, long collectionMillis) {}

  URI uri(String path) {
    return URI.create((certificate.isPresent() ? "https" : "http") + "://127.0.0.1:" + port + path);
  }

  Used used() throws IOException {
    String[] figures;
    try (Socket probe = new Socket(InetAddress.getLoopbackAddress(), probePort)) {
      probe.setSoTimeout((int) ANSWER_TIMEOUT.toMillis());
      byte[] answer = probe.getInputStream().readAllBytes();
      figures = new String(answer, StandardCharsets.US_ASCII).split(" ");
    }
    return new Used(
        ProcessFigures.cpuMicros(process.pid()),
        Long.parseLong(figures[0]),
        Long.parseLong(figures[2]));
  }

  long residentKib() throws IOException {
    return ProcessFigures.residentKib(process.pid());
  }

  /** One answer, over HTTP/1.1 on a connection of its own. */
  HttpResponse<byte[]> get(String path) throws IOException, InterruptedException {
    HttpClient.Builder client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (certificate.isPresent()) {
      client.sslContext(trusting(certificate.get()));
    }
    HttpRequest request = HttpRequest.newBuilder(uri(path)).timeout(ANSWER_TIMEOUT).build();
    return client.build().send(request, HttpResponse.BodyHandlers.ofByteArray());
  }

  private static SSLContext trusting(Path certificate) throws IOException {
    try (InputStream pem = Files.newInputStream(certificate)) {
      KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
      store.load(null, null);
      store.setCertificateEntry(
          "server", CertificateFactory.getInstance("X.509").generateCertificate(pem));
      TrustManagerFactory trust =
          TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trust.init(store);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(null, trust.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException failed) {
      throw new IOException(certificate + ": cannot be trusted", failed);
    }
  }
}
