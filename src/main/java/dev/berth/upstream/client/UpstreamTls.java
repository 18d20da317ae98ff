package dev.berth.upstream.client;

import dev.berth.net.tls.PemFile;
import dev.berth.net.tls.TlsFiles;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import java.nio.file.Path;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * TLS of an upstream.
 *
 * @param serverName name in the certificate, also sent as SNI
 */
public record UpstreamTls(SslContext context, String serverName) {

  /**
   * Reads the files of {@code tls}, so not for an event loop.
   *
   * @param ca authorities of the upstream's certificate; null for those of the JDK
   * @param certificate of this client, with its key; null for none
   * @param protocols of ALPN, the preferred one first; none for no ALPN
   * @throws dev.berth.net.tls.TlsFileException if a file is unusable
   */
  public static UpstreamTls read(
      @Nullable Path ca,
      @Nullable Path certificate,
      @Nullable Path key,
      String serverName,
      String... protocols) {
    SslContextBuilder builder =
        SslContextBuilder.forClient()
            .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
            .protocols("TLSv1.3", "TLSv1.2");
    if (protocols.length > 0) {
      builder.applicationProtocolConfig(
          new ApplicationProtocolConfig(
              Protocol.ALPN,
              SelectorFailureBehavior.NO_ADVERTISE,
              SelectedListenerFailureBehavior.ACCEPT,
              protocols));
    }
    if (ca != null) {
      builder.trustManager(file("ca_file", ca).certificates());
    }
    if (certificate != null && key != null) {
      TlsFiles own = new TlsFiles(file("cert_file", certificate), file("key_file", key), null);
      builder.keyManager(own.read().keys());
    }
    try {
      return new UpstreamTls(builder.build(), serverName);
    } catch (SSLException broken) {
      throw new IllegalStateException("TLS: not available", broken);
    }
  }

  private static PemFile file(String key, Path path) {
    return new PemFile("tls", key, path);
  }

  /** Creates the handler of a connection. The client limits the time of the handshake. */
  SslHandler handler(ByteBufAllocator memory, int port) {
    SslHandler handler = context.newHandler(memory, serverName, port);
    handler.setHandshakeTimeoutMillis(0);
    handler.setCloseNotifyFlushTimeoutMillis(0);
    handler.setCloseNotifyReadTimeoutMillis(0);
    return handler;
  }
}
