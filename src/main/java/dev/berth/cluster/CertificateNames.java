package dev.berth.cluster;

import dev.berth.config.ClusterConfig;
import dev.berth.config.ClusterConfig.Role;
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
 * Which nodes a certificate speaks for: those that its CN and its DNS names say, whole, in whatever
 * case; and workers of any name where one of them is {@code worker.CLUSTER}. That the cluster's CA
 * has signed it is for TLS to check.
 */
public final class CertificateNames {
  private static final int DNS_NAME = 2; // source: RFC 5280, 4.2.1.6

  /** Every certificate of a trial has it, for clients beside the node: it tells nobody apart. */
  private static final String ANYBODY = "localhost";

  private CertificateNames() {}

  /** Of the other side of a connection; none when it shows no certificate. */
  public static Set<String> of(SSLSession session) {
    try {
      return of((X509Certificate) session.getPeerCertificates()[0]);
    } catch (SSLPeerUnverifiedException none) {
      return Set.of();
    }
  }

  /** In lower case, in order; none when they cannot be read. */
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
   * Whether a node may be who it says.
   *
   * @param names of its certificate
   * @param node its name, as it says
   * @param role as it says
   * @return why not, for one line of the log; null when it may
   */
  public static @Nullable String refusal(
      Set<String> names, String cluster, String node, Role role) {
    String anyWorker = "worker." + cluster;
    boolean worker = role == Role.WORKER;
    if (names.contains(node) || (worker && names.contains(anyWorker))) {
      return null;
    }
    return "a certificate of %s (expected: of %s%s)"
        .formatted(names, node, worker ? " or " + anyWorker : "");
  }

  /**
   * Whether a node may use its own certificate, and at that time. Blocks on the disk.
   *
   * @return why not, with the key that names the file; null when it may, or has none to use
   */
  public static @Nullable String refusal(ClusterConfig self, Instant now) {
    ClusterConfig.Tls tls = self.tls();
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
