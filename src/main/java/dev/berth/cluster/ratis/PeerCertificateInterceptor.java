package dev.berth.cluster.ratis;

import dev.berth.cluster.CertificateNames;
import dev.berth.cluster.link.LinkTls;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.thirdparty.io.grpc.Grpc;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Admits only control nodes, by the names in their certificates. Any node of the cluster has a
 * certificate of the same CA, but only control nodes may change the log.
 */
record PeerCertificateInterceptor(Set<String> admitted)
    implements GrpcServices.Customizer, ServerInterceptor {
  private static final Logger LOG = LoggerFactory.getLogger(PeerCertificateInterceptor.class);

  @Override
  public NettyServerBuilder customize(
      NettyServerBuilder builder, EnumSet<GrpcServices.Type> services) {
    return builder
        .handshakeTimeout(LinkTls.HANDSHAKE.toSeconds(), TimeUnit.SECONDS)
        .intercept(this);
  }

  @Override
  public <A, B> ServerCall.Listener<A> interceptCall(
      ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
    Set<String> names =
        CertificateNames.of(call.getAttributes().get(Grpc.TRANSPORT_ATTR_SSL_SESSION));
    if (names.stream().anyMatch(admitted::contains)) {
      return next.startCall(call, headers);
    }
    LOG.warn("state: consensus port: refused {} (expected: {})", names, admitted);
    call.close(Status.PERMISSION_DENIED, new Metadata());
    return new ServerCall.Listener<>() {};
  }
}
