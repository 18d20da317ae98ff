package dev.berth.upstream;

import dev.berth.upstream.client.UpstreamClient;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.internal.ContextInternal;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A single probe of an upstream that has no replica on this node. */
public final class UpstreamProbe {
  private UpstreamProbe() {}

  /**
   * Returns whether this node reaches an upstream.
   *
   * @param loop context of the caller, whose worker threads read the files of the entry
   * @param userConfig entry of the upstream, as its replica receives it
   */
  public static Future<Boolean> run(
      ContextInternal loop, Map<String, @Nullable Object> userConfig, RelayEnvironment instance) {
    return loop.executeBlocking(() -> UpstreamSettings.read(userConfig, instance), false)
        .compose(
            settings -> {
              UpstreamClient client = new UpstreamClient(loop, settings.target(), () -> false);
              Promise<Boolean> done = loop.promise();
              settings.probe(client, reason -> done.complete(reason == null));
              return done.future().eventually(client::close);
            })
        .otherwise(false);
  }
}
