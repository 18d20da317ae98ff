package dev.berth.cluster.http;

import dev.berth.cluster.link.LinkTls;
import dev.berth.cluster.membership.NodeInfo;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
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

/** Asks other nodes by their admin servers for nodes. Belongs to the control loop. */
public final class PeerClient {
  private static final Logger LOG = LoggerFactory.getLogger(PeerClient.class);

  /** How long to wait for a connection, its handshake included. */
  static final Duration CONNECT = Duration.ofSeconds(2);

  /** How long nothing may come of an answer. */
  static final Duration ANSWER = Duration.ofSeconds(10);

  /** To one node; who finds none free waits for {@link #CONNECT}. */
  static final int MOST_CONNECTIONS = 32;

  /** Requests that wait for a connection. */
  private static final int MOST_WAITING = 256;

  private final HttpClientAgent client;
  private final LinkTls tls;
  private final String cluster;

  /** An answer that is there whole. */
  public record Answer(int status, MultiMap headers, Buffer body) {}

  /**
   * @param tls with this node's certificate
   * @param cluster whose nodes are asked
   */
  public PeerClient(Vertx vertx, LinkTls tls, String cluster) {
    PoolOptions pool =
        new PoolOptions().setHttp1MaxSize(MOST_CONNECTIONS).setMaxWaitQueueSize(MOST_WAITING);
    this.tls = tls;
    this.cluster = cluster;
    this.client = vertx.createHttpClient(tls.httpClient(), pool);
  }

  /** New connections are made with these certificates. */
  public Future<?> update(ClientSSLOptions tls) {
    return client.updateSSLOptions(tls);
  }

  public Future<Void> close() {
    return client.close();
  }

  /**
   * Begins a request.
   *
   * @param path with what follows the question mark
   * @param patience how long nothing may come of the answer
   * @return fails with an {@link IOException} that names the node, when there is no connection, or
   *     it is another's
   */
  Future<HttpClientRequest> request(
      NodeInfo peer, HttpMethod method, String path, Duration patience) {
    RequestOptions options =
        new RequestOptions()
            .setHost(peer.host())
            .setPort(peer.ports().https())
            .setMethod(method)
            .setURI(path)
            .setConnectTimeout(CONNECT.toMillis())
            .setIdleTimeout(patience.toMillis());
    return client
        .request(options)
        .onSuccess(request -> request.exceptionHandler(told -> LOG.debug("{}", name(peer), told)))
        .compose(request -> admitted(peer, request))
        .recover(failed -> failed(peer, failed));
  }

  /** Any node has a certificate of the authority: it is to be of this one's name and role. */
  private Future<HttpClientRequest> admitted(NodeInfo peer, HttpClientRequest request) {
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
   * Gets something.
   *
   * @param patience as for {@link #request}
   * @param headers names and values, in turn
   * @return the answer's head; its body stands still
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
                  .recover(failed -> failed(peer, failed));
            });
  }

  /** With the node's name. */
  static <T> Future<T> failed(NodeInfo peer, Throwable failed) {
    return Future.failedFuture(new IOException(name(peer) + ": " + why(failed)));
  }

  /** Names a node in failures. */
  static String name(NodeInfo peer) {
    return "%s (%s:%d)".formatted(peer.name(), peer.host(), peer.ports().https());
  }

  static String why(Throwable failed) {
    return failed.getMessage() == null ? failed.toString() : failed.getMessage();
  }

  /** Reads an answer whole, unless it is longer than that. */
  static Future<Answer> whole(HttpClientResponse response, int mostBytes) {
    Promise<Answer> whole = Promise.promise();
    Buffer body = Buffer.buffer();
    response
        .handler(
            piece -> {
              body.appendBuffer(piece);
              if (body.length() > mostBytes) {
                String why = "its answer is longer than %s bytes".formatted(mostBytes);
                whole.tryFail(new IOException(why));
                response.request().reset();
              }
            })
        .exceptionHandler(whole::tryFail)
        .endHandler(
            end -> whole.tryComplete(new Answer(response.statusCode(), response.headers(), body)))
        .resume();
    return whole.future();
  }

  /** As a part of a path. */
  static String encoded(String part) {
    return URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20").replace("%7E", "~");
  }
}
