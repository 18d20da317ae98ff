package dev.berth.cluster.http;

import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.NodeInfo;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.ClientSSLOptions;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A client of other nodes' admin servers. Confined to the control loop. */
public final class PeerClient {
  private static final Logger LOG = LoggerFactory.getLogger(PeerClient.class);

  /** Timeout of a connection, including its handshake. */
  static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);

  /** Idle timeout of a response. */
  static final Duration RESPONSE_IDLE_TIMEOUT = Duration.ofSeconds(10);

  /**
   * Maximum number of connections to one node. A request waits for a free connection for {@link
   * #CONNECT_TIMEOUT}.
   */
  static final int MAX_CONNECTIONS = 32;

  /** Maximum number of requests that wait for a connection. */
  private static final int MAX_WAITING = 256;

  private final HttpClientAgent client;
  private final LinkTls tls;
  private final String cluster;

  /** A complete response. */
  public record PeerResponse(int status, MultiMap headers, Buffer body) {}

  /**
   * Creates a client.
   *
   * @param tls with this node's certificate
   * @param cluster name of the nodes' cluster
   */
  public PeerClient(Vertx vertx, LinkTls tls, String cluster) {
    PoolOptions pool =
        new PoolOptions().setHttp1MaxSize(MAX_CONNECTIONS).setMaxWaitQueueSize(MAX_WAITING);
    this.tls = tls;
    this.cluster = cluster;
    HttpClientOptions options = new HttpClientOptions().setVerifyHost(false); // names are checked
    this.client = vertx.createHttpClient(tls.secured(options), pool);
  }

  /** Sets the certificates of new connections. */
  public Future<?> update(ClientSSLOptions tls) {
    return client.updateSSLOptions(tls);
  }

  public Future<Void> close() {
    return client.close();
  }

  /**
   * Opens a request.
   *
   * @param path path and query
   * @param patience idle timeout of the response
   * @return fails with an {@link IOException} that names the node, when the connection fails or its
   *     certificate is another node's
   */
  Future<HttpClientRequest> request(
      NodeInfo peer, HttpMethod method, String path, Duration patience) {
    RequestOptions options =
        new RequestOptions()
            .setHost(peer.host())
            .setPort(peer.ports().https())
            .setMethod(method)
            .setURI(path)
            .setConnectTimeout(CONNECT_TIMEOUT.toMillis())
            .setIdleTimeout(patience.toMillis());
    return client
        .request(options)
        .onSuccess(request -> request.exceptionHandler(told -> LOG.debug("{}", name(peer), told)))
        .compose(request -> requireAdmitted(peer, request))
        .recover(failed -> failedFuture(peer, failed));
  }

  /**
   * Checks the name and role in the certificate. The CA alone does not suffice, because it signs
   * the certificates of all nodes.
   */
  private Future<HttpClientRequest> requireAdmitted(NodeInfo peer, HttpClientRequest request) {
    HttpConnection connection = request.connection();
    String stranger = tls.refusal(connection.sslSession(), cluster, peer.name(), peer.role());
    if (stranger == null) {
      return Future.succeededFuture(request);
    }
    request.reset();
    connection.close();
    return Future.failedFuture(stranger);
  }

  /**
   * Sends a GET request.
   *
   * @param patience idle timeout, as for {@link #request}
   * @param headers alternating names and values
   * @return the head of the response, with a paused body
   */
  Future<HttpClientResponse> send(
      NodeInfo peer, String path, Duration patience, String... headers) {
    return request(peer, HttpMethod.GET, path, patience)
        .compose(
            request -> {
              for (int at = 0; at < headers.length; at += 2) {
                request.putHeader(headers[at], headers[at + 1]);
              }
              return request
                  .send()
                  .map(HttpClientResponse::pause)
                  .recover(failed -> failedFuture(peer, failed));
            });
  }

  /** Returns a failure whose message contains the node's name. */
  static <T> Future<T> failedFuture(NodeInfo peer, Throwable failed) {
    return Future.failedFuture(new IOException(name(peer) + ": " + why(failed)));
  }

  /** Returns the name of a node in failures. */
  static String name(NodeInfo peer) {
    return "%s (%s:%d)".formatted(peer.name(), peer.host(), peer.ports().https());
  }

  static String why(Throwable failed) {
    return failed.getMessage() == null ? failed.toString() : failed.getMessage();
  }

  /** Reads a complete response. Fails when it exceeds a size in bytes. */
  static Future<PeerResponse> whole(HttpClientResponse response, int mostBytes) {
    Promise<PeerResponse> whole = Promise.promise();
    Buffer body = Buffer.buffer();
    response
        .handler(
            piece -> {
              body.appendBuffer(piece);
              if (body.length() > mostBytes) {
                String why = "its response is longer than %s bytes".formatted(mostBytes);
                whole.tryFail(new IOException(why));
                response.request().reset();
              }
            })
        .exceptionHandler(whole::tryFail)
        .endHandler(
            end ->
                whole.tryComplete(
                    new PeerResponse(response.statusCode(), response.headers(), body)))
        .resume();
    return whole.future();
  }

  /** Returns a text, encoded for one segment of a path. */
  static String encoded(String part) {
    return URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20").replace("%7E", "~");
  }
}
