package dev.berth.config.admin;

import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import dev.berth.net.tls.PemFile;
import dev.berth.net.tls.TlsFiles;
import java.nio.file.Path;

/** {@code berth.admin.tls}: the files of TLS on the admin server, named as in http_options. */
public final class TlsOptions {

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<Path> SSL_KEYFILE =
      KEYS.required("ssl_keyfile", Types.FILE)
          .means(
              "Private key in PEM, RSA or EC, not encrypted. Reloaded when it changes, as the other"
                  + " files.");
  public static final ConfigKey<Path> SSL_CERTFILE =
      KEYS.required("ssl_certfile", Types.FILE)
          .means("Certificate chain in PEM, server certificate first.");
  public static final ConfigKey<Path> SSL_CA_CERTS =
      KEYS.optional("ssl_ca_certs", Types.FILE)
          .means(
              "CA certificates in PEM: clients must present a certificate signed by one. Tokens are"
                  + " required as without it.");

  public static final Section SECTION = KEYS.section();

  /** Returns the files. */
  public static TlsFiles files(Settings tls) {
    Path authorities = tls.find(SSL_CA_CERTS);
    return new TlsFiles(
        file(SSL_CERTFILE, tls.get(SSL_CERTFILE)),
        file(SSL_KEYFILE, tls.get(SSL_KEYFILE)),
        authorities == null ? null : file(SSL_CA_CERTS, authorities));
  }

  private static PemFile file(ConfigKey<Path> key, Path path) {
    return new PemFile("berth.admin.tls", key.name(), path);
  }

  private TlsOptions() {}
}
