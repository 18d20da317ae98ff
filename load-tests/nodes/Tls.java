import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.TCPSSLOptions;
import java.util.Set;

/**
 * Mutual TLS 1.3 by BoringSSL, as between nodes.
 *
 * @param folder that {@code berth cluster init} made
 */
record Tls(String folder) {
  HttpServerOptions server() {
    return with(new HttpServerOptions())
        .setHost("127.0.0.1")
        .setPort(0)
        .setUseAlpn(true)
        .setClientAuth(ClientAuth.REQUIRED);
  }

  HttpClientOptions client() {
    return with(new HttpClientOptions()).setUseAlpn(true);
  }

  EventBusOptions bus() {
    return with(new EventBusOptions())
        .setHost("127.0.0.1")
        .setTrustAll(false)
        .setClientAuth(ClientAuth.REQUIRED);
  }

  private <T extends TCPSSLOptions> T with(T options) {
    options
        .setSsl(true)
        .setSslEngineOptions(new OpenSSLEngineOptions())
        .setEnabledSecureTransportProtocols(Set.of("TLSv1.3"))
        .setKeyCertOptions(
            new PemKeyCertOptions()
                .setCertPath(folder + "/n1.pem")
                .setKeyPath(folder + "/n1-key.pem"))
        .setTrustOptions(new PemTrustOptions().addCertPath(folder + "/ca.pem"));
    return options;
  }
}
