package dev.berth.upstream.client;

import dev.berth.upstream.client.StreamPeer.PeerFrame;
import dev.berth.upstream.client.UpstreamRig.RemotePeer;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** A request at its upstream, which the test answers over either protocol. */
abstract class PlayedRequest {
  String line = ""; // method and target
  final Map<String, String> fields = new TreeMap<>();

  abstract String body(int bytes) throws Exception;

  /** Sends a head; the length of its body is given, or unknown if negative. */
  abstract void head(int status, int length) throws Exception;

  abstract void piece(String text) throws Exception;

  /** Ends the body of unknown length. */
  abstract void end() throws Exception;

  /** Waits until the exchange is cancelled, and confirms it or not. */
  abstract void onCancel(boolean confirmed) throws Exception;

  /** Sends a response that is not one. */
  abstract void garble() throws Exception;

  abstract void disconnect(boolean reset) throws Exception;

  /** Returns the end of the connection: end or reset. */
  abstract String readEnd() throws Exception;

  /** Sends a head that ends the response, whatever length it states. */
  abstract void bare(int status, int length) throws Exception;

  /** Sends a head of 100. */
  abstract void informational() throws Exception;

  /** Leaves a cancel unconfirmed. */
  void holdPings() {}

  /** Sends so many bytes of a body, as the client permits. */
  abstract void flood(int bytes);

  void ok() throws Exception {
    head(200, 2);
    piece("ok");
  }

  /** The upstream's side: one connection per exchange, or one for all. */
  abstract static class PlayedUpstream {
    final UpstreamRig rig;

    PlayedUpstream(UpstreamRig rig) {
      this.rig = rig;
    }

    /** Reads the head of a request on a connection that may be a new one. */
    abstract PlayedRequest next(boolean connects) throws Exception;

    /** Accepts a connection. */
    abstract void connect() throws Exception;

    /** Returns the upstream of another rig. */
    abstract PlayedUpstream of(UpstreamRig other);

    /** Returns the upstream without its connections. */
    PlayedUpstream again() {
      return of(rig);
    }
  }

  /** HTTP/1.1. */
  static final class PlainUpstream extends PlayedUpstream {
    private @Nullable RemotePeer peer;

    PlainUpstream(UpstreamRig rig) {
      super(rig);
    }

    @Override
    PlayedRequest next(boolean connects) throws Exception {
      RemotePeer on = connects || peer == null ? rig.accept() : peer;
      peer = on;
      return new PlainRequest(on);
    }

    @Override
    void connect() throws Exception {
      rig.accept();
    }

    @Override
    PlayedUpstream of(UpstreamRig other) {
      return new PlainUpstream(other);
    }
  }

  private static final class PlainRequest extends PlayedRequest {
    private final RemotePeer peer;
    private final boolean chunkedRequest;
    private boolean chunked;

    PlainRequest(RemotePeer peer) throws IOException {
      this.peer = peer;
      List<String> lines = peer.readHead().lines().toList();
      line = lines.get(0).replace(" HTTP/1.1", "");
      lines.subList(1, lines.size() - 1).stream()
          .map(each -> each.split(": ", 2))
          .forEach(pair -> fields.put(pair[0], pair[1]));
      chunkedRequest = fields.remove("transfer-encoding") != null;
    }

    @Override
    String body(int bytes) throws IOException {
      if (!chunkedRequest) {
        return peer.read(bytes);
      }
      peer.read(Integer.toHexString(bytes).length() + 2);
      String body = peer.read(bytes);
      peer.read(2);
      return body;
    }

    @Override
    void head(int status, int length) throws IOException {
      chunked = length < 0;
      peer.send(
          "HTTP/1.1 %d X\r\n%s\r\n\r\n"
              .formatted(
                  status, chunked ? "transfer-encoding: chunked" : "content-length: " + length));
    }

    @Override
    void piece(String text) throws IOException {
      peer.send(chunked ? Integer.toHexString(text.length()) + "\r\n" + text + "\r\n" : text);
    }

    @Override
    void end() throws IOException {
      peer.send("0\r\n\r\n");
    }

    @Override
    void onCancel(boolean confirmed) throws IOException {
      if (confirmed) {
        peer.readEnd();
        peer.socket.close();
      }
    }

    @Override
    void bare(int status, int length) throws IOException {
      head(status, length);
    }

