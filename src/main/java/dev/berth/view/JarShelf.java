package dev.berth.view;

import io.vertx.core.Future;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Jars that are kept, by the SHA-256 of their bytes in 64 hexadecimal digits, for those who run
 * them elsewhere or are about to declare them. On the control loop, and so are its answers.
 */
public interface JarShelf {

  /** Where one lies, which may go when nothing declared names it; null when it is not kept. */
  Future<@Nullable Path> find(String sha256);

  /**
   * Makes room for one.
   *
   * @param bytes of it
   * @return where it is to be written, a file that is not there; fails with an {@link
   *     java.io.IOException} when there is no room
   */
  Future<Path> begin(long bytes);

  /**
   * Keeps what was written, for an hour at least unless the process ends; whatever is declared
   * until then may name it.
   *
   * @param written from {@link #begin}, gone afterwards
   * @param name for people
   * @param sha256 of what is in it
   */
  Future<Void> take(Path written, String name, String sha256);
}
