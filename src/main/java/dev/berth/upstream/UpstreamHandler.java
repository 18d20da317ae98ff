package dev.berth.upstream;

import dev.berth.api.AsyncHandler;
import dev.berth.api.ReplicaHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import dev.berth.config.DeploymentConfig;
import dev.berth.config.builtin.McpOptions;
import dev.berth.config.keys.Settings;
import dev.berth.protocol.port.RelayedRequest;
import dev.berth.protocol.port.UpstreamContext;
import dev.berth.upstream.client.UpstreamClient;
import io.vertx.core.Future;
import io.vertx.core.internal.ContextInternal;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Relays the requests of one replica to its upstream. The {@code user_config} is the entry of
 * {@code berth.upstreams}; a change applies to later requests.
 *
 * <p><b>Concurrency.</b> Requests and all state are confined to the replica's loop; hooks read
 * files on their own thread and continue there.
 */
public final class UpstreamHandler implements AsyncHandler {
  private final UpstreamContext replica;
  private final RelayEnvironment instance;
  private @Nullable UpstreamClient client; // null before the first configuration
  private @Nullable UpstreamWatch watch;
  private @Nullable UpstreamSettings settings;
  private @Nullable McpUpstream mcp; // null unless of berth:mcp

  /** Returns the handler of a replica. */
  public static ReplicaHandler of(UpstreamContext replica, RelayEnvironment instance) {
    UpstreamHandler handler = new UpstreamHandler(replica, instance);
    return replica.batches() ? new UpstreamBatches(replica, handler) : handler;
  }

  private UpstreamHandler(UpstreamContext replica, RelayEnvironment instance) {
    this.replica = replica;
    this.instance = instance;
  }

  @Override
  public boolean streamsRequests() {
    return true;
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    String upgrade = request.headers().get("upgrade");
    if (upgrade != null && !upgrade.equalsIgnoreCase("h2c")) {
      return refuse(501, "upgrade: " + upgrade + " (expected: no upgrade of the protocol)");
    }
    if (request.method().equalsIgnoreCase("TRACE")
        || request.method().equalsIgnoreCase("CONNECT")) {
      return refuse(405, "method: " + request.method() + " (expected: neither TRACE nor CONNECT)");
    }
    if (RelayHeaders.hasDotSegment(request.path())) {
      return refuse(400, "path: with a dot segment (expected: a normalized path)");
    }
    UpstreamRelay relay = newRelay((RelayedRequest) context);
    McpUpstream rules = mcp;
    return rules == null ? relay(request, relay) : rules.handle(request, relay, this);
  }

  UpstreamRelay newRelay(RelayedRequest of) {
    return new UpstreamRelay(
        of,
        replica.ports(),
        Objects.requireNonNull(settings),
        Objects.requireNonNull(watch),
        instance);
  }

  /** Returns whether no connection to the upstream succeeds. */
  boolean isUnreachable() {
    return Objects.requireNonNull(watch).isUnreachable();
  }

  Future<Response> relay(Request request, UpstreamRelay relay) {
    relay.receive(request);
    try {
      return relay.start(request, Objects.requireNonNull(client));
    } catch (IllegalArgumentException illegal) { // a character of the head
      return refuse(400, "head: " + illegal.getMessage());
    }
  }

  private static Future<Response> refuse(int status, String text) {
    return Future.succeededFuture(Response.text(text + "\n").withStatus(status));
  }

  @Override
  public void reconfigure(Map<String, Object> userConfig) throws Exception {
    UpstreamSettings next = UpstreamSettings.read(userConfig, instance);
    Object rules = userConfig.get(DeploymentConfig.MCP.name());
    Settings ofMcp = rules instanceof Map<?, ?> map ? McpOptions.fromMap(map) : null;
    onLoop(
        () -> {
          apply(next);
          apply(ofMcp);
        });
  }

  private void apply(UpstreamSettings next) {
    settings = next;
    UpstreamClient connected = client;
    UpstreamWatch watching = watch;
    if (connected == null || watching == null) {
      connected =
          new UpstreamClient(ContextInternal.current(), next.target(), instance.lease()::hasEnded);
      replica.gate().resetBy(connected::close);
      client = connected;
      watch = new UpstreamWatch(replica.gate(), replica.ports(), connected, next);
    } else {
      connected.retarget(next.target());
      watching.configure(next);
    }
  }

  /** Applies the rules of {@code berth:mcp}; null for another application. */
  private void apply(@Nullable Settings ofMcp) {
    McpUpstream rules = mcp;
    if (ofMcp == null) {
      mcp = null;
      if (rules != null) {
        replica.gate().permitSlotless(0);
      }
    } else {
      rules = rules == null ? new McpUpstream(replica, instance.sessions()) : rules;
      rules.configure(ofMcp);
      mcp = rules;
    }
  }

  @Override
  public void stop() throws Exception {
    onLoop(
        () -> {
          if (client != null && watch != null) {
            watch.stop();
            client.end(); // cancelled exchanges have their grace
          }
        });
  }

  /** Runs an action on the loop, and waits for it. */
  private void onLoop(Runnable action) throws InterruptedException, ExecutionException {
    CompletableFuture.runAsync(action, replica.ports().loop()).get();
  }
}
