package dev.berth.net.tls;

import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Files of TLS, read again while what uses them runs.
 *
 * <pre>
 *   CURRENT --files changed, usable--> the new ones, once they are {@link #taken}
 *           --files changed, not usable--> looked at again; said once if they stay so
 * </pre>
 *
 * Blocks; any thread.
 */
public final class TlsWatch {
  private static final Logger LOG = LoggerFactory.getLogger(TlsWatch.class);

  private static final List<Buffer> UNREADABLE = List.of(Buffer.buffer());

  private final TlsFiles files;
  private final String of;

  // Guarded by this.
  private @Nullable TlsMaterial material; // once read
  private List<Buffer> failedContents = List.of();
  private boolean failureSaid;

  /**
   * @param of whose they are, for the log
   */
  public TlsWatch(TlsFiles files, String of) {
    this.files = files;
    this.of = of;
  }

  /**
   * What the files hold, read the first time it is asked.
   *
   * @throws TlsFileException when they cannot be used
   */
  public synchronized TlsMaterial current() {
    TlsMaterial known = material;
    if (known == null) {
      known = files.read();
      material = known;
      LOG.info(
          "{}: {}, {} until {}{}",
          of,
          OpenSsl.isAvailable() ? "BoringSSL" : "the JDK's engine (" + whyNotNative() + ")",
          known.own().getSubjectX500Principal(),
          known.own().getNotAfter().toInstant(),
          files.authorities() == null ? "" : ", clients need a certificate");
    }
    return known;
  }

  private static String whyNotNative() {
    Throwable cause = OpenSsl.unavailabilityCause();
    return cause == null ? "no BoringSSL" : "no BoringSSL: " + cause;
  }

  /** What the files hold now; null when that is the same as before, or of no use. */
  public synchronized @Nullable TlsMaterial changed() {
    TlsMaterial known = material;
    List<Buffer> contents = UNREADABLE;
    try {
      contents = files.contents();
      if (known == null || contents.equals(known.files())) {
        failedContents = List.of();
        return null;
      }
      if (contents.equals(failedContents) && failureSaid) {
        return null;
      }
      return TlsMaterial.of(files, contents);
    } catch (TlsFileException unusable) {
      failed(contents, unusable);
      return null;
    }
  }

  /** New connections have these from now on. */
  public synchronized void taken(TlsMaterial next) {
    material = next;
    LOG.info("{}: {} was read again, for new connections", of, files.certificate().path());
  }

  /** Files are replaced one after the other, so what is of no use once may be half of a change. */
  private void failed(List<Buffer> contents, TlsFileException unusable) {
    if (!contents.equals(failedContents)) {
      failedContents = contents;
      failureSaid = false;
    } else if (!failureSaid) {
      failureSaid = true;
      LOG.warn("{}: changed files are not taken, the old ones stay: {}", of, unusable.getMessage());
    }
  }
}
