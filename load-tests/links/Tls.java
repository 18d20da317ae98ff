import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.JdkSSLEngineOptions;
import io.vertx.core.net.NetClientOptions;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.OpenSSLEngineOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.core.net.PemTrustOptions;
import io.vertx.core.net.TCPSSLOptions;
import java.util.Set;

/**
 * Mutual TLS 1.3 by one engine or the other, or none. The certificates are those that {@code
 * links.sh} made, in the folder that the system property {@code certificates} names.
 */
enum Tls {
  BORINGSSL,
  JDK,
  NONE;

  boolean used() {
    return this != NONE;
  }

  NetServerOptions server() {
    NetServerOptions options = new NetServerOptions();
    apply(options);
    return options.setHost("127.0.0.1").setPort(0).setClientAuth(asked());
  }

  NetClientOptions client() {
    NetClientOptions options = new NetClientOptions();
    apply(options);
    return options.setHostnameVerificationAlgorithm("HTTPS");
  }

  HttpServerOptions httpServer() {
    HttpServerOptions options = new HttpServerOptions();
    apply(options);
    return options.setHost("127.0.0.1").setPort(0).setUseAlpn(used()).setClientAuth(asked());
  }

  HttpClientOptions httpClient() {
    HttpClientOptions options = new HttpClientOptions();
    apply(options);
    return options.setUseAlpn(used());
  }

  EventBusOptions bus() {
    EventBusOptions options = new EventBusOptions();
    apply(options);
    return options.setHost("127.0.0.1").setTrustAll(false).setClientAuth(asked());
  }

  private ClientAuth asked() {
    return used() ? ClientAuth.REQUIRED : ClientAuth.NONE;
  }

  private void apply(TCPSSLOptions options) {
    if (!used()) {
      return;
    }
    String folder = System.getProperty("certificates");
    options
        .setSsl(true)
        .setSslEngineOptions(
            this == BORINGSSL ? new OpenSSLEngineOptions() : new JdkSSLEngineOptions())
        .setEnabledSecureTransportProtocols(Set.of("TLSv1.3"))
        .setKeyCertOptions(
            new PemKeyCertOptions()
                .setCertPath(folder + "/node.pem")
                .setKeyPath(folder + "/node-key.pem"))
        .setTrustOptions(new PemTrustOptions().addCertPath(folder + "/ca.pem"));
  }
}
