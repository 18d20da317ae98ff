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
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A server that runs, in its own process, or in several whose costs are added up.
 *
 * @param processes the first is the one that is asked
 * @param port where the first answers
 * @param adminPort of the first; 0 of a raw server
 * @param probePorts where {@link Probe} answers in each
 * @param certificate of a server that speaks TLS
 */
record Server(
    String name,
    List<Process> processes,
    int port,
    int adminPort,
    List<Integer> probePorts,
    Optional<Path> certificate) {
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

  URI uri(String path) {
    return URI.create((certificate.isPresent() ? "https" : "http") + "://127.0.0.1:" + port + path);
  }

  /** By all its threads that are alive, since its start. */
  long allocatedBytes() throws IOException {
    long bytes = 0;
    for (int port : probePorts) {
      try (Socket probe = new Socket(InetAddress.getLoopbackAddress(), port)) {
        probe.setSoTimeout((int) ANSWER_TIMEOUT.toMillis());
        byte[] answer = probe.getInputStream().readAllBytes();
        bytes += Long.parseLong(new String(answer, StandardCharsets.US_ASCII).split(" ")[0]);
      }
    }
    return bytes;
  }

  long residentKib() throws IOException {
    long kib = 0;
    for (Process process : processes) {
      kib += ProcessFigures.residentKib(process.pid());
    }
    return kib;
  }

  long userMicros() throws IOException {
    long micros = 0;
    for (Process process : processes) {
      micros += ProcessFigures.userMicros(process.pid());
    }
    return micros;
  }

  /** The same server with the costs of another added to its own. */
  Server with(Server other) {
    return new Server(
        name,
        Stream.of(processes, other.processes).flatMap(List::stream).toList(),
        port,
        adminPort,
        Stream.of(probePorts, other.probePorts).flatMap(List::stream).toList(),
        certificate);
  }

  /** One answer, over HTTP/1.1 on a connection of its own. */
  HttpResponse<byte[]> get(String path) throws IOException, InterruptedException {
    return answer(Ask.get(path));
  }

  HttpResponse<byte[]> answer(Ask ask) throws IOException, InterruptedException {
    HttpClient.Builder client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1);
    if (certificate.isPresent()) {
      client.sslContext(trusting(certificate.get()));
    }
    HttpRequest.Builder request = HttpRequest.newBuilder(uri(ask.path())).timeout(ANSWER_TIMEOUT);
    ask.header()
        .lines()
        .map(line -> line.split(": ", 2))
        .forEach(parts -> request.header(parts[0], parts[1]));
    if (!ask.body().isEmpty()) {
      request.POST(HttpRequest.BodyPublishers.ofString(ask.body()));
    }
    return client.build().send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
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
