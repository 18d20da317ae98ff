package dev.berth.net.tls;

import io.netty.handler.ssl.OpenSsl;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watcher that reloads TLS files at run time.
 *
 * <pre>
 *   CURRENT --files changed, usable--> the new contents, after {@link #setCurrent}
 *           --files changed, unusable--> checked again; logged once if unchanged at the next check
 * </pre>
 *
 * Blocks on file reads. Thread-safe.
 */
public final class TlsFileWatcher {
  private static final Logger LOG = LoggerFactory.getLogger(TlsFileWatcher.class);

  private static final List<Buffer> UNREADABLE = List.of(Buffer.buffer());

  private final TlsFiles files;
  private final String of;

  // Guarded by this.
  private volatile @Nullable TlsMaterial material; // null until first read; read without a lock
  private List<Buffer> failedContents = List.of();
  private boolean failureSaid;

  /**
   * @param of owner of the files, for the log
   */
  public TlsFileWatcher(TlsFiles files, String of) {
    this.files = files;
    this.of = of;
  }

  /**
   * Returns the current contents. The first call reads the files.
   *
   * @throws TlsFileException if they are unusable
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

  /**
   * Returns the end of validity of the current certificate, in seconds since 1970; 0 before the
   * first read. Never blocks.
   */
  public long expirySeconds() {
    TlsMaterial known = material;
    return known == null ? 0 : known.own().getNotAfter().toInstant().getEpochSecond();
  }

  /** Returns the contents of changed files; null if unchanged or unusable. */
  public synchronized @Nullable TlsMaterial readIfChanged() {
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
      onUnusable(contents, unusable);
      return null;
    }
  }

  /** Sets the current contents, which new connections use. */
  public synchronized void setCurrent(TlsMaterial next) {
    material = next;
    LOG.info("{}: {} reloaded, for new connections", of, files.certificate().path());
  }

  /**
   * Records unusable contents. Logs only their second occurrence, since files are replaced one by
   * one and the first may be half of a change.
   */
  private void onUnusable(List<Buffer> contents, TlsFileException unusable) {
    if (!contents.equals(failedContents)) {
      failedContents = contents;
      failureSaid = false;
    } else if (!failureSaid) {
      failureSaid = true;
      LOG.warn("{}: changed files not loaded, keeping the old ones: {}", of, unusable.getMessage());
    }
  }
}
