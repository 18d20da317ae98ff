package dev.berth.view;

import io.vertx.core.Future;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Store of jars, addressed by SHA-256 in 64 hexadecimal digits. Serves nodes that run the jars, and
 * clients about to deploy them. Confined to the control loop; futures complete there.
 */
public interface JarCatalog {

  /**
   * Returns the path of a jar, or null if it is not stored. The file may be deleted when no
   * declaration names it.
   */
  Future<@Nullable Path> find(String sha256);

  /**
   * Reserves space for a jar.
   *
   * @param bytes size of the jar
   * @return path to write to, which does not exist yet; fails with an {@link java.io.IOException}
   *     if there is no space
   */
  Future<Path> begin(long bytes);

  /**
   * Stores a written jar for at least one hour, unless the process ends. Declarations within this
   * time may name it.
   *
   * @param written path from {@link #begin}; removed by this call
   * @param name for people
   * @param sha256 digest of the content
   */
  Future<Void> take(Path written, String name, String sha256);
}
