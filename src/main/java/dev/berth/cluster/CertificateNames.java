package dev.berth.cluster;

import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.ClusterRole;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * The node names that a certificate authorises: its CN and its DNS names, compared as a whole and
 * without case. The name {@code worker.CLUSTER} authorises workers of any name. TLS verifies that
 * the cluster's CA has signed the certificate.
 */
public final class CertificateNames {
  private static final int DNS_NAME = 2; // source: RFC 5280, 4.2.1.6

  /** Host name in every development certificate, for local clients. It identifies no node. */
  private static final String ANYBODY = "localhost";

  private CertificateNames() {}

  /** Returns the names in the peer's certificate; none when the peer has no certificate. */
  public static Set<String> of(SSLSession session) {
    try {
      return of((X509Certificate) session.getPeerCertificates()[0]);
    } catch (SSLPeerUnverifiedException none) {
      return Set.of();
    }
  }

  /**
   * Returns the names in a certificate, in lower case and sorted; none when they are unreadable.
   */
  public static Set<String> of(X509Certificate certificate) {
    Set<String> names = new TreeSet<>();
    try {
      for (Rdn part : new LdapName(certificate.getSubjectX500Principal().getName()).getRdns()) {
        if (part.getType().equals("CN")) {
          names.add(part.getValue().toString().toLowerCase(Locale.ROOT));
        }
      }
      Collection<List<?>> others = certificate.getSubjectAlternativeNames();
      for (List<?> other : others == null ? List.<List<?>>of() : others) {
        if (other.get(0).equals(DNS_NAME)) {
          names.add(other.get(1).toString().toLowerCase(Locale.ROOT));
        }
      }
    } catch (InvalidNameException | CertificateException unreadable) {
      return Set.of();
    }
    names.remove(ANYBODY);
    return names;
  }

  /**
   * Checks a node's claimed name and role against its certificate.
   *
   * @param names in its certificate
   * @param node its claimed name
   * @param role its claimed role
   * @return the reason for a refusal, as one log line; null when the certificate authorises the
   *     node
   */
  public static @Nullable String refusal(
      Set<String> names, String cluster, String node, ClusterRole role) {
    String anyWorker = "worker." + cluster;
    boolean worker = role == ClusterRole.WORKER;
    if (names.contains(node) || (worker && names.contains(anyWorker))) {
      return null;
    }
    return "a certificate of %s (expected: of %s%s)"
        .formatted(names, node, worker ? " or " + anyWorker : "");
  }

  /**
   * Checks whether a node's own certificate authorises it and is valid at a time. Blocks on the
   * disk.
   *
   * @return the reason for a refusal, with the key of the certificate file; null when the
   *     certificate is usable, or TLS is not configured
   */
  public static @Nullable String refusal(ClusterConfig self, Instant now) {
    ClusterConfig.ClusterTls tls = self.tls();
    if (tls == null) {
      return null;
    }
    String wrong;
    try (InputStream file = Files.newInputStream(tls.certFile())) {
      X509Certificate own =
          (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(file);
      own.checkValidity(Date.from(now));
      wrong = refusal(of(own), self.name(), self.node(), self.role());
    } catch (IOException | CertificateException unusable) {
      wrong = unusable.getMessage() + " (expected: a certificate in PEM, valid at " + now + ")";
    }
    return wrong == null ? null : "berth.cluster.tls.cert_file: " + tls.certFile() + ": " + wrong;
  }
}
