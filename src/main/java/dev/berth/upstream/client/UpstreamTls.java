package dev.berth.upstream.client;

import io.netty.handler.ssl.SslContext;
import java.nio.file.Path;
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
   * @throws dev.berth.net.tls.TlsFileException if a file is unusable
   */
  public static UpstreamTls read(
      @Nullable Path ca, @Nullable Path certificate, @Nullable Path key, String serverName) {
    throw new UnsupportedOperationException();
  }
}