    @Override
    void informational() throws IOException {
      peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    }

    @Override
    void flood(int bytes) {
      try {
        for (int sent = 0; sent < bytes; sent += 1 << 16) {
          piece("x".repeat(1 << 16));
        }
      } catch (IOException broken) {
        throw new IllegalStateException(broken);
      }
    }

    @Override
    void garble() throws IOException {
      peer.send("garbage\r\n\r\n");
    }

    @Override
    void disconnect(boolean reset) throws IOException {
      if (reset) {
        peer.reset();
      } else {
        peer.socket.close();
      }
    }

    @Override
    String readEnd() throws IOException {
      return peer.readEnd();
    }
  }

  /** HTTP/2. */
  static final class StreamUpstream extends PlayedUpstream {
    private @Nullable StreamPeer peer;

    StreamUpstream(UpstreamRig rig) {
      super(rig);
    }

    @Override
    PlayedRequest next(boolean connects) throws Exception {
      StreamPeer on = peer == null || peer.socket.isClosed() ? null : peer;
      on = on == null ? new StreamPeer(rig.server.accept()).open() : on;
      peer = on;
      return new StreamRequest(on);
    }

    @Override
    void connect() throws Exception {
      new StreamPeer(rig.server.accept()).open();
    }

    @Override
    PlayedUpstream of(UpstreamRig other) {
      return new StreamUpstream(other);
    }
  }

  static final class StreamRequest extends PlayedRequest {
    private final StreamPeer peer;
    private final int stream;
    private boolean sized;

    StreamRequest(StreamPeer peer) throws Exception {
      this.peer = peer;
      peer.acksPings = true;
      PeerFrame frame = peer.read(StreamPeer.HEADERS);
      stream = frame.stream();
      Http2Headers head = peer.head(frame);
      line = head.method() + " " + head.path();
      head.forEach(each -> fields.put(each.getKey().toString(), each.getValue().toString()));
      fields.put("host", String.valueOf(fields.remove(":authority")));
      List.of(":method", ":path", ":scheme").forEach(fields::remove);
    }

    @Override
    String body(int bytes) throws IOException {
      return peer.readBody(bytes);
    }

    @Override
    void head(int status, int length) throws Exception {
      sized = length >= 0;
      String[] fields =
          sized
              ? new String[] {"" + status, "content-length", "" + length}
              : new String[] {"" + status};
      peer.sendHead(stream, length == 0 || status == 204 || status == 304, fields);
    }

    @Override
    void piece(String text) throws IOException {
      peer.sendData(stream, sized, text);
    }

    @Override
    void end() throws IOException {
      peer.sendData(stream, true, "");
    }

    @Override
    void onCancel(boolean confirmed) throws IOException {
      peer.acksPings = confirmed;
      peer.read(StreamPeer.RST_STREAM);
      peer.read(StreamPeer.PING);
    }

    @Override
    void bare(int status, int length) throws Exception {
      peer.sendHead(stream, true, "" + status, "content-length", "" + length);
    }

    @Override
    void informational() throws Exception {
      peer.sendHead(stream, false, "100");
    }

    @Override
    void holdPings() {
      peer.acksPings = false;
    }

    void grant(int bytes) throws IOException {
      peer.sendInts(StreamPeer.WINDOW_UPDATE, 0, bytes);
      peer.sendInts(StreamPeer.WINDOW_UPDATE, stream, bytes);
    }

    @Override
    void flood(int bytes) {
      try {
        int window = 64 << 10;
        for (int left = bytes; left > 0; ) {
          if (window == 0) {
            PeerFrame update = peer.read(StreamPeer.WINDOW_UPDATE);
            window += update.stream() == stream ? update.code() : 0;
          } else {
            int part = Math.min(Math.min(window, left), 1 << 14);
            peer.sendData(stream, false, "x".repeat(part));
            window -= part;
            left -= part;
          }
        }
      } catch (IOException broken) {
        throw new IllegalStateException(broken);
      }
    }

    @Override
    void garble() throws Exception {
      peer.sendHead(stream, true, "0x0");
    }

    @Override
    void disconnect(boolean reset) throws IOException {
      if (reset) {
        peer.socket.setSoLinger(true, 0);
      }
      peer.socket.close();
    }

    @Override
    String readEnd() throws IOException {
      return peer.readEnd();
    }
  }
}
