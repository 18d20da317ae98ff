package dev.berth.node;

import dev.berth.config.ServeConfig;
import dev.berth.controller.DeclaredApplication;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The applications of a file, declared once and never changed. */
final class DeclaredFile implements Declarations {
  private final ServeConfig file;
  private final List<DeclaredApplication> declared = new ArrayList<>();
  private long term;

  DeclaredFile(ServeConfig file) {
    this.file = file;
  }

  /** Declares them from now on. */
  List<DeclaredApplication> declare(long nowMs) {
    file.applications()
        .forEach(
            each ->
                declared.add(
                    new DeclaredApplication(
                        each.name(), 1, each.routePrefix(), "{}", false, nowMs, null, Map.of())));
    return declared;
  }

  @Override
  public List<DeclaredApplication> declared() {
    return List.copyOf(declared);
  }

  @Override
  public Builds.@Nullable Source find(String application, long revision) {
    return file.applications().stream()
        .filter(each -> each.name().equals(application))
        .findFirst()
        .map(each -> new Builds.Source(each, file))
        .orElse(null);
  }

  @Override
  public long nextTerm() {
    return ++term;
  }
}
