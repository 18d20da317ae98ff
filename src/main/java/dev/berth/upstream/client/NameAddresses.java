package dev.berth.upstream.client;

import io.netty.util.NetUtil;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.internal.ContextInternal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;

/** Look-up of a name's addresses, by the resolver that the connects to upstreams use. */
public final class NameAddresses {
  private NameAddresses() {}

  /** Returns the addresses of a name or address in their shortest form. Blocks no thread. */
  public static Future<List<String>> find(ContextInternal loop, String name) {
    InetAddress literal = NetUtil.createInetAddressFromIpAddressString(name);
    if (literal != null) {
      return Future.succeededFuture(List.of(NetUtil.toAddressString(literal)));
    }
    Promise<List<String>> promise = loop.promise();
    loop.owner()
        .nameResolver()
        .resolveAll(loop.nettyEventLoop(), name)
        .addListener(
            (io.netty.util.concurrent.Future<List<InetSocketAddress>> found) -> {
              if (found.isSuccess()) {
                promise.complete(
                    found.getNow().stream()
                        .map(each -> NetUtil.toAddressString(each.getAddress()))
                        .distinct()
                        .toList());
              } else {
                promise.fail(found.cause());
              }
            });
    return promise.future();
  }
}
